"""Which model the settings mean, and at which provider: `MODEL`, `MODEL_FALLBACK` and `COMPACTION_MODEL`. Pure.

What comes before the first slash of a name is a provider where a key or an address of that provider is set, or where it
is a server of one's own that wants none. Otherwise the whole is a name at the one endpoint that is set: `openai/gpt-…`
is also what OpenRouter, Groq and LM Studio call a model of theirs. `ANTHROPIC_BASE_URL` comes before everything that no
key was set for: what it meant before there was a second provider, it means now.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.errors import ConfigurationError
from bot.runtime import setting_values
from bot.runtime.providers.table import Provider, Wire, providers

if TYPE_CHECKING:
    from bot.runtime.settings import Settings

ANTHROPIC, CUSTOM = "anthropic", "custom"
LOCAL = ""
"""Stands for the provider of the small model that comes with the program."""
DEFAULT_MODEL = "claude-sonnet-5"


@dataclass(frozen=True)
class Choice:
    """A model at an endpoint."""

    provider: str
    """By its name in the table; :data:`LOCAL` for the model that comes with the program."""
    name: str = ""
    """What it is called there."""
    setting: str = "MODEL"
    """The setting that says so."""
    base_url: str | None = None
    """None: the provider's own."""

    @property
    def is_local(self) -> bool:
        """Whether it is the one that comes with the program."""
        return self.provider == LOCAL

    @property
    def is_by_anthropic(self) -> bool:
        """Whether Anthropic itself answers, and nobody who speaks like them."""
        return self.provider == ANTHROPIC and self.base_url is None


class Unresolved(ConfigurationError):
    """The settings do not say which model is meant; ``advice``: what to write."""

    def __init__(self, sentence: str, advice: str) -> None:
        super().__init__(f"{sentence} {advice}")
        self.sentence = sentence
        self.advice = advice


def talker(settings: Settings) -> Choice:
    """The model that talks. Raises Unresolved."""
    if settings.model:
        return _named(settings, settings.model, "MODEL")
    if _has_anthropic(settings):
        return Choice(ANTHROPIC, DEFAULT_MODEL, base_url=settings.anthropic_base_url)
    able = [provider for provider in _given(settings) if settings.providers[provider.name].key]
    if not able:
        return Choice(LOCAL)
    if len(able) > 1:
        names = " or ".join(f"MODEL={one.name}/{one.default_model or 'NAME'}" for one in able)
        raise Unresolved(
            f"{' and '.join(_set(settings, one) for one in able)} are set, and MODEL is not.", f"Write {names}."
        )
    (one,) = able
    base = address(one, settings)
    if not one.default_model or base != one.base_url:
        raise Unresolved(f"{_set(settings, one)} is set, and MODEL is not.", f"Write MODEL={one.name}/NAME.")
    return Choice(one.name, one.default_model, base_url=base)


def chosen(settings: Settings, written: str, setting: str = "MODEL") -> Choice:
    """The model that a conversation chose: at the endpoint of the one that talks unless it names another provider.
    Raises Unresolved."""
    talks = talker(settings)
    return _named(settings, written, setting, beside=None if talks.is_local else talks)


def fallbacks(settings: Settings) -> tuple[Choice, ...]:
    """The models that answer where the one that talks does not, in their order. Raises Unresolved."""
    return tuple(_named(settings, written, "MODEL_FALLBACK") for written in settings.model_fallback)


def summaries(settings: Settings) -> Choice:
    """The model that writes summaries, where it has no endpoint of its own by `COMPACTION__*`: the one that talks, or
    `COMPACTION_MODEL`, at the same endpoint unless it names another provider. Raises Unresolved."""
    talks = talker(settings)
    if not settings.compaction_model:
        return talks
    return _named(settings, settings.compaction_model, "COMPACTION_MODEL", beside=talks)


def wires(settings: Settings) -> frozenset[Wire]:
    """How the models are spoken to that may be asked. Raises Unresolved."""
    found = {_wire(one) for one in (talker(settings), *fallbacks(settings))}
    return frozenset({*found, Wire.MESSAGES if settings.has_own_summary_endpoint else _wire(summaries(settings))})


def _wire(choice: Choice) -> Wire:
    if choice.is_local or choice.provider == ANTHROPIC:
        return Wire.MESSAGES
    return providers()[choice.provider].wire_of(choice.name)


def unused(settings: Settings) -> tuple[str, ...]:
    """The variables of providers that are set, and that nothing asks."""
    if not settings.providers:
        return ()
    try:
        asked = {choice.provider for choice in (talker(settings), *fallbacks(settings), summaries(settings))}
    except Unresolved:
        return ()  # what is wrong is said, and says more
    return tuple(_set(settings, provider) for provider in _given(settings) if provider.name not in asked)


def address(provider: Provider, settings: Settings) -> str:
    """Where it is asked: as it is set, or its own; empty where it has to be set and is not."""
    own = settings.providers.get(provider.name)
    return whole_address(provider, own.base_url) if own and own.base_url else provider.base_url


def whole_address(provider: Provider, written: str) -> str:
    """An address that may have been set as servers of one's own are: `host`, `:port`, without a path, and with the
    address that they listen on in the place of one to call."""
    url = written.rstrip("/")
    if provider.port and "://" not in url:
        host, path_slash, path = url.partition("/")
        name, colon, port = host.rpartition(":") if ":" in host and not host.endswith("]") else (host, ":", "")
        url = f"http://{name or '127.0.0.1'}{colon}{port or provider.port}{path_slash}{path}"
    place = urlsplit(url)
    if place.hostname in ("0.0.0.0", "::"):  # noqa: S104  # what a server listens on
        url = url.replace(place.netloc, f"127.0.0.1:{place.port or provider.port}", 1)
    return f"{url}{provider.path}" if not urlsplit(url).path else url


def why_no_address(provider: Provider, written: str) -> str:
    """The end of a sentence that begins with it, where it is none that could be called; else empty."""
    try:
        setting_values.address(whole_address(provider, written), "https", "http", example=provider.example)
    except ValueError as error:
        return str(error)
    return ""


def _named(settings: Settings, written: str, setting: str, beside: Choice | None = None) -> Choice:
    """``beside``: the endpoint of a name without a provider."""
    if "/" in written and (found := _of_provider(settings, written, setting, beside)):
        return found
    if beside is not None:
        return Choice(beside.provider, written, setting, beside.base_url) if not beside.is_local else beside
    if _has_anthropic(settings):
        return Choice(ANTHROPIC, written, setting, settings.anthropic_base_url)
    able = [provider for provider in _given(settings) if _is_able(settings, provider)]
    if len(able) != 1:
        first, slash, rest = written.partition("/")
        if slash and (meant := difflib.get_close_matches(first, providers(), 1, _ALIKE)):
            raise Unresolved(
                f"{setting}={written}: there is no provider {first}.", f"Write {setting}={meant[0]}/{rest}."
            )
    if not able:
        return Choice(LOCAL)
    if len(able) > 1:
        titles = " or ".join(one.title for one in able)
        names = " or ".join(f"{setting}={one.name}/{written}" for one in able)
        raise Unresolved(f"{setting}={written} may be at {titles}.", f"Write {names}.")
    return Choice(able[0].name, written, setting, address(able[0], settings))


def _of_provider(settings: Settings, written: str, setting: str, beside: Choice | None) -> Choice | None:
    """The model behind a provider's name; None where what stands there is a part of the model's."""
    first, _, rest = written.partition("/")
    provider = providers().get(first) if rest else None
    if provider is None:
        return None
    if first == ANTHROPIC:
        return _of_anthropic(settings, rest, setting, beside)
    given = first in settings.providers
    if not given and settings.anthropic_base_url:
        return None
    if given or (not provider.needs_key and provider.base_url):
        return _at(settings, provider, rest, setting)
    return None if _is_elsewhere(settings, beside) else _at(settings, provider, rest, setting)


def _of_anthropic(settings: Settings, rest: str, setting: str, beside: Choice | None) -> Choice | None:
    if settings.anthropic_base_url:
        return None
    if settings.anthropic_api_key or settings.anthropic_auth_token:
        return Choice(ANTHROPIC, rest, setting)
    if _is_elsewhere(settings, beside):
        return None
    advice = "Set it, or name a model of a provider whose key is set."
    raise Unresolved(f"{setting}={ANTHROPIC}/{rest} wants ANTHROPIC_API_KEY, which is not set.", advice)


def _is_elsewhere(settings: Settings, beside: Choice | None) -> bool:
    """Whether there is another endpoint, and only one, that a name with a slash may be of."""
    if beside is not None:
        return not (beside.is_local or beside.is_by_anthropic)
    return not _has_anthropic(settings) and len(_given(settings)) == 1


def _at(settings: Settings, provider: Provider, name: str, setting: str) -> Choice:
    base, written = address(provider, settings), f"{provider.name}/{name}"
    if not base:
        advice = f"Set it to the address of your endpoint, e.g. {provider.example}."
        raise Unresolved(f"{setting}={written} wants {provider.base_setting}, which is not set.", advice)
    if not _is_able(settings, provider):
        where = f" to a key from {provider.get_key}" if "://" in provider.get_key else ""
        advice = f"Set it{where}, or name a model of a provider whose key is set."
        raise Unresolved(f"{setting}={written} wants {provider.key}, which is not set.", advice)
    return Choice(provider.name, name, setting, base)


_ALIKE = 0.75
"""So much alike are a name and its misspelling."""


def _has_anthropic(settings: Settings) -> bool:
    return bool(settings.anthropic_api_key or settings.anthropic_auth_token or settings.anthropic_base_url)


def _given(settings: Settings) -> list[Provider]:
    """The providers of which something is set, in the table's order."""
    if not settings.providers:
        return []
    return [provider for name, provider in providers().items() if name in settings.providers]


def _is_able(settings: Settings, provider: Provider) -> bool:
    """Whether enough is set to ask it: a server of one's own often wants no key."""
    own = settings.providers.get(provider.name)
    has_address = bool(own and own.base_url)
    return bool(own and own.key) or not provider.needs_key or (has_address and bool(provider.base_url))


def _set(settings: Settings, provider: Provider) -> str:
    """The variable of it that is set."""
    own = settings.providers[provider.name]
    return (own.key_from or provider.key) if own.key else provider.base_setting
