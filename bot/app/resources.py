"""Opens what a process needs, as the settings say: the book, the bell, the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from bot.app.embedded.local_model import LOCAL_CONTEXT, LOCAL_MODEL_NAME, LocalModel
from bot.app.embedded.valkey import EmbeddedValkey
from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.bus.redis_names import RedisNames
from bot.errors import BusUnavailable, ConfigurationError, StoreUnavailable
from bot.estimate.learned_windows import Windows
from bot.model import Limits, Link, Model, SettingNames
from bot.model.anthropic import AnthropicModel
from bot.model.chain import Chain
from bot.runtime.settings import DEFAULT_MODEL, LOCAL_API_KEY, Settings
from bot.runtime.tasks import patiently, stop
from bot.store import Database, volume
from bot.store.book import bell_of, database_of
from bot.store.windows import BookWindows

log = structlog.get_logger(__name__)

_LOCAL_ANSWER = 512
LOCAL_CALLS = 2
"""As many conversations as its server holds at once."""
_DATABASE_SECONDS = _REDIS_SECONDS = 10.0
"""They are waited for so long at the start; later, for ever."""
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Resources:
    """What is open."""

    settings: Settings
    database: Database
    bus: Bus
    redis_url: str
    jobs: Jobs
    chain: Chain
    """The models that talk, in the order in which they are asked."""
    summaries: Chain
    """Those that write summaries: `COMPACTION_MODEL`, and then those that talk."""

    @property
    def models(self) -> tuple[Model, ...]:
        """All of them."""
        return tuple(dict.fromkeys(link.model for link in (*self.chain.links, *self.summaries.links)))


@asynccontextmanager
async def open_resources(
    settings: Settings,
    *,
    listen: tuple[str, ...] = (),
    clear_leases: bool = True,
    asks: bool = True,
    model: Model | None = None,
    fallback: Sequence[Link] = (),
) -> AsyncIterator[Resources]:
    """Open everything, and close it at the end. ``listen``: connectors whose live events are wanted here; ``asks``:
    whether this process asks a model: else no local one is started for it; ``model``: is asked for everything, in the
    place of those that the settings describe (they still name it), and where it is away ``fallback``; they are closed
    with the rest.

    Raises a PalimpsestError with a sentence that says what to do.
    """
    async with AsyncExitStack() as stack:
        database = database_of(settings)
        stack.push_async_callback(database.close)
        await _opened(database, settings)
        bell = await bell_of(database)
        valkey = None if settings.redis_url else EmbeddedValkey(settings.data_dir)
        if valkey:
            stack.push_async_callback(valkey.stop)
            await valkey.start()
        url = _secret(settings.redis_url) or (valkey.url if valkey else "")
        bus = bus_at(url, bell, listen=listen, valkey=valkey)
        stack.push_async_callback(bus.close)
        if valkey and valkey.alone and clear_leases:
            await bus.leases.clear()  # whoever held them is dead: nobody else is on this DATA_DIR
        hearing = asyncio.create_task(bus.run())
        stack.push_async_callback(stop, hearing)
        await _connected(bus, settings)
        jobs = Jobs(url, bell)
        stack.push_async_callback(jobs.close)
        if model is None:
            chain, summaries = await _open_chains(settings, stack, BookWindows(database), asks=asks)
        else:
            chain, summaries = _chains_of(settings, stack, [Link(model, name_of_talker(settings)), *fallback])
        yield Resources(settings, database, bus, url, jobs, chain, summaries)


async def _opened(database: Database, settings: Settings) -> None:
    """Open the book, and see that the volume beside it is its own. A database that is away is waited for a while: it
    may be starting too. One that says no is not."""
    loop = asyncio.get_running_loop()
    patience, is_said = loop.time() + _DATABASE_SECONDS, False
    while True:
        try:
            await database.open()
            if settings.database_url:
                await volume.settle(database, settings.data_dir)
        except StoreUnavailable as error:
            if not error.may_pass or loop.time() > patience:
                raise
            if not is_said:
                log.warning("store_unavailable", reason=str(error))
            is_said = True
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return


def bus_at(url: str, bell: str, *, listen: tuple[str, ...] = (), valkey: EmbeddedValkey | None = None) -> Bus:
    """The bell at this URL, for processes that are called so there. Raises ConfigurationError for a URL of another
    kind."""
    try:
        return Bus(url, bell, listen=listen, revive=valkey.ensure if valkey else None)
    except ValueError as error:
        raise ConfigurationError(
            "REDIS_URL begins with redis://, rediss:// or unix://, or is one of Sentinels: "
            "redis+sentinel://host:26379,host2:26379/mymaster/0."
        ) from error


async def _connected(bus: Bus, settings: Settings) -> None:
    try:
        await patiently(bus.connected, _REDIS_SECONDS)
    except TimeoutError:
        waited = f"(waited {_REDIS_SECONDS:.0f} s)"
        if not settings.redis_url:
            raise BusUnavailable(f"The embedded Valkey does not answer {waited}.") from None
        url = settings.redis_url.get_secret_value()
        place = urlsplit(url)
        where = place.netloc.rpartition("@")[2] or place.path
        if "@" in url and "@" not in place.netloc:  # what would be shown is a piece of the password
            where = "the host that it names"
        raise BusUnavailable(
            f"REDIS_URL: no Redis answers there {waited}: check that it runs at {where}, and lets this machine in."
        ) from None


async def jobs_at(settings: Settings) -> tuple[str, str]:
    """The URL of the Redis that jobs go through, and the name of their queue; an embedded Redis is started, and this
    process stays its member."""
    database = database_of(settings)
    try:
        await _opened(database, settings)
        queue = RedisNames(await bell_of(database)).jobs
    finally:
        await database.close()
    if settings.redis_url:
        return settings.redis_url.get_secret_value(), queue
    valkey = EmbeddedValkey(settings.data_dir)
    await valkey.start()
    _joined.append(valkey)
    return valkey.url, queue


_joined: list[EmbeddedValkey] = []
"""Members for as long as the process lives; the kernel lets go of their lock at its end."""


async def _open_chains(
    settings: Settings, stack: AsyncExitStack, windows: Windows, *, asks: bool
) -> tuple[Chain, Chain]:
    """Those that talk, and those that write summaries."""
    model, name = await open_model(settings, stack, windows, asks=asks)
    talker = Link(model, name, is_by_anthropic=settings.anthropic_base_url is None)
    chain = Chain([talker])
    writer, writer_name = open_summary_model(settings, stack, model, name, windows)
    if (writer, writer_name) == (model, name):
        return chain, chain
    return chain, Chain([Link(writer, writer_name), *chain.links])


def _chains_of(settings: Settings, stack: AsyncExitStack, links: Sequence[Link]) -> tuple[Chain, Chain]:
    for link in links:
        stack.push_async_callback(link.model.close)
    chain, first = Chain(links), links[0]
    if settings.compaction_model in (None, first.name):
        return chain, chain
    return chain, Chain([Link(first.model, settings.compaction_model), *links])


async def open_model(
    settings: Settings, stack: AsyncExitStack, windows: Windows | None = None, *, asks: bool = True
) -> tuple[Model, str]:
    """The model that talks, and its name; the stack closes it. Without a key it is the local one, which is started
    where somebody ``asks`` it."""
    if settings.uses_local_model and asks:
        local = LocalModel(settings.data_dir)
        stack.push_async_callback(local.stop)
        url = await local.start()
        fixed = Limits(LOCAL_CONTEXT, _LOCAL_ANSWER, known=True)
        model: Model = AnthropicModel(api_key=LOCAL_API_KEY, base_url=url, fixed=fixed, calls=LOCAL_CALLS)
        name = LOCAL_MODEL_NAME
    elif settings.uses_local_model:
        model, name = AnthropicModel(api_key=LOCAL_API_KEY), LOCAL_MODEL_NAME
    else:
        model, name = named_model(settings, windows)
    stack.push_async_callback(model.close)
    return model, name


def open_summary_model(
    settings: Settings, stack: AsyncExitStack, model: Model, name: str, windows: Windows | None = None
) -> tuple[Model, str]:
    """Who writes summaries, and its name: ``model``, which talks, or one at an endpoint of its own, which the stack
    closes."""
    if not settings.has_own_summary_endpoint:
        # The local model is the only one at its server.
        return model, name if settings.uses_local_model else settings.compaction_model or name
    own, own_name = named_summary_model(settings, windows)
    stack.push_async_callback(own.close)
    return own, own_name


def named_summary_model(settings: Settings, windows: Windows | None = None) -> tuple[Model, str]:
    """The model at an endpoint of its own that the settings name for summaries, and its name there. Without a base URL
    that is the endpoint of the one that talks, with another key."""
    own = settings.compaction
    base = own.base_url or settings.anthropic_base_url
    model = AnthropicModel(
        api_key=_secret(own.api_key) or LOCAL_API_KEY,
        base_url=base,
        calls=settings.model_calls,
        remembered="5m",
        windows=windows,
        names=SettingNames(
            key="COMPACTION__API_KEY",
            base="COMPACTION__BASE_URL" if own.base_url or not base else "ANTHROPIC_BASE_URL",
            model="COMPACTION_MODEL",
        ),
    )
    return model, settings.compaction_model or name_of_talker(settings)


def name_of_talker(settings: Settings) -> str:
    """Of the model that talks, where it is not the local one."""
    return settings.model or DEFAULT_MODEL


def named_model(settings: Settings, windows: Windows | None = None) -> tuple[Model, str]:
    """The model that the settings name, by a key or an endpoint, and its name there."""
    # A server of one's own often wants no key; the SDK insists on one.
    key = _secret(settings.anthropic_api_key) or (None if settings.anthropic_auth_token else LOCAL_API_KEY)
    model = AnthropicModel(
        api_key=key,
        auth_token=_secret(settings.anthropic_auth_token),
        base_url=settings.anthropic_base_url,
        calls=settings.model_calls,
        remembered=settings.cache_life,
        windows=windows,
    )
    return model, name_of_talker(settings)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None
