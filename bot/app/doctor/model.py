"""The model: does its endpoint answer, take our key, know the model, and say how large its window is."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.app.doctor.provider import Asked, NoSuchModel, asked, check_provider, is_nowhere, of_account
from bot.app.doctor.web import Unreachable
from bot.app.embedded.brain import find_brain
from bot.app.models import link_to, summary_link
from bot.app.platforms import LOCAL_MODEL_NOTE
from bot.errors import Cause, ModelError, ModelRefused, ModelUnavailable, StoreUnavailable
from bot.estimate.learned_windows import Learned
from bot.messages import Message, text_block
from bot.model import Head, Link, Model
from bot.model.provider_errors import said_in
from bot.runtime.checks import Finding, ok, problem, unreached, warning
from bot.runtime.providers import ANTHROPIC, CUSTOM, Unresolved, choice
from bot.runtime.settings import Settings

PART = "model"
_SECONDS = 4.0
"""The book is waited for so long."""
_SHORT_ANSWER = 64
_A_TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class _Endpoint:
    """Where models are asked, and what those who run the program call its parts. ``names``: the models, by the setting
    that names each."""

    names: Mapping[str, str]
    base_url: str | None
    keys: tuple[str, ...]
    base_setting: str = "ANTHROPIC_BASE_URL"
    limited_by: int | None = None
    """What `AGENTS__EMERGENCY_CONTEXT_LIMIT` says of conversations with it, in tokens."""
    limits_conversations: bool = True
    has_refused: bool = False
    """It stated a window when it refused a request, which says more than what it lists."""

    @property
    def whose(self) -> str:
        """What a sentence about it begins with."""
        return "" if self.limits_conversations else "Summaries: "

    @property
    def host(self) -> str:
        return urlsplit(self.base_url or "https://api.anthropic.com").netloc.rpartition("@")[2]


async def check_model(case: Case) -> Sequence[Finding]:
    """No request is made of a model, so this costs nothing, but for `custom`."""
    return [*await check_asked(case), *_unused(case.settings)]


async def check_asked(case: Case) -> Sequence[Finding]:
    """The models that are asked, and nothing of what else is set."""
    settings = case.settings
    try:
        talks, others = choice.talker(settings), choice.fallbacks(settings)
        writes = choice.summaries(settings)
    except Unresolved as error:
        return [problem(PART, error.sentence, error.advice)]
    found: list[Finding] = []
    is_apart = settings.has_own_summary_endpoint
    learned = await _learned(case)
    if talks.is_local:
        found += await _local(settings)
    else:
        link = link_to(talks, settings)
        refused = learned.get((link.model.place, link.name))
        if talks.provider == ANTHROPIC:
            names = {"MODEL": link.name} | ({} if is_apart or writes.provider != ANTHROPIC else _summaries(settings))
            found += await _at_anthropic(case, link, names, refused)
        else:
            await link.model.close()
            found += await _at_provider(case, asked(talks, settings))
        found += _refused_more(settings, link.name, refused)
    for other in [*others, *([] if is_apart or writes.provider in (ANTHROPIC, choice.LOCAL) else [writes])]:
        if other.provider == ANTHROPIC:
            found += await _at_anthropic(case, link_to(other, settings), {"MODEL_FALLBACK": other.name}, None)
        elif not other.is_local and (other.provider, other.name) != (talks.provider, talks.name):
            found += await _at_provider(case, asked(other, settings, talks=other.setting != "COMPACTION_MODEL"))
    if is_apart and (link_apart := summary_link(settings)):
        own = settings.compaction
        base = "COMPACTION__BASE_URL" if own.base_url or not settings.anthropic_base_url else "ANTHROPIC_BASE_URL"
        place = own.base_url or settings.anthropic_base_url
        keys = ("", revealed(own.api_key))
        endpoint = _Endpoint(_summaries(settings), place, keys, base, limits_conversations=False)
        found += await _asked(case, link_apart.model, endpoint)
    return found


async def _at_provider(case: Case, one: Asked) -> list[Finding]:
    """An endpoint of which nothing is known but its address is asked what a chat asks: no list says what it takes."""
    found = await check_provider(case, one)
    if one.provider.name != CUSTOM or any(finding.state == "problem" for finding in found):
        return found
    refusal = await _asked_as_a_chat_asks(case, one)
    return found if refusal is None else [refusal]  # the others say that it answers


async def _asked_as_a_chat_asks(case: Case, one: Asked) -> Finding | None:
    """What is wrong, if it does not answer a short question beside a tool; who takes long for that may load its model
    first."""
    link = link_to(one.choice, case.settings)
    asks = Message(role="user", content=[text_block("Hello. Answer with one word.")])
    tools = (_A_TOOL,) if one.talks else ()
    try:
        async with asyncio.timeout(case.answer_seconds):
            await link.model.ask(Head(link.name, _SHORT_ANSWER, "Be brief.", tools), [asks], patience=0)
    except TimeoutError:
        return None
    except ModelUnavailable as error:
        advice = "Try again in a moment." if error.cause is Cause.BUSY else "Look at its log."
        return unreached(PART, f"{one.whose}{link.name} at {one.shown} does not answer: {error}", advice)
    except ModelRefused as error:
        if wrong := of_account(one, error.cause, said_in(error.__cause__) if error.__cause__ else ""):
            return wrong
        sentence = f"{one.whose}{link.name} at {one.shown} refuses what a chat asks: {error.sentence}"
        advice = error.advice or "Look at its log, or take another model there."
        return (NoSuchModel if error.cause is Cause.MODEL else Finding)(PART, "problem", sentence, advice)
    except ModelError as error:
        sentence = f"{one.whose}{link.name} at {one.shown} refuses what a chat asks: {error}"
        return problem(PART, sentence, "Look at its log, or take another model there.")
    finally:
        await link.model.close()
    return None


async def _at_anthropic(case: Case, link: Link, names: Mapping[str, str], refused: Learned | None) -> list[Finding]:
    """The endpoint of `ANTHROPIC_*`, and what is asked there, by the setting that names it."""
    settings = case.settings
    keys = (revealed(settings.anthropic_auth_token), revealed(settings.anthropic_api_key))
    endpoint = _Endpoint(
        names,
        settings.anthropic_base_url,
        keys,
        limited_by=settings.agents.emergency_context_limit,
        has_refused=refused is not None,
    )
    return await _asked(case, link.model, endpoint)


def _unused(settings: Settings) -> list[Finding]:
    """What somebody may believe to be asked."""
    names = choice.unused(settings)
    if not names or settings.uses_local_model:  # there it is a doubt of the settings
        return []
    verb = "is" if len(names) == 1 else "are"
    sentence = f"{' and '.join(names)} {verb} set and not used."
    return [ok(PART, sentence, "MODEL, MODEL_FALLBACK and COMPACTION_MODEL say who is asked, each as provider/model.")]


def _summaries(settings: Settings) -> dict[str, str]:
    return {"COMPACTION_MODEL": settings.compaction_model} if settings.compaction_model else {}


async def _local(settings: Settings) -> list[Finding]:
    await asyncio.to_thread(find_brain, settings.data_dir)
    if settings.model:
        advice = "Write it as provider/model, or set the key of its provider, e.g. ANTHROPIC_API_KEY."
        return [warning(PART, f"MODEL={settings.model} is ignored: the local toy model answers.", advice)]
    return [ok(PART, LOCAL_MODEL_NOTE)]


async def _learned(case: Case) -> Mapping[tuple[str, str], Learned]:
    """Windows that refusals have stated, by place and model, as the book has them; a book that is away is told of by
    its own check."""
    settings = case.settings
    if not settings.database_url and not (settings.data_dir / "palimpsest.db").exists():
        return {}
    from bot.store import windows
    from bot.store.book import database_of

    database = database_of(settings)
    try:
        async with asyncio.timeout(_SECONDS), database.read() as tx:
            return {(place, model): one for place, model, one in await windows.all_of(tx, now=database.clock())}
    except (StoreUnavailable, TimeoutError):
        return {}
    finally:
        await database.close()


def _refused_more(settings: Settings, name: str, learned: Learned | None) -> list[Finding]:
    """What a refusal stated counts, whatever else says that there is more room."""
    if learned is None:
        return []
    seen = "its server cut a longer prompt, and said nothing" if learned.is_cut else ""
    seen = seen or "as its server said when it refused a request"
    sentence = f"{name} takes no more than {learned.window:,} tokens, {seen}"
    limit = settings.agents.emergency_context_limit
    if limit is not None and limit > learned.window:
        advice = f"Set AGENTS__EMERGENCY_CONTEXT_LIMIT below {learned.window}, or unset it."
        return [warning(PART, f"{sentence}: AGENTS__EMERGENCY_CONTEXT_LIMIT={limit} is above that.", advice)]
    if learned.listed == learned.window:
        return []
    lists = f"it lists a window of {learned.listed:,}" if learned.listed else "it lists none"
    return [ok(PART, f"{sentence}; {lists}.")]


async def _asked(case: Case, model: Model, endpoint: _Endpoint) -> list[Finding]:
    about = _about_base(endpoint)
    try:
        named: dict[str, str] = {}
        for setting, name in endpoint.names.items():
            named.setdefault(name, setting)
        windows = {name: await model.look_up(name) for name in named}
        if not any(windows.values()) and (wrong := await _another_wire(case, endpoint)):
            return [wrong]
        return [await _ask(case, endpoint, setting, name, windows[name]) for name, setting in named.items()]
    except ModelRefused as error:
        if endpoint.base_url and error.cause in (Cause.KEY, Cause.FORBIDDEN):  # it runs, whatever its address
            return [problem(PART, f"{endpoint.whose}{error.sentence}", error.advice)]
        return [problem(PART, f"{endpoint.whose}{error}", about or "Make a new key where you got this one.")]
    except ModelError as error:
        advice = about or f"Check the network (https to {endpoint.host}), and the status page of the provider."
        return [unreached(PART, f"{endpoint.whose}{error}", advice)]
    finally:
        await model.close()


async def _another_wire(case: Case, endpoint: _Endpoint) -> Finding | None:
    """An endpoint of one's own that does not speak the Messages API, and perhaps the other one: both have lists of
    models, which look alike."""
    base = (endpoint.base_url or "").rstrip("/")
    if not base:
        return None
    token, key = endpoint.keys
    headers = {"x-api-key": key, "Authorization": f"Bearer {token or key}"} if token or key else {}
    try:
        if not await is_nowhere(case, f"{base}/v1/messages", headers):
            return None
        root = base.removesuffix("/v1")
        if root != base and not await is_nowhere(case, f"{root}/v1/messages", headers):
            sentence = f"{endpoint.whose}There is no /v1/messages below {endpoint.host}{urlsplit(base).path}."
            return problem(PART, sentence, _about_base(endpoint))
        chats = not await is_nowhere(case, f"{root}/v1/chat/completions", headers)
    except Unreachable:
        return None
    sentence = f"{endpoint.whose}{endpoint.host} does not speak the Messages API: there is no /v1/messages."
    if not chats:
        return problem(PART, sentence, f"Set {endpoint.base_setting} to an endpoint that does.")
    setting, name = next(iter(endpoint.names.items()))
    advice = f"It speaks Chat Completions: unset {endpoint.base_setting}, and set CUSTOM_BASE_URL={root}/v1 and "
    return problem(PART, sentence, f"{advice}{setting}=custom/{name}.")


async def _ask(case: Case, endpoint: _Endpoint, setting: str, name: str, window: int | None) -> Finding:
    """What it means that the endpoint says so of a model; 0: it knows it without a window, None: it does not."""
    limit = endpoint.limited_by
    if window is None:
        return await _unknown(case, endpoint, setting, name)
    if not window and not limit and endpoint.limits_conversations:
        return _without_window(name)
    if window and limit and limit > window and setting == "MODEL" and not endpoint.has_refused:
        sentence = f"{name} answers at {endpoint.host}, and AGENTS__EMERGENCY_CONTEXT_LIMIT={limit} is above its window"
        advice = f"Set it below {window}, or unset it, unless you know that the server takes more than it says."
        return warning(PART, f"{sentence} of {window:,} tokens.", advice)
    return ok(PART, f"{name} answers at {endpoint.host}" + (f", window {window:,} tokens." if window else "."))


async def _unknown(case: Case, endpoint: _Endpoint, setting: str, name: str) -> Finding:
    names = await _listed(case, endpoint) if endpoint.base_url else []
    provider, _, rest = name.partition("/")
    if endpoint.base_url and provider == ANTHROPIC and rest and name not in names and (not names or rest in names):
        sentence = f"{endpoint.host} {'has no model' if names else 'does not say that it has a model'} {name}."
        advice = f"Beside {endpoint.base_setting} the whole of {setting} is the name there: write {setting}={rest}."
        return (problem if names else warning)(PART, sentence, advice)
    if name in names:
        if endpoint.limited_by or not endpoint.limits_conversations:
            return ok(PART, f"{name} is there, at {endpoint.host}.")
        return _without_window(name)
    if names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.3) or sorted(names)[:1]
        advice = f"Set {setting} to one that it has, e.g. {near[0]}."
        return NoSuchModel(PART, "problem", f"{endpoint.host} has no model {name}.", advice)
    if endpoint.base_url:
        advice = _about_base(endpoint) or f"Talk to it with `palimpsest chat` to see whether {setting} is right."
        return warning(PART, f"{endpoint.host} does not say which models it has.", advice)
    advice = f"Set {setting} to a model that your key may use, as the provider's list names it."
    return NoSuchModel(PART, "problem", f"{endpoint.host} does not know the model {name}.", advice)


async def _listed(case: Case, endpoint: _Endpoint) -> list[str]:
    """The names that an endpoint of one's own lists; none where it does not."""
    token, key = endpoint.keys
    headers = {"anthropic-version": "2023-06-01", "x-api-key": key, "Authorization": f"Bearer {token or key}"}
    url = f"{str(endpoint.base_url).rstrip('/')}/v1/models"
    try:
        answer = await case.web.get(url, headers=headers if token or key else None)
    except Unreachable:
        return []
    data = answer.get("data")
    return [str(one["id"]) for one in data if isinstance(one, dict) and "id" in one] if isinstance(data, list) else []


def _without_window(name: str) -> Finding:
    sentence = f"{name} answers, and nobody says how large its window is: 200,000 tokens are assumed."
    return warning(PART, sentence, "Set AGENTS__EMERGENCY_CONTEXT_LIMIT to the tokens that a conversation may fill.")


def _about_base(endpoint: _Endpoint) -> str:
    if endpoint.base_url and urlsplit(endpoint.base_url).path.rstrip("/").endswith("/v1"):
        return f"Take /v1 from the end of {endpoint.base_setting}: it is added."
    if not endpoint.base_url:
        return ""
    return f"Check {endpoint.base_setting}, and that {endpoint.host or 'the server'} runs."
