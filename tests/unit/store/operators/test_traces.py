"""What operators ask of all compactions, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.compaction.trace import in_full
from bot.history import Usage
from bot.runtime.utc_day import bounds_of
from bot.store import Database
from bot.store.operators import traces
from bot.store.operators.traces import Day, Ran, Wanted
from bot.store.runs import RunState
from tests.wire.command_line import ADA, BOB, NOON, ran, undone


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    opened = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


async def listed(database: Database, **wanted: Any) -> list[Ran]:
    async with database.read() as tx:
        return await traces.listed(tx, Wanted(**wanted))


async def test_compactions_are_listed_in_brief_and_narrowed(database: Database) -> None:
    await ran(database, "aa11", ADA, at=NOON, inference="100 kB " * 15_000)
    await ran(database, "aa22", BOB, at=NOON + 10, state=RunState.ABORTED, trigger="manual", focus="50%_names")
    await undone(database, "aa11")
    newest, oldest = await listed(database)
    assert (oldest.id, oldest.agent_id, oldest.undone, oldest.state) == ("aa11", ADA.agent_id, True, RunState.DONE)
    assert oldest.usage == Usage(input=1_000, output=100)
    assert (newest.usage, newest.after, newest.focus, newest.is_open) == (None, None, "50%_names", False)
    for wanted, ids in (
        ({"agents": (ADA.agent_id,)}, ["aa11"]),
        ({"agents": ()}, []),
        ({"ids": ("aa22",)}, ["aa22"]),
        ({"since": NOON + 10}, ["aa22"]),
        ({"until": NOON + 10}, ["aa11"]),
        ({"states": (RunState.DONE, RunState.FAILED)}, ["aa11"]),
        ({"triggers": ("manual", "ahead")}, ["aa22"]),
    ):
        assert [one.id for one in await listed(database, **wanted)] == ids, wanted


async def test_a_compaction_is_called_by_the_beginning_of_its_id(database: Database) -> None:
    await ran(database, "aa11")
    await ran(database, "aa22", BOB)
    async with database.read() as tx:
        assert await traces.called(tx, "aa1") == ["aa11"]
        assert len(await traces.called(tx, "aa")) == 2
        assert await traces.called(tx, "%") == await traces.called(tx, "a_11") == []


async def test_days_and_their_sections_come_in_order(database: Database) -> None:
    midnight = bounds_of("20261122")[0]
    for number, at in enumerate((midnight - 0.5, midnight, midnight + 1)):
        await ran(database, f"run{number}", ADA, at=at)
    await ran(database, "other", BOB, at=midnight)
    await ran(database, "open", BOB, at=midnight + 86_400, state=RunState.RUNNING)
    async with database.read() as tx:
        days = await traces.days(tx)
        assert days == [Day(ADA.agent_id, "20261121"), Day(ADA.agent_id, "20261122"), Day(BOB.agent_id, "20261122")]
        sections = await traces.sections(tx, days[1])
        assert await traces.file_of(tx, days[1]) == "".join(map(in_full, sections))
    assert [["- **run**: run1" in section, "- **run**: run2" in section] for section in sections] == [
        [True, False], [False, True],
    ]  # fmt: skip
