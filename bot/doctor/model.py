"""The model: does its endpoint answer, take our key, know the model, and say how large its window is."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from urllib.parse import urlsplit

from bot.doctor.case import Case, revealed
from bot.doctor.web import Unreachable
from bot.embedded.local_model import find_weights
from bot.errors import ModelError, ModelRefused
from bot.finding import Finding, ok, problem, warning
from bot.parts import named_model
from bot.platforms import LOCAL_MODEL_NOTE
from bot.settings import Settings

PART = "model"


async def check_model(case: Case) -> Sequence[Finding]:
    """No request is made of a model, so this costs nothing."""
    settings = case.settings
    if settings.uses_local_model:
        await asyncio.to_thread(find_weights)
        if settings.model:
            advice = "Set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL too."
            return [warning(PART, f"MODEL={settings.model} is ignored: the local toy model answers.", advice)]
        return [ok(PART, LOCAL_MODEL_NOTE)]
    model, name = named_model(settings)
    try:
        names = dict.fromkeys(name for name in (name, settings.compaction_model) if name)
        return [await _ask(case, name, await model.look_up(name)) for name in names]
    except ModelRefused as error:
        return [problem(PART, str(error), _about_base(settings) or "Make a new key where you got this one.")]
    except ModelError as error:
        advice = _about_base(settings) or "Check the network, and the status page of the provider."
        return [problem(PART, str(error), advice)]
    finally:
        await model.close()


async def _ask(case: Case, name: str, window: int | None) -> Finding:
    """What it means that the endpoint says so of a model; 0: it knows it without a window, None: it does not."""
    settings = case.settings
    if window is None:
        return await _unknown(case, name)
    if not window and not settings.agents.emergency_context_limit:
        return _without_window(name)
    return ok(PART, f"{name} answers at {_host(settings)}" + (f", window {window:,} tokens." if window else "."))


async def _unknown(case: Case, name: str) -> Finding:
    settings = case.settings
    names = await _listed(case) if settings.anthropic_base_url else []
    if name in names:
        if settings.agents.emergency_context_limit:
            return ok(PART, f"{name} is there, at {_host(settings)}.")
        return _without_window(name)
    variable = "COMPACTION_MODEL" if name == settings.compaction_model else "MODEL"
    if names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.3) or sorted(names)[:1]
        advice = f"Set {variable} to one that it has, e.g. {near[0]}."
        return problem(PART, f"{_host(settings)} has no model {name}.", advice)
    if settings.anthropic_base_url:
        advice = _about_base(settings) or f"Talk to it with `palimpsest chat` to see whether {variable} is right."
        return warning(PART, f"{_host(settings)} does not say which models it has.", advice)
    advice = f"Set {variable} to a model that your key may use, as the provider's list names it."
    return problem(PART, f"{_host(settings)} does not know the model {name}.", advice)


async def _listed(case: Case) -> list[str]:
    """The names that an endpoint of one's own lists; none where it does not."""
    settings = case.settings
    token = revealed(settings.anthropic_auth_token)
    key = revealed(settings.anthropic_api_key)
    headers = {"anthropic-version": "2023-06-01", "x-api-key": key, "Authorization": f"Bearer {token or key}"}
    url = f"{str(settings.anthropic_base_url).rstrip('/')}/v1/models"
    try:
        answer = await case.web.get(url, headers=headers if token or key else None)
    except Unreachable:
        return []
    data = answer.get("data")
    return [str(one["id"]) for one in data if isinstance(one, dict) and "id" in one] if isinstance(data, list) else []


def _without_window(name: str) -> Finding:
    sentence = f"{name} answers, and nobody says how large its window is: 200,000 tokens are assumed."
    return warning(PART, sentence, "Set AGENTS__EMERGENCY_CONTEXT_LIMIT to the tokens that a conversation may fill.")


def _about_base(settings: Settings) -> str:
    if settings.anthropic_base_url and urlsplit(settings.anthropic_base_url).path.rstrip("/").endswith("/v1"):
        return "Take /v1 from the end of ANTHROPIC_BASE_URL: it is added."
    if not settings.anthropic_base_url:
        return ""
    return f"Check ANTHROPIC_BASE_URL, and that {_host(settings) or 'the server'} runs."


def _host(settings: Settings) -> str:
    return urlsplit(settings.anthropic_base_url or "https://api.anthropic.com").netloc.rpartition("@")[2]
