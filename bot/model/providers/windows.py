"""How large a model's window is: as its server says, else as documentation does, else a guess that is said to be one.

Servers of one's own are asked what they have really loaded, which is often much less than the model could hold. Each of
them has its own place for that; all are plain GETs, and none makes a request of a model.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from bot.errors import ModelUnavailable
from bot.model.base import DEFAULT_ANSWER, Limits
from bot.runtime import prices
from bot.runtime.providers import Provider
from bot.runtime.providers.known_models import known
from bot.runtime.tls import trusted

_SECONDS = 5.0
_LOADING_SECONDS = 90.0
"""Ollama says how much it has loaded only once it has."""
_WINDOWS = ("max_model_len", "context_window", "context_length", "max_context_length", "max_input_tokens")
"""What lists of models call a window: vLLM, Groq, Together and OpenRouter, Mistral, gateways."""
_ANSWERS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_MILLION = 1_000_000
_LISTED = ("prompt", "completion", "input_cache_read", "input_cache_write")


class Unanswered(ModelUnavailable):
    """The server cannot be reached, or says nothing of use."""


Get = Callable[..., Awaitable[Any]]
"""What the body of an answer says, as JSON; None where there is nothing at this address. Raises Unanswered."""


async def look(provider: Provider, base_url: str, key: str | None, model: str) -> Limits | None:
    """What is known of a model of this provider at this address; None where its server cannot be reached just now, and
    it is to be asked again."""
    is_own = not provider.needs_key or bool(provider.base_url and base_url != provider.base_url)
    kind = "any" if is_own and provider.windows == "table" else provider.windows
    try:
        async with _client(key) as get:
            found = await _ASKS[kind](get, base_url, model)
    except Unanswered:
        return None if is_own else _documented(provider, model)
    return found or (Limits() if is_own else _documented(provider, model))


async def loaded_by_ollama(base_url: str, model: str) -> int:
    """The window with which Ollama holds this model just now; 0 where it does not hold it. Raises Unanswered."""
    async with _client(None) as get:
        return await _running(get, base_url, model)


def _documented(provider: Provider, model: str) -> Limits:
    """What documentation says; else the guess, with ``known`` False."""
    row = known(provider.name, model)
    return Limits(row.window, row.answer or DEFAULT_ANSWER, known=True) if row else Limits()


# --- each kind of server ---


async def _from_documentation(get: Get, base_url: str, model: str) -> Limits | None:  # noqa: ARG001  # one of a table
    return None


async def _from_list(get: Get, base_url: str, model: str) -> Limits | None:
    return _limits_in(_row(await get(f"{base_url}/models"), model))


async def _from_openrouter(get: Get, base_url: str, model: str) -> Limits | None:
    """https://openrouter.ai/docs/api/api-reference/models/get-models"""
    listed = await get(f"{base_url}/models")
    row = _row(listed, model) or _row(listed, model.partition(":")[0])  # name:nitro is a way to ask for it
    top = row.get("top_provider") if isinstance(row.get("top_provider"), Mapping) else {}
    window = _number(top, ("context_length",)) or _number(row, ("context_length",))
    if isinstance(pricing := row.get("pricing"), Mapping):
        _learn_price(model, pricing)
    return Limits(window, _number(top, _ANSWERS) or DEFAULT_ANSWER, known=True) if window else None


async def _from_gemini(get: Get, base_url: str, model: str) -> Limits | None:
    """Its own list has what the compatible one has not: https://ai.google.dev/api/models"""
    root = base_url.removesuffix("/openai")
    row = await get(f"{root}/models/{quote(model.removeprefix('models/'))}", google=True)
    window = _number(row, ("inputTokenLimit",))
    return Limits(window, _number(row, ("outputTokenLimit",)) or DEFAULT_ANSWER, known=True) if window else None


async def _from_ollama(get: Get, base_url: str, model: str) -> Limits | None:
    """What is loaded, by `/api/ps`; a model that is not is loaded by a request without a prompt, as the documentation
    says: https://docs.ollama.com/api"""
    window = await _running(get, base_url, model)
    if not window:
        await get(f"{_root(base_url)}/api/generate", body={"model": model}, seconds=_LOADING_SECONDS)
        window = await _running(get, base_url, model)
    if not window:  # an older one does not say it there
        window = _set_in(await get(f"{_root(base_url)}/api/show", body={"model": model}))
    return _own(window)


async def _running(get: Get, base_url: str, model: str) -> int:
    found = await get(f"{_root(base_url)}/api/ps")
    rows = found.get("models") if isinstance(found, Mapping) else ()
    names = (model, f"{model}:latest")
    same = (
        row
        for row in rows or ()
        if isinstance(row, Mapping) and (row.get("name") in names or row.get("model") in names)
    )
    return _number(next(same, {}), ("context_length",))


def _set_in(shown: Any) -> int:
    """`num_ctx` in the parameters of a model's file."""
    text = shown.get("parameters") if isinstance(shown, Mapping) else None
    found = re.search(r"(?m)^num_ctx\s+(\d+)", text) if isinstance(text, str) else None
    return int(found[1]) if found else 0


async def _from_lmstudio(get: Get, base_url: str, model: str) -> Limits | None:
    """https://lmstudio.ai/docs/developer/rest/endpoints"""
    row = _row(await get(f"{_root(base_url)}/api/v0/models"), model)
    if row and row.get("state") == "not-loaded":
        raise Unanswered("not loaded")
    return _own(_number(row, ("loaded_context_length",)))


async def _from_llamacpp(get: Get, base_url: str, model: str) -> Limits | None:
    """The window of one of its slots: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"""
    found = await get(f"{_root(base_url)}/props?model={quote(model, safe='')}")
    settings = found.get("default_generation_settings") if isinstance(found, Mapping) else None
    return _own(_number(settings, ("n_ctx",)))


async def _from_any(get: Get, base_url: str, model: str) -> Limits | None:
    """A server of which nothing is known: its list, and then what each kind has besides."""
    for ask in (_from_list, _from_llamacpp, _from_lmstudio):
        if found := await ask(get, base_url, model):
            return found
    window = await _running(get, base_url, model)
    return _own(window)


_ASKS: Mapping[str, Callable[[Get, str, str], Awaitable[Limits | None]]] = {
    "table": _from_documentation,
    "list": _from_list,
    "openrouter": _from_openrouter,
    "gemini": _from_gemini,
    "ollama": _from_ollama,
    "lmstudio": _from_lmstudio,
    "llamacpp": _from_llamacpp,
    "any": _from_any,
}


# --- what stands in answers ---


def _limits_in(row: Mapping[str, Any]) -> Limits | None:
    window = _number(row, _WINDOWS)
    return Limits(window, _number(row, _ANSWERS) or DEFAULT_ANSWER, known=True) if window else None


def _own(window: int) -> Limits | None:
    """Of a server that has no longest answer but its window."""
    return Limits(window, min(DEFAULT_ANSWER, window), known=True) if window else None


def _row(listed: Any, model: str) -> Mapping[str, Any]:
    """What a list says of a model; nothing where it is not in it. Together's list is bare."""
    rows = listed.get("data") if isinstance(listed, Mapping) else listed
    found = (row for row in _rows(rows) if row.get("id") == model or model in (row.get("aliases") or ()))
    return next(found, {})


def _rows(rows: Any) -> Iterable[Mapping[str, Any]]:
    return (row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else ()


def _number(row: Any, names: Iterable[str]) -> int:
    found = (row.get(name) for name in names) if isinstance(row, Mapping) else ()
    return next(
        (int(one) for one in found if isinstance(one, int | float) and not isinstance(one, bool) and one > 0), 0
    )


def _learn_price(model: str, pricing: Mapping[str, Any]) -> None:
    """Dollars for one token, as texts; some are -1, which means that it depends."""
    try:
        each = {name: float(pricing.get(name) or 0) * _MILLION for name in _LISTED}
    except (TypeError, ValueError):
        return
    if each["prompt"] < 0 or each["completion"] < 0:
        return
    read = each["input_cache_read"] / each["prompt"] if each["prompt"] and each["input_cache_read"] > 0 else 1.0
    write = each["input_cache_write"] / each["prompt"] if each["prompt"] and each["input_cache_write"] > 0 else 1.0
    listed = prices.Price(each["prompt"], each["completion"], read, write, write, source="listed by the provider")
    prices.learn(model, listed)


# --- asking ---


def _root(base_url: str) -> str:
    """Host and port: a server's own questions are not below its compatible ones."""
    place = urlsplit(base_url)
    return urlunsplit((place.scheme, place.netloc, "", "", ""))


@asynccontextmanager
async def _client(key: str | None) -> AsyncIterator[Get]:
    import httpx2

    async with httpx2.AsyncClient(timeout=_SECONDS, verify=trusted()) as client:

        async def get(url: str, *, body: Any = None, google: bool = False, seconds: float = _SECONDS) -> Any:
            headers = (
                {"x-goog-api-key" if google else "Authorization": key if google else f"Bearer {key}"} if key else {}
            )
            method = "GET" if body is None else "POST"
            try:
                answer = await client.request(method, url, json=body, headers=headers, timeout=seconds)
                if answer.status_code == HTTPStatus.OK:
                    return answer.json()
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError) as error:
                raise Unanswered("The model's server cannot be reached.") from error
            if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Unanswered("The model's server does not say.")
            return None

        yield get
