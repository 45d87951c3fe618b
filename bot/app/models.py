"""Opens the models that the settings name: who talks, who answers where that one does not, who writes summaries.

Which they are, at which provider, is decided in :mod:`bot.runtime.providers.choice`; here they get their clients.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from pydantic import SecretStr

from bot.app.embedded.local_model import LOCAL_CONTEXT, LOCAL_INTRODUCTION, LOCAL_MODEL_NAME, LOCAL_PROMPT, LocalModel
from bot.errors import ConfigurationError
from bot.estimate.learned_windows import Windows
from bot.model import Limits, Link, Model, SettingNames
from bot.model.anthropic import AnthropicModel
from bot.model.cache_marks import Life
from bot.model.calls import Silence
from bot.model.chain import Chain
from bot.model.stand_in import StandIn
from bot.runtime.providers import ANTHROPIC, CUSTOM, Choice, Provider, Wire, choice, providers
from bot.runtime.settings import LOCAL_API_KEY, Settings

NO_KEY = (
    "No key is set, so there is only the small local model. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, …, or name a model "
    "of a server of your own, as ollama/NAME."
)
_LOCAL_ANSWER = 160
"""Tokens: it has nothing more to say, and begins to babble."""
LOCAL_CALLS = 2
"""As many conversations as its server holds at once."""


async def open_chains(
    settings: Settings, stack: AsyncExitStack, windows: Windows | None = None, *, asks: bool = True
) -> tuple[Chain, Chain]:
    """Those that talk, and those that write summaries, each in the order in which they are asked; the stack closes
    them. Without a key it is the local model that talks, which is started where somebody ``asks`` it. Raises a
    ConfigurationError where the settings do not say which one is meant."""
    talker = await open_talker(settings, stack, windows, asks=asks)
    others = links(settings, windows)
    for link in others:
        stack.push_async_callback(link.model.close)
    chain = Chain([talker, *others])
    writer = open_writer(settings, stack, talker, windows)
    return chain, chain if writer == talker else Chain([writer, *chain.links])


async def open_talker(
    settings: Settings, stack: AsyncExitStack, windows: Windows | None = None, *, asks: bool = True
) -> Link:
    """The model that talks; see :func:`open_chains`."""
    chosen = choice.talker(settings)
    if chosen.is_local and asks:
        local = LocalModel(settings.data_dir)
        stack.push_async_callback(local.stop)
        url = await local.start()
        fixed = Limits(LOCAL_CONTEXT, _LOCAL_ANSWER, known=True)
        silence = _silence(settings, is_hosted=False)
        toy = AnthropicModel(api_key=LOCAL_API_KEY, base_url=url, fixed=fixed, calls=LOCAL_CALLS, silence=silence)
        link = _local_link(toy)
    elif chosen.is_local:
        link = _local_link(AnthropicModel(api_key=LOCAL_API_KEY))
    else:
        link = link_to(chosen, settings, windows)
    stack.push_async_callback(link.model.close)
    return link


def _local_link(model: AnthropicModel) -> Link:
    """What it is offered is what it can use: no tools, whose definitions it would have to read before each answer."""
    return Link(
        StandIn(model),
        LOCAL_MODEL_NAME,
        is_local=True,
        prompt=LOCAL_PROMPT,
        uses_tools=False,
        introduction=LOCAL_INTRODUCTION,
    )


def open_writer(settings: Settings, stack: AsyncExitStack, talker: Link, windows: Windows | None = None) -> Link:
    """Who writes summaries: ``talker``, another model at its endpoint, or one elsewhere, which the stack closes."""
    own = summary_link(settings, windows)
    if own is not None:
        stack.push_async_callback(own.model.close)
        return own
    name = choice.summaries(settings).name or talker.name  # the local model is the only one at its server
    return talker if name == talker.name else replace(talker, name=name, title=_title(choice.summaries(settings)))


def summary_link(settings: Settings, windows: Windows | None = None) -> Link | None:
    """Who writes summaries, where that is at another endpoint than the one that talks; else None. Raises a
    ConfigurationError where the settings do not say which one it is."""
    if settings.has_own_summary_endpoint:
        return _by_compaction_settings(settings, windows)
    wanted = choice.summaries(settings)
    return (
        None
        if _client(wanted, settings) == _client(choice.talker(settings), settings)
        else link_to(wanted, settings, windows)
    )


def links(settings: Settings, windows: Windows | None = None) -> Sequence[Link]:
    """The models that answer where the one that talks does not, in the order of `MODEL_FALLBACK`; who calls closes
    them. Raises a ConfigurationError where one of them cannot be."""
    return [link_to(chosen, settings, windows) for chosen in choice.fallbacks(settings) if not chosen.is_local]


def chosen_link(settings: Settings, windows: Windows | None, written: str) -> Link:
    """A client for the model that a conversation chose, as :func:`bot.runtime.providers.choice.chosen` reads it; who
    calls closes it. Raises a ConfigurationError where the settings do not say how it is asked."""
    chosen = choice.chosen(settings, written)
    if chosen.is_local:
        raise ConfigurationError(NO_KEY)
    return link_to(chosen, settings, windows)


def link_to(chosen: Choice, settings: Settings, windows: Windows | None = None) -> Link:
    """A client for this choice, which is not the local one."""
    if chosen.provider == ANTHROPIC:
        model = _of_anthropic(chosen, settings, windows)
        by_anthropic = chosen.is_by_anthropic
        return Link(model, chosen.name, is_by_anthropic=by_anthropic, remembers=settings.cache_life)
    provider = providers()[chosen.provider]
    if provider.wire_of(chosen.name) is Wire.MESSAGES:
        on_messages = _on_messages(provider, chosen, settings, windows)
        return Link(on_messages, chosen.name, _title(chosen), remembers=_life_elsewhere(settings))
    taken = {"image": provider.quirks.images, "document": provider.quirks.documents}
    takes = frozenset(kind for kind, is_so in taken.items() if is_so)
    return Link(_on_chat(provider, chosen, settings, windows), chosen.name, _title(chosen), takes=takes)


def _life_elsewhere(settings: Settings) -> Life:
    """What `PROMPT_CACHE` comes to at another provider that speaks the Messages API."""
    return "5m" if settings.prompt_cache == "auto" else settings.prompt_cache


def _title(chosen: Choice) -> str:
    """What people read; the names of Claude's models say enough."""
    if chosen.provider == ANTHROPIC:
        return ""
    if chosen.provider == CUSTOM:
        return f"{chosen.name} at your endpoint"
    return f"{providers()[chosen.provider].title} {chosen.name}"


def names_for(chosen: Choice, settings: Settings) -> SettingNames:
    """What those who run the program call the parts of the endpoint."""
    if chosen.provider == ANTHROPIC:
        key = "ANTHROPIC_AUTH_TOKEN" if settings.anthropic_auth_token else "ANTHROPIC_API_KEY"
        has_key = bool(settings.anthropic_auth_token or settings.anthropic_api_key)
        return SettingNames(key, "ANTHROPIC_BASE_URL", chosen.setting, has_key=has_key)
    provider = providers()[chosen.provider]
    own = settings.providers.get(provider.name)
    key = (own.key_from if own else "") or provider.key
    return SettingNames(key, provider.base_setting, chosen.setting, has_key=bool(own and own.key))


def _client(chosen: Choice, settings: Settings) -> tuple[str, ...]:
    """What is the same for models that one client can ask."""
    base = chosen.base_url or ""
    if chosen.provider in (ANTHROPIC, choice.LOCAL):
        return chosen.provider, base
    provider = providers()[chosen.provider]
    deployment = chosen.name if _is_by_deployment(provider, settings) else ""
    return chosen.provider, base, provider.wire_of(chosen.name), deployment


def _is_by_deployment(provider: Provider, settings: Settings) -> bool:
    """Whether each model has a path of its own, as in Azure's API before v1, whose versions are dates."""
    own = settings.providers.get(provider.name)
    return bool(provider.version_setting and own and own.version and own.version[:1].isdecimal())


def _of_anthropic(chosen: Choice, settings: Settings, windows: Windows | None) -> Model:
    # A server of one's own often wants no key; the SDK insists on one.
    key = _secret(settings.anthropic_api_key) or (None if settings.anthropic_auth_token else LOCAL_API_KEY)
    return AnthropicModel(
        api_key=key,
        auth_token=_secret(settings.anthropic_auth_token),
        base_url=settings.anthropic_base_url,
        calls=settings.model_calls,
        remembered=settings.cache_life,
        windows=windows,
        names=names_for(chosen, settings),
        silence=_silence(settings, is_hosted=not settings.anthropic_base_url),
        look=_look_at(settings.anthropic_base_url, key) if settings.anthropic_base_url else None,
    )


def _look_at(base_url: str, key: str | None) -> Callable[[str], Awaitable[Limits | None]]:
    """How a server of one's own is asked that speaks the Messages API, and has no list with windows."""

    async def ask(model: str) -> Limits | None:
        from bot.model.providers.windows import look

        return await look(providers()[CUSTOM], f"{base_url}/v1", key, model)

    return ask


_OWN_SILENCE = Silence(300.0, 300.0)
"""Of a server of one's own: it may load the model first, and read a long prompt for minutes."""


def _silence(settings: Settings, *, is_hosted: bool) -> Silence:
    """For how long nothing may come. ``is_hosted``: at the provider's own address."""
    usual = Silence() if is_hosted else _OWN_SILENCE
    seconds = settings.model_silence
    return Silence(seconds, max(seconds, usual.middle)) if seconds else usual


def _by_compaction_settings(settings: Settings, windows: Windows | None) -> Link:
    """The model at the endpoint of `COMPACTION__*`. Without a base URL that is the endpoint of the one that talks, with
    another key."""
    own = settings.compaction
    base = own.base_url or settings.anthropic_base_url
    model = AnthropicModel(
        api_key=_secret(own.api_key) or LOCAL_API_KEY,
        base_url=base,
        calls=settings.model_calls,
        remembered="5m",
        windows=windows,
        silence=_silence(settings, is_hosted=not base),
        names=SettingNames(
            key="COMPACTION__API_KEY",
            base="COMPACTION__BASE_URL" if own.base_url or not base else "ANTHROPIC_BASE_URL",
            model="COMPACTION_MODEL",
            has_key=bool(own.api_key),
        ),
    )
    return Link(model, settings.compaction_model or "")


def _on_messages(provider: Provider, chosen: Choice, settings: Settings, windows: Windows | None) -> Model:
    """A provider's second wire: its key is a bearer token there."""
    from bot.model.providers.windows import look

    own = settings.providers.get(provider.name)
    is_hosted = not (own and own.base_url)
    return AnthropicModel(
        api_key=None,
        auth_token=_secret(own.key if own else None) or LOCAL_API_KEY,
        base_url=provider.other_base_url if is_hosted else _root(chosen.base_url or ""),
        silence=_silence(settings, is_hosted=is_hosted),
        calls=settings.model_calls,
        remembered=_life_elsewhere(settings),
        windows=windows,
        names=names_for(chosen, settings),
        look=partial(look, provider, chosen.base_url or "", _secret(own.key if own else None)),
        provider=provider.name,
    )


def _root(base_url: str) -> str:
    """Without the version, which the Messages API's client adds."""
    return base_url.removesuffix("/v1")


def _on_chat(provider: Provider, chosen: Choice, settings: Settings, windows: Windows | None) -> Model:
    from bot.model.chat.client import ChatModel  # nothing of this is loaded where only Anthropic is asked
    from bot.model.providers.cut_prompts import CutPrompts
    from bot.model.providers.windows import loaded_by_ollama, look

    own = settings.providers.get(provider.name)
    key = _secret(own.key if own else None)
    base_url = chosen.base_url or ""
    query = {"api-version": own.version} if provider.version_setting and own and own.version else {}
    if _is_by_deployment(provider, settings):
        base_url = f"{_root(base_url)}/deployments/{chosen.name}"
    cuts = CutPrompts(partial(loaded_by_ollama, base_url), windows) if provider.cuts_prompts and windows else None
    return ChatModel(
        api_key=key,
        base_url=base_url,
        quirks=provider.quirks,
        calls=settings.model_calls,
        windows=windows,
        names=names_for(chosen, settings),
        look=partial(look, provider, chosen.base_url or "", key),
        heard=cuts.look if cuts else None,
        key_header=provider.key_header,
        query=query,
        silence=_silence(
            settings, is_hosted=provider.needs_key and chosen.base_url == (provider.base_url or chosen.base_url)
        ),
        provider=provider.name,
    )


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None
