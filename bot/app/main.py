"""The composition root: puts connectors, agents and workers together, in one process or as fleets.

Heavy modules are imported inside the functions, so that the terminal shows its prompt before they are loaded.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import importlib
import signal
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bot.app.platforms import local_note, platforms, terminal
from bot.bus import topics
from bot.errors import ConfigurationError
from bot.messages import Address
from bot.runtime.access import WEB
from bot.runtime.settings import Settings
from bot.runtime.shutdown import Shutdown, until_signal
from bot.runtime.supervisor import UnexpectedEnd
from bot.runtime.tasks import stop

if TYPE_CHECKING:
    from bot.agent.services import Services
    from bot.app.health import Health
    from bot.app.resources import Resources
    from bot.connector import Connector

Role = Literal["gateway", "agents", "worker"]
ROLES: tuple[Role, ...] = ("gateway", "agents", "worker")
_HEAVY = (
    "bot.app.resources",
    "bot.agent.host",
    "bot.gateway.gateway",
    "workers.main",
    "anthropic",
    "alembic.command",
    "arq.jobs",
)


async def run(settings: Settings, roles: Sequence[Role]) -> None:
    """Serve until a signal. Raises a PalimpsestError with a sentence that says what to do."""
    gc.disable()  # it would take a quarter of the time that loading takes, and find nothing
    try:
        with _beside_others(settings) as others:
            await _run(settings, roles, others=others)
    finally:
        gc.enable()


async def _run(settings: Settings, roles: Sequence[Role], *, others: bool) -> None:
    from bot.app.health import Health
    from bot.app.http import HttpServer
    from bot.app.resources import open_resources
    from bot.bus.leases import CONNECTOR

    connectors = platforms(settings) if "gateway" in roles else []
    names = tuple(connector.name for connector in connectors)
    shutdown = Shutdown(settings.shutdown_seconds, agents="agents" in roles)
    signals = until_signal(signal.SIGTERM, signal.SIGINT, shutdown=shutdown)
    asks = bool({"agents", "worker"} & set(roles))
    async with signals, open_resources(settings, listen=names, asks=asks) as resources:
        if asks:
            await asyncio.to_thread(_load)  # else the first answer waits for it, and the leases of a host with it
        _announce(resources, roles, names)
        _keep_what_is_loaded()
        gateways = [
            gateway_for(resources, connector, CONNECTOR.of(connector.name), shutdown=shutdown)
            for connector in connectors
        ]
        health = Health(resources, roles, gateways)
        work = inner_roles(resources, roles, shutdown, health)
        work += [gateway.run() for gateway in gateways]
        hooks = {gateway.hook_path: gateway.receive for gateway in gateways if gateway.hook_path}
        needed = bool(hooks) or "http_bind" in settings.model_fields_set
        talk = next((gateway.intake.store for gateway in gateways if gateway.name == WEB), None)
        page = _page(resources, talk) if "gateway" in roles else None
        server = HttpServer(
            settings.http_bind, health.checks, hooks, shutdown=shutdown, metrics=health.gauges.exposition, page=page
        )
        serving = _http(server, needed=needed, beside=settings.data_dir if others else None)
        signals.be_gentle()
        try:
            await _all([*(_until_told(role, shutdown) for role in work), shutdown.wait()], beside=[serving])
        finally:
            for connector in connectors:
                await connector.close()


async def chat(settings: Settings, address: Address, notes: Sequence[str] = ()) -> None:
    """A conversation in this terminal, or over its pipes, with everything it needs in this process. ``notes`` are said
    before it begins.

    Raises a PalimpsestError with a sentence that says what to do.
    """
    with _only_here(settings, address):
        async with until_signal(signal.SIGTERM, signal.SIGHUP):
            await _chat(settings, address, notes)


async def _chat(settings: Settings, address: Address, notes: Sequence[str]) -> None:
    from bot.app.deferred_connector import DeferredConnector

    deferred = DeferredConnector(terminal(settings, address, notes))
    serving = asyncio.create_task(_serve_chat(settings, address, deferred))
    try:
        await asyncio.wait({deferred.running, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not deferred.running.done():
            await serving
    finally:
        await deferred.close()
        await stop(deferred.running, serving)
    for task in (deferred.running, serving):
        if not task.cancelled():
            task.result()


async def _serve_chat(settings: Settings, address: Address, connector: Connector) -> None:
    await asyncio.to_thread(_load)
    from bot.app.resources import open_resources
    from bot.bus.leases import CONNECTOR

    async with open_resources(settings, listen=(connector.name,)) as resources:
        inner = inner_roles(resources, ("agents", "worker"))
        gateway = gateway_for(resources, connector, CONNECTOR.of(address.agent_id), chat=address.chat)
        resources.bus.ring(topics.inbox(address.agent_id))  # its agent shows how full it is
        await _all([gateway.run(), *inner], until_first=True)


def _load() -> None:
    for name in _HEAVY:
        importlib.import_module(name)


def _keep_what_is_loaded() -> None:
    """Neither the garbage collector nor the end of the process looks at it any more: that would take the end 2 s."""
    gc.collect()
    gc.freeze()
    gc.enable()


def inner_roles(
    resources: Resources, roles: Sequence[Role], shutdown: Shutdown | None = None, health: Health | None = None
) -> list[Coroutine[Any, Any, None]]:
    """The roles that hold no platform's token, as coroutines that run until cancelled, or until the end comes.

    ``health`` is told what they need.
    """
    work: list[Coroutine[Any, Any, None]] = []
    if "agents" in roles:
        services = services_of(resources)
        if health:
            health.watch_tools(services)
        work.append(_agents(services, shutdown))
    if "worker" in roles:
        from workers.main import work as run_worker

        work.append(run_worker(resources, shutdown, health.checks if health else None))
    return work


async def _agents(services: Services, shutdown: Shutdown | None) -> None:
    """The agents of this process, and after them what serves them, whose end no agent must see."""
    from bot.agent.host import Host
    from bot.app.housekeeping import keep_house

    async with services.mcp, services.parser:
        cleaning = services.bus.supervisor.start("housekeeping", partial(keep_house, services))
        try:
            await Host(services, shutdown).run()
        finally:
            await stop(cleaning)


def services_of(resources: Resources) -> Services:
    """What the agents of this process share."""
    from bot.agent.services import Services
    from bot.agent.tools.mcp.servers import servers_of
    from bot.compaction import STRATEGIES
    from bot.files.parser_pool import ParserPool, bounds_of
    from bot.runtime.strategies import configured

    return Services(
        settings=resources.settings,
        database=resources.database,
        bus=resources.bus,
        jobs=resources.jobs,
        model=resources.model,
        model_name=resources.model_name,
        summary_model_name=resources.summary_model_name,
        strategies=configured(STRATEGIES, resources.settings),
        access=_access(resources.settings),
        embedder=_embedder(resources.settings),
        mcp=servers_of(resources.settings),
        parser=ParserPool(bounds_of(resources.settings.files)),
    )


def gateway_for(
    resources: Resources,
    connector: Connector,
    lease_name: str,
    chat: str | None = None,
    shutdown: Shutdown | None = None,
) -> Any:
    """The gateway of a connector; ``chat``: the only one that it delivers to."""
    from bot.agent.commands.table import urgent
    from bot.files.blocks import folder_of
    from bot.gateway.admission import Admission
    from bot.gateway.gateway import Gateway

    settings = resources.settings
    return Gateway(
        connector,
        resources.database,
        resources.bus,
        Admission(_access(settings), per_person=settings.rate.person, per_chat=settings.rate.chat, urgent=urgent()),
        lease_name=lease_name,
        folder=partial(folder_of, settings.data_dir),
        most_bytes=settings.files.most_bytes,
        chat=chat,
        alone=connector.name != WEB,
        shutdown=shutdown,
    )


def _page(resources: Resources, talk: Any) -> Any:
    """The page, where its door lets anybody in; that it does not is said once. ``talk``: where its chat stores."""
    import structlog

    from bot.agent.commands.table import offered
    from bot.page.context import why_shut
    from bot.page.routes import page_app

    if reason := why_shut(resources.settings):
        structlog.get_logger(__name__).info("page_off", reason=reason)
        return None
    return page_app(resources.settings, resources.database, resources.bus, resources.jobs, talk, commands=offered())


def _embedder(settings: Settings) -> Any:
    from bot.agent.embeddings import HttpEmbedder, WordLlamaEmbedder

    chosen = settings.embeddings
    return HttpEmbedder(chosen.url, chosen.model) if chosen.url else WordLlamaEmbedder()


def _access(settings: Settings) -> Any:
    from bot.runtime.access import Access

    return Access(settings.access, settings.allow, settings.admins)


@contextmanager
def _only_here(settings: Settings, address: Address) -> Iterator[None]:
    """One terminal a conversation; the kernel forgets the lock when the process dies."""
    folder = settings.data_dir / "agents" / address.agent_id
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (folder / ".terminal.lock").open("w")
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR={settings.data_dir} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"The conversation {address.agent_id} is open in another terminal. Close that one, or start another "
                "conversation with --agent NAME."
            ) from error
        yield


@contextmanager
def _beside_others(settings: Settings) -> Iterator[bool]:
    """Whether another `palimpsest run` works on this DATA_DIR, which it may; whoever starts until the end of the block
    sees this one. The kernel forgets the lock when the process dies."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (settings.data_dir / ".run.lock").open("a")
    except OSError:  # whoever needs the folder says so
        yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            others = False
        except OSError:
            others = True
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield others


async def _http(server: Any, *, needed: bool, beside: Path | None) -> None:
    """An address that nobody asked for may be taken; one that was named, or that a platform calls, may not.

    ``beside``: the DATA_DIR on which another process runs, which is then likely to be who has the address.
    """
    import structlog

    try:
        await server.run()
    except ConfigurationError as error:
        told = str(error)
        if beside:
            told = f"Already running here: another `palimpsest run` works on DATA_DIR={beside}. {told}"
        if needed:
            raise ConfigurationError(told) from error
        structlog.get_logger(__name__).warning("http_off", reason=told)


async def _until_told(role: Coroutine[Any, Any, None], shutdown: Shutdown) -> None:
    """A role serves until the end begins: one that has ended before that must not go unseen."""
    await role
    if not shutdown.begun:
        raise UnexpectedEnd("a role of this process ended by itself")


async def _all(
    work: Sequence[Coroutine[Any, Any, None]],
    *,
    beside: Sequence[Coroutine[Any, Any, None]] = (),
    until_first: bool = False,
) -> None:
    """Run all until one fails, or all have ended, and what is ``beside`` for as long; with ``until_first``, until the
    first one ends."""
    tasks = {asyncio.create_task(item) for item in work}
    others = {asyncio.create_task(item) for item in beside}
    pending, accompanying = set(tasks), set(others)
    try:
        while pending:
            done, _ = await asyncio.wait(pending | accompanying, return_when=asyncio.FIRST_COMPLETED)
            pending, accompanying = pending - done, accompanying - done
            for task in done:
                task.result()
            if until_first:
                return
    finally:
        await stop(*tasks, *others)


def _announce(resources: Resources, roles: Sequence[Role], connectors: Sequence[str]) -> None:
    import structlog

    log = structlog.get_logger(__name__)
    log.info("started", roles=list(roles), connectors=list(connectors), model=resources.model_name)
    if resources.settings.uses_local_model and set(roles) != {"gateway"}:
        log.warning("local_model", note=local_note(resources.settings))
    if "gateway" in roles and not set(connectors) - {WEB}:
        here = f" The chat page is at http://{resources.settings.http_bind}/chat." if connectors else ""
        log.warning("no_platform", note=f"Set TELEGRAM_TOKEN or DISCORD_TOKEN to be reached there.{here}")
