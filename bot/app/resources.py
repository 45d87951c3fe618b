"""Opens what a process needs, as the settings say: the book, the bell, the model."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from bot.app.embedded.valkey import EmbeddedValkey
from bot.app.models import chosen_link, open_chains
from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.bus.redis_names import RedisNames
from bot.errors import BusUnavailable, ConfigurationError, StoreUnavailable
from bot.model import Link, Model
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.runtime import prices
from bot.runtime.providers import DEFAULT_MODEL
from bot.runtime.settings import Settings
from bot.runtime.tasks import patiently, stop
from bot.runtime.telemetry import telemetry
from bot.store import Database, installation, volume
from bot.store.book import bell_of, database_of
from bot.store.windows import BookWindows

log = structlog.get_logger(__name__)

_DATABASE_SECONDS = _REDIS_SECONDS = 10.0
"""They are waited for so long at the start; later, for ever."""
_LOOK_SECONDS = 0.5
NO_TRACES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, and what writes traces is not installed: pip install 'palimpsest[otel]'."
)


@dataclass(frozen=True)
class Resources:
    """What is open."""

    settings: Settings
    database: Database
    bus: Bus
    redis_url: str
    jobs: Jobs
    chains: Chains
    """The models that talk and those that write summaries: of the settings, and what conversations chose."""

    @property
    def chain(self) -> Chain:
        """The models of the settings that talk, in the order in which they are asked."""
        return self.chains.usual

    @property
    def summaries(self) -> Chain:
        """Those of the settings that write summaries: `COMPACTION_MODEL`, and then those that talk."""
        return self.chains.summaries

    @property
    def models(self) -> Mapping[Model, Link]:
        """The clients of all that may be asked, each with the first that is asked by it."""
        found: dict[Model, Link] = {}
        for link in self.chains.links:
            found.setdefault(link.model, link)
        return found


@asynccontextmanager
async def open_resources(
    settings: Settings,
    *,
    listen: tuple[str, ...] = (),
    clear_leases: bool = True,
    asks: bool = True,
    model: Model | Link | None = None,
    fallback: Sequence[Link] = (),
) -> AsyncIterator[Resources]:
    """Open everything, and close it at the end. ``listen``: connectors whose live events are wanted here; ``asks``:
    whether this process asks a model: else no local one is started for it; ``model``: is asked for everything, in the
    place of those that the settings describe (they still name it), and where it is away ``fallback``; they are closed
    with the rest.

    Raises a PalimpsestError with a sentence that says what to do.
    """
    async with AsyncExitStack() as stack:
        prices.use(settings.prices)
        database = database_of(settings)
        stack.push_async_callback(database.close)
        await _opened(database, settings)
        bell = await bell_of(database)
        await _traced(settings, database, stack)
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
            windows = BookWindows(database)
            chain, summaries = await open_chains(settings, stack, windows, asks=asks)
            chains = Chains(chain, partial(chosen_link, settings, windows), summaries)
        else:
            first = model if isinstance(model, Link) else Link(model, settings.talker.name or DEFAULT_MODEL)
            settings = settings if first.is_local else settings.with_summaries
            chain, summaries = _chains_of(settings, stack, [first, *fallback])
            chains = Chains(chain, partial(Link, first.model), summaries)
        stack.push_async_callback(chains.close)
        yield Resources(settings, database, bus, url, jobs, chains)


async def _traced(settings: Settings, database: Database, stack: AsyncExitStack) -> None:
    """Where somebody wants traces, what writes them is loaded, and told of all that happens until the end."""
    endpoint = settings.otel_exporter_otlp_endpoint
    if endpoint is None:
        return
    try:
        tracing = await asyncio.to_thread(importlib.import_module, "bot.runtime.tracing")
    except ImportError as error:
        log.warning("traces_off", note=NO_TRACES, reason=str(error))
        return
    async with database.read() as tx:
        known = await installation.id_of(tx)
    traces = tracing.Traces(
        endpoint,
        known,
        headers=_secret(settings.otel_exporter_otlp_headers) or "",
        service=settings.otel_service_name,
        content=settings.traces_content,
        secrets=settings.secrets,
    )
    telemetry.trace_to(traces)
    stack.push_async_callback(traces.close)
    stack.callback(telemetry.trace_to, None)


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


def _chains_of(settings: Settings, stack: AsyncExitStack, links: Sequence[Link]) -> tuple[Chain, Chain]:
    for link in links:
        stack.push_async_callback(link.model.close)
    chain, first = Chain(links), links[0]
    if settings.compaction_model in (None, first.name):
        return chain, chain
    return chain, Chain([Link(first.model, settings.compaction_model), *links])


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None
