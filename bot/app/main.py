"""The composition root: puts connectors, agents and workers together, in one process or as fleets.

:func:`run` is read from top to bottom: what is opened, who is made of it, and who runs. A conversation in a terminal
(:mod:`bot.app.chat`) is made of the same. Heavy modules are imported inside the functions, so that the terminal shows
its prompt before they are loaded.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import structlog

from bot.app.cli.text import say
from bot.app.folder_locks import beside_others
from bot.app.loading import AGENTS, WORKER, Loading, begun, clients, load, without_collecting
from bot.app.platforms import local_note, modules_of, platform_names, platforms, who_answers
from bot.page.access.shut import why_shut
from bot.runtime.access import WEB, Access
from bot.runtime.settings import Settings
from bot.runtime.shutdown import Shutdown, until_signal
from bot.runtime.supervisor import until_told
from bot.runtime.tasks import Work, run_together, stop

if TYPE_CHECKING:
    from bot.agent.embeddings import Embedder
    from bot.agent.services import Services
    from bot.app.health import Health
    from bot.app.http import Page
    from bot.app.resources import Resources
    from bot.connector import Connector
    from bot.gateway.gateway import Gateway

Role = Literal["gateway", "agents", "worker"]
ROLES: tuple[Role, ...] = ("gateway", "agents", "worker")

log = structlog.get_logger(__name__)


async def run(settings: Settings, roles: Sequence[Role]) -> None:
    """Serve until a signal. Raises a PalimpsestError with a sentence that says what to do."""
    _say_to_person(what_runs(settings, roles, platform_names(settings) if "gateway" in roles else ()))
    with without_collecting(), beside_others(settings) as are_others_here:
        await _run(settings, roles, are_others_here=are_others_here)


async def _run(settings: Settings, roles: Sequence[Role], *, are_others_here: bool) -> None:
    from bot.app.resources import open_resources
    from bot.bus.leases import CONNECTOR

    names = platform_names(settings) if "gateway" in roles else ()
    shutdown = Shutdown(settings.shutdown_seconds, agents="agents" in roles)
    signals = until_signal(signal.SIGTERM, signal.SIGINT, shutdown=shutdown)
    asks = bool({"agents", "worker"} & set(roles))
    loading_platforms = begun(load("platforms", *modules_of(names)))
    opening = open_resources(settings, listen=names, asks=asks)
    async with signals, loading_platforms as platforms_there, opening as resources:
        await platforms_there
        from bot.app.health import Health
        from bot.app.http import HttpServer, serve_where_free

        connectors = platforms(settings) if "gateway" in roles else []
        _announce(resources, roles, names)
        gateways = [
            gateway_for(resources, connector, CONNECTOR.of(connector.name), shutdown=shutdown)
            for connector in connectors
        ]
        health = Health(resources, roles, gateways)
        loading = Loading(set(roles) - {"gateway"}, health.checks)
        work = inner_roles(resources, roles, shutdown, health, loading)
        work += [gateway.run() for gateway in gateways]
        hooks = {gateway.hook_path: gateway.receive for gateway in gateways if gateway.hook_path}
        page = _page(resources, gateways) if "gateway" in roles else None
        server = HttpServer(
            settings.http_bind,
            health.checks,
            hooks,
            shutdown=shutdown,
            metrics=health.gauges.exposition,
            page=page,
            heard=partial(say_where, alone=set(names) == {WEB}) if page else None,
        )
        # Without a platform nothing but the page leads to the bot.
        needed = bool(hooks) or "http_bind" in settings.model_fields_set or (bool(page) and set(names) == {WEB})
        serving = serve_where_free(
            server,
            needed=needed,
            beside=settings.data_dir if are_others_here else None,
            without="the page and health endpoints" if page else "health endpoints",
        )
        signals.be_gentle()
        try:
            await run_together([*(until_told(role, shutdown) for role in work), shutdown.wait()], beside=[serving])
        finally:
            for connector in connectors:
                await connector.close()


def inner_roles(
    resources: Resources,
    roles: Sequence[Role],
    shutdown: Shutdown | None = None,
    health: Health | None = None,
    loading: Loading | None = None,
) -> list[Work]:
    """The roles that hold no platform's token, as coroutines that run until cancelled, or until the end comes.

    ``health`` is told what they need; ``loading`` sees to it that their code is there, or else whoever calls does.
    """
    work: list[Work] = []
    if "agents" in roles:
        work.append(_agents(resources, shutdown, health, loading))
    if "worker" in roles:
        work.append(_worker(resources, shutdown, health, loading))
    return work


async def _agents(
    resources: Resources, shutdown: Shutdown | None, health: Health | None, loading: Loading | None
) -> None:
    """The agents of this process, and after them what serves them, whose end no agent must see."""
    if loading:
        await loading.of("agents", *AGENTS, *clients(resources.settings))
    from bot.agent.host import Host
    from bot.app.housekeeping import keep_house

    services = services_of(resources)
    if health:
        health.watch_tools(services)
    async with services.mcp, services.parser:
        cleaning = services.bus.supervisor.start("housekeeping", partial(keep_house, services))
        try:
            await Host(services, shutdown).run()
        finally:
            await stop(cleaning)


async def _worker(
    resources: Resources, shutdown: Shutdown | None, health: Health | None, loading: Loading | None
) -> None:
    if loading:
        await loading.of("worker", *WORKER, *clients(resources.settings))
    from workers.main import work

    await work(resources, shutdown, health.checks if health else None)


def services_of(resources: Resources) -> Services:
    """What the agents of this process share."""
    from bot.agent.services import Services
    from bot.agent.tools.mcp.servers import servers_of
    from bot.compaction import STRATEGIES
    from bot.files.parser_pool import ParserPool, bounds_of
    from bot.runtime.strategies import configured
    from bot.store.money.limits import limits_of

    return Services(
        settings=resources.settings,
        database=resources.database,
        bus=resources.bus,
        jobs=resources.jobs,
        chains=resources.chains,
        strategies=configured(STRATEGIES, resources.settings),
        access=access_of(resources.settings),
        embedder=_embedder(resources.settings),
        mcp=servers_of(resources.settings),
        parser=ParserPool(bounds_of(resources.settings.files)),
        limits=limits_of(resources.settings.budget, resources.database),
    )


def gateway_for(
    resources: Resources,
    connector: Connector,
    lease_name: str,
    chat: str | None = None,
    shutdown: Shutdown | None = None,
) -> Gateway:
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
        Admission(access_of(settings), per_person=settings.rate.person, per_chat=settings.rate.chat, urgent=urgent()),
        lease_name=lease_name,
        folder=partial(folder_of, settings.data_dir),
        most_bytes=settings.files.most_bytes,
        chat=chat,
        alone=connector.name != WEB,
        shutdown=shutdown,
    )


def _page(resources: Resources, gateways: Sequence[Gateway]) -> Page | None:
    """The page, where its door lets anybody in; that it does not is said once. Its chat stores with the web's
    gateway."""
    from bot.app.http import MadeWhenAsked

    if reason := why_shut(resources.settings):
        log.info("page_off", reason=reason)
        return None
    store = next((gateway.intake.store for gateway in gateways if gateway.name == WEB), None)

    async def make() -> Page:
        """Its routes and templates: nothing of them is there before somebody looks."""
        await load("page", "bot.page.routes")
        from bot.agent.commands.table import offered
        from bot.page.routes import page_app

        return page_app(
            resources.settings, resources.database, resources.bus, resources.jobs, store, commands=offered()
        )

    return MadeWhenAsked(make)


def _embedder(settings: Settings) -> Embedder:
    """Who says how alike two texts are: an endpoint of one's own, or the model of the extra `vectors`."""
    from bot.agent.embeddings import HttpEmbedder, WordLlamaEmbedder

    chosen = settings.embeddings
    return HttpEmbedder(chosen.url, chosen.model) if chosen.url else WordLlamaEmbedder()


def access_of(settings: Settings) -> Access:
    """Who may talk to the bot."""
    return Access(settings.access, settings.allow, settings.admins)


def _announce(resources: Resources, roles: Sequence[Role], connectors: Sequence[str]) -> None:
    log.info("started", roles=list(roles), connectors=list(connectors), model=resources.chain.first.name)
    if resources.settings.uses_local_model and set(roles) != {"gateway"}:
        log.warning("local_model", note=local_note(resources.settings))
    if "gateway" in roles and not connectors:
        log.warning("no_platform", note="Set TELEGRAM_TOKEN or DISCORD_TOKEN to be reached there.")


def say_where(address: str, *, alone: bool) -> None:
    """The chat page is there. ``alone``: nothing else leads to the bot."""
    where = f"http://{address}/chat"
    if alone:
        log.info("chat_page", note=f"It is talked to at {where}.")
    _say_to_person(f"The chat page: {where}. Ctrl-C ends it.")


_PLACES = {"telegram": "on Telegram", "discord": "on Discord", WEB: "on its chat page"}


def what_runs(settings: Settings, roles: Sequence[Role], connectors: Sequence[str]) -> str:
    """What whoever starts it in a terminal reads above the log."""
    here = "It runs in this terminal until Ctrl-C; what follows is its log."
    if not connectors:
        return f"Palimpsest starts ({', '.join(roles)}). {here}"
    *others, last = [_PLACES[name] for name in connectors]
    where = f"{', '.join(others)} and {last}" if others else last
    who = who_answers(settings)
    what = f"{who} answers {where}" if "agents" in roles else f"it is talked to {where}, and other processes answer"
    return f"Palimpsest starts: {what}. {here}"


def _say_to_person(line: str) -> None:
    """Where somebody sits at a terminal. Programs read the log."""
    if file := next((one for one in (sys.stdout, sys.stderr) if one and one.isatty()), None):
        say(line, file)
        file.flush()
