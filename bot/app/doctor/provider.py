"""A provider other than Anthropic: is it there, does it take our key, speak the wire that we would, and have the model.

No request of a model is made. Whether a wire is spoken is seen from an empty request, which everybody refuses: who has
no such place says 404.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.app.doctor.web import Answer, Unreachable
from bot.errors import Cause, cause_of
from bot.model.base import Limits
from bot.model.listed_names import names_in
from bot.model.providers.windows import Unanswered, loaded_by_ollama, look
from bot.runtime.checks import Finding, ok, problem, unreached, warning
from bot.runtime.providers import CUSTOM, Choice, Provider, choice, providers
from bot.runtime.providers.known_models import read_on
from bot.runtime.settings import Settings

PART = "model"
_NOWHERE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_CHAT, _MESSAGES = "/chat/completions", "/v1/messages"
_LITTLE = 8_192
"""Tokens; a smaller window is hardly meant."""
_START = {
    "ollama": "Start it (`ollama serve`)",
    "lmstudio": "Start its server (`lms server start`)",
    "vllm": "Start it (`vllm serve NAME`)",
    "llamacpp": "Start it (`llama-server -m FILE`)",
}


@dataclass(frozen=True)
class NoSuchModel(Finding):
    """A problem: whoever is asked has no model of this name."""


@dataclass(frozen=True)
class WindowNotKnown(Finding):
    """A warning: nobody says how large its window is, and no setting does."""


@dataclass(frozen=True)
class Asked:
    """A model at a provider, with what is needed to ask it."""

    provider: Provider
    choice: Choice
    key: str
    key_name: str
    version: str = ""
    limit: int | None = None
    """What `AGENTS__EMERGENCY_CONTEXT_LIMIT` says."""
    talks: bool = True

    @property
    def base(self) -> str:
        return self.choice.base_url or ""

    @property
    def shown(self) -> str:
        """The address, without a login."""
        place = urlsplit(self.base)
        return f"{place.netloc.rpartition('@')[2]}{place.path}"

    @property
    def whose(self) -> str:
        """What a sentence about it begins with."""
        return {"COMPACTION_MODEL": "Summaries: ", "MODEL_FALLBACK": "Fallback: "}.get(self.choice.setting, "")

    @property
    def is_own_address(self) -> bool:
        """Whether it is where the provider itself is."""
        return self.base == self.provider.base_url

    @property
    def headers(self) -> Mapping[str, str]:
        if not self.key:
            return {}
        return (
            {self.provider.key_header: self.key}
            if self.provider.key_header
            else {"Authorization": f"Bearer {self.key}"}
        )

    @property
    def query(self) -> Mapping[str, str] | None:
        return {"api-version": self.version} if self.version else None


def asked(choice: Choice, settings: Settings, *, talks: bool = True) -> Asked:
    """What is to be looked at for this choice."""
    provider = providers()[choice.provider]
    own = settings.providers.get(provider.name)
    return Asked(
        provider,
        choice,
        key=revealed(own.key) if own else "",
        key_name=(own.key_from if own else "") or provider.key,
        version=(own.version if own else None) or "",
        limit=settings.agents.emergency_context_limit,
        talks=talks,
    )


async def check_provider(case: Case, one: Asked) -> list[Finding]:
    """One finding, or more where there is more to say."""
    if wrong := _no_address(one):
        return [wrong]
    try:
        listed = await case.web.get(f"{one.base}/models", headers=one.headers, query=one.query)
        if wrong := await _wrong_key(case, one, listed):
            return [wrong]
        if wrong := await _wrong_place(case, one, listed):
            return [wrong]
    except Unreachable as error:
        return [unreachable(one, error)]
    if wrong := _unknown_model(one, listed):
        return [wrong]
    return [await _window(one), *await _without_tools(case, one, listed)]


def unreachable(one: Asked, error: Unreachable) -> Finding:
    """What it means that nobody answers there."""
    sentence = f"{one.whose}{one.provider.title} at {one.shown} cannot be reached: {error}."
    if "WRONG_VERSION_NUMBER" in str(error):  # what TLS says of an answer that is none of it
        http = one.base.replace("https:", "http:", 1)
        return problem(PART, sentence, f"It speaks http, as it seems: write {one.provider.base_setting}={http}.")
    if one.is_own_address and one.provider.needs_key:
        return unreached(PART, sentence, "Check the network, and the status page of the provider.")
    start = _START.get(one.provider.name, "Start it")
    return unreached(PART, sentence, f"{start}, or set {one.provider.base_setting} to where it is.")


# --- the key ---


async def _wrong_key(case: Case, one: Asked, listed: Answer) -> Finding | None:
    """A list may be open to everybody, as OpenRouter's is."""
    answers = [listed]
    if one.provider.name == "openrouter" and listed.status == HTTPStatus.OK:
        answers.append(await case.web.get(f"{one.base}/key", headers=one.headers))
    for answer in answers:
        cause = cause_of(answer.status, _kinds(answer), _said(answer))
        if cause and (wrong := of_account(one, cause, _said(answer))):
            return wrong
    return None


def of_account(one: Asked, cause: Cause, said: str) -> Finding | None:
    """What is wrong with who asks, where that is why it refuses. ``said``: its own words."""
    title, name = one.provider.title, one.key_name
    if cause is Cause.CREDIT:
        payee = title if one.provider.name != CUSTOM else "your endpoint"
        sentence = f"{one.whose}Nothing is left to pay {payee} with{_in_words(said)}."
        return problem(PART, sentence, "Add credit, or raise the limit of what may be spent.")
    if cause not in (Cause.KEY, Cause.FORBIDDEN):
        return None
    if not one.key:
        sentence = f"{one.whose}{title} at {one.shown} wants a key, and {name} is not set."
        return problem(PART, sentence, f"Set {name}{_where_from(one)}.")
    sentence = f"{one.whose}{title} at {one.shown} does not accept the key in {name}{_in_words(said)}."
    return problem(PART, sentence, f"Make a new one{_where_from(one, 'at')}, and set {name} to it.")


def _where_from(one: Asked, word: str = "to a key from") -> str:
    return f" {word} {one.provider.get_key}" if "://" in one.provider.get_key else ""


# --- the place ---


def _no_address(one: Asked) -> Finding | None:
    """The settings are told the same, in these words: whoever reads both is not led two ways."""
    if reason := choice.why_no_address(one.provider, one.base):
        return problem(PART, f"{one.whose}{one.provider.base_setting}={one.shown} {reason}.", "")
    return None


async def _wrong_place(case: Case, one: Asked, listed: Answer) -> Finding | None:
    """There is nothing, or nobody who speaks this wire."""
    if not await is_nowhere(case, f"{one.base}{_CHAT}", one.headers):
        return None
    setting = one.provider.base_setting
    if other := await _first_there(case, one, _others(one.base)):
        sentence = f"{one.whose}{setting}: there is no {_CHAT} at {one.shown}, but there is one at {other}."
        return problem(PART, sentence, f"Write {setting}={other}.")
    root = one.base.removesuffix("/v1")
    if not await is_nowhere(case, f"{root}{_MESSAGES}", one.headers):
        sentence = f"{one.whose}{one.shown} does not speak Chat Completions, but Anthropic's Messages API."
        advice = f"Unset {setting}, and set ANTHROPIC_BASE_URL={root} and {one.choice.setting}={one.choice.name}."
        return problem(PART, sentence, advice)
    what = "answers" if listed.status == HTTPStatus.OK else f"answers {listed.status}"
    sentence = f"{one.whose}{one.shown} {what}, and does not speak Chat Completions: there is no {_CHAT}."
    return problem(PART, sentence, f"Set {setting} to the address of an endpoint that does, up to its /v1.")


async def place_instead(case: Case, one: Asked) -> str:
    """Where its wire is spoken, if not at its address but near that; else empty. Of an address without a path the usual
    place below it, where both speak it. Raises Unreachable."""
    usual = [] if urlsplit(one.base).path else [f"{one.base}/v1"]
    place = await _first_there(case, one, dict.fromkeys([*usual, one.base, *_others(one.base)]))
    return "" if place == one.base else place


async def _first_there(case: Case, one: Asked, places: Iterable[str]) -> str:
    """The first of these where the wire is spoken; empty where it is at none."""
    for place in places:
        if not await is_nowhere(case, f"{place}{_CHAT}", one.headers):
            return place
    return ""


def _others(base: str) -> Sequence[str]:
    """Where else it may be."""
    place = urlsplit(base)
    root = f"{place.scheme}://{place.netloc}"
    candidates = [f"{base}/v1", base.removesuffix("/v1"), f"{root}/v1", f"{root}/api/v1", f"{root}/openai/v1"]
    return [url for url in dict.fromkeys(candidates) if url != base]


async def is_nowhere(case: Case, url: str, headers: Mapping[str, str]) -> bool:
    """Whether nobody is there, as an empty request shows: everybody refuses it, and a page is no refusal. Raises
    Unreachable."""
    answer = await case.web.post(url, {}, headers=headers)
    is_page = answer.status == HTTPStatus.OK and answer.body is None
    return is_page or (answer.status in _NOWHERE and "model" not in _said(answer).lower())


# --- the model ---


def _unknown_model(one: Asked, listed: Answer) -> Finding | None:
    """What a list does not have. Azure's is one of models, and deployments have names of their own."""
    names = {*names_in(listed.body)}
    wanted = one.choice.name
    known = {wanted.removeprefix("models/"), f"{wanted}:latest"}
    if not names or one.provider.version_setting or names & known:
        return None
    if wanted.partition(":")[0] in names and one.provider.name == "openrouter":  # variants, as in name:free
        return None
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5) or sorted(names)[:3]
    meant = " or ".join(f"{one.provider.name}/{name}" for name in near)
    sentence = f"{one.whose}{one.provider.title} at {one.shown} has no model {wanted}."
    if one.provider.name == "ollama":
        advice = f"Get it with `ollama pull {wanted}`, or set {one.choice.setting} to {meant}."
        return NoSuchModel(PART, "problem", sentence, advice)
    advice = f"Set {one.choice.setting} to one that it has, e.g. {meant}"
    other = providers().get(wanted.partition("/")[0])
    if other and other != one.provider:
        advice += f", or, if it is to be asked at {other.title}, set {other.key} too"
    return NoSuchModel(PART, "problem", sentence, f"{advice}.")


async def _window(one: Asked) -> Finding:
    limits = await _limits(one)
    name, said = one.choice.name, f"{one.whose}{one.choice.name} answers at {one.shown}"
    if one.provider.name == "ollama" and limits is None:
        return ok(PART, f"{said}; how much of it is loaded is seen at the first question.")
    if limits is None or not limits.known:
        if one.limit or not one.talks:
            return ok(PART, f"{said}.")
        sentence = f"{name} answers, and nobody says how large its window is: {Limits().window:,} tokens are assumed."
        advice = "Set AGENTS__EMERGENCY_CONTEXT_LIMIT to the tokens that a conversation may fill."
        return WindowNotKnown(PART, "warning", sentence, advice)
    if one.limit and one.talks and one.limit > limits.window:
        sentence = f"{name} answers at {one.shown}, and AGENTS__EMERGENCY_CONTEXT_LIMIT={one.limit} is above its window"
        advice = f"Set it below {limits.window}, or unset it, unless you know that the server takes more than it says."
        return warning(PART, f"{sentence} of {limits.window:,} tokens.", advice)
    if limits.window < _LITTLE and (how := _MORE.get(one.provider.name)):
        return warning(PART, f"{said} with a window of {limits.window:,} tokens, which is little.", how)
    source = f" (documentation of {read_on():%B %Y})" if one.provider.windows == "table" and one.is_own_address else ""
    return ok(PART, f"{said}, window {limits.window:,} tokens{source}.")


_MORE = {
    "ollama": "Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in the model's file.",
    "lmstudio": "Load it with a longer context (`lms load NAME --context-length 32768`).",
    "llamacpp": "Start it with `-c 32768` (and fewer slots, `-np 1`).",
    "vllm": "Start it with `--max-model-len 32768`.",
}


async def _limits(one: Asked) -> Limits | None:
    """A doctor loads nothing."""
    if one.provider.name != "ollama":
        return await look(one.provider, one.base, one.key or None, one.choice.name)
    try:
        window = await loaded_by_ollama(one.base, one.choice.name)
    except Unanswered:
        return None
    return Limits(window, window, known=True) if window else None


async def _without_tools(case: Case, one: Asked, listed: Answer) -> list[Finding]:
    """Some servers say what a model can do; of some it is known."""
    if not one.talks:
        return []
    pattern = one.provider.without_tools
    if pattern and re.match(pattern, one.choice.name):
        where = f"over {one.provider.title}'s Chat Completions"
        sentence = f"{one.choice.name} takes no tools {where}, as far as is known: questions are then refused."
        advice = f"Set {one.choice.setting} to another one, e.g. {one.provider.name}/{one.provider.default_model}"
        through = f"openrouter/{one.provider.name}/{one.choice.name}"
        return [warning(PART, sentence, f"{advice}, or to {through} with OPENROUTER_API_KEY.")]
    able: Any = None
    if one.provider.name == "ollama":
        root = one.base.removesuffix("/v1")
        shown = await case.web.post(f"{root}/api/show", {"model": one.choice.name}, headers=one.headers)
        able = shown.get("capabilities")
    elif one.provider.name == "openrouter":
        rows = listed.get("data") or []
        row = next((row for row in rows if isinstance(row, dict) and row.get("id") == one.choice.name), {})
        able = row.get("supported_parameters")
    if not isinstance(able, list) or "tools" in able:
        return []
    sentence = f"{one.choice.name} takes no tools, and requests with tools are refused."
    return [problem(PART, sentence, f"Set {one.choice.setting} to a model that takes tools.")]


# --- what an answer says ---


def _inner(answer: Answer) -> Mapping[str, Any]:
    body = answer.body[0] if isinstance(answer.body, list) and answer.body else answer.body
    inner = body.get("error", body) if isinstance(body, dict) else {}
    return inner if isinstance(inner, dict) else {"message": inner}


def _said(answer: Answer) -> str:
    inner = _inner(answer)
    found = inner.get("message") or inner.get("detail") or ""
    return found if isinstance(found, str) else ""


def _in_words(said: str) -> str:
    lines = said.strip().splitlines()
    return f" ({lines[0][:200].rstrip('.')})" if lines else ""


def _kinds(answer: Answer) -> tuple[str, ...]:
    inner = _inner(answer)
    return tuple(str(inner[name]) for name in ("type", "code", "status") if inner.get(name))
