"""The stages, and the program that plays on them."""

from __future__ import annotations

import io
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.dialogs.program import running
from tests.dialogs.scene import Scene, Step
from tests.dialogs.stage import Stage
from tests.dialogs.stages.discord import DiscordStage
from tests.dialogs.stages.telegram import TelegramStage
from tests.dialogs.stages.terminal import TerminalStage
from tests.dialogs.table import Person
from tests.house import Wire, settings_for
from tests.servers.messages.server import MessagesServer

Play = Callable[..., Awaitable[None]]


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """The program's log stands beside the failure of a test, not on the terminal's screen."""
    log = io.StringIO()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(log))
    yield
    sys.stdout.write(log.getvalue())


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Stage:
    """The platform with the name in :data:`tests.dialogs.stages.STAGES`."""
    made: Mapping[str, Callable[[], Stage]] = {
        "terminal": TerminalStage,
        "telegram": lambda: TelegramStage(webhook=False),
        "telegram webhook": lambda: TelegramStage(webhook=True),
        "discord": DiscordStage,
    }
    return made[request.param]()


@pytest.fixture
def play(  # noqa: PLR0917  # a fixture is given what it is made of
    stage: Stage, model: MessagesServer, wire: Wire, external_valkey: str, data_dir: Path, tmp_path: Path
) -> Play:
    """Plays a table on a stage; arguments by name are settings of the program."""

    async def play_(
        *steps: Step, admins: Sequence[Person] = (), window: int = 3_000, agents: Mapping[str, Any] = {}, **changes: Any
    ) -> None:
        model.window = window
        people = tmp_path / "people"
        people.mkdir()
        try:
            changes |= await stage.open(people)
            changes["admins"] = ",".join(f"{stage.connector}:{person.number}" for person in admins)
            changes["agents"] = {"compact_ahead": False, **agents}
            settings = settings_for(model, data_dir, wire, redis_url=external_valkey, **changes)
            connectors = stage.connectors(settings)
            async with running(settings, connectors, lease=stage.lease, chat=stage.chat) as resources:
                await stage.admit(resources)
                await Scene(stage, resources, model).play(steps)
        finally:
            await stage.close()

    return play_
