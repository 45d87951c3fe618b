"""Daily files are written anew while agents append to them, and no section is lost or doubled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.agent.compacting import daily_file, trace_files
from bot.messages import Address
from bot.store import Database
from bot.store.operators.traces import Day
from tests.unit.one_run import STARTED, a_run
from tests.wire.command_line import ADA, ran

DAY = Day(ADA.agent_id, "20231114")
MANY = 40
"""More than there are threads for all."""


async def test_a_section_that_comes_while_a_file_is_written_anew_stands_there_once(
    database: Database, tmp_path: Path
) -> None:
    path = trace_files.path_of(tmp_path, DAY)
    for number in range(MANY):
        await ran(database, f"run{number}", at=STARTED + number)
    runs = [a_run(id=f"run{number}", started_at=STARTED + number) for number in range(MANY)]
    sections = [("## section", "", f"- **run**: {run.id}", "") for run in runs]
    path.parent.mkdir(parents=True)
    path.write_text("scribbled over")
    pairs = zip(runs, sections, strict=True)
    appending = [asyncio.to_thread(daily_file.write, path.parent, run, section) for run, section in pairs]
    await asyncio.gather(*appending, *(trace_files.rebuild(database, tmp_path, DAY) for _ in range(MANY)))
    text = path.read_text()
    assert [text.count(f"- **run**: run{number}\n") for number in range(MANY)] == [1] * MANY
    assert "scribbled" not in text
    assert [item.name for item in path.parent.iterdir()] == [path.name]


async def test_a_day_of_which_the_book_has_nothing_has_no_file(database: Database, tmp_path: Path) -> None:
    path = trace_files.path_of(tmp_path, DAY)
    assert not await trace_files.rebuild(database, tmp_path, DAY)
    assert not path.exists()
    assert trace_files.put(path, "something")
    assert await trace_files.rebuild(database, tmp_path, DAY)
    assert not path.exists()


async def test_what_lies_there_in_place_of_a_file_is_not_followed(database: Database, tmp_path: Path) -> None:
    path, outside = trace_files.path_of(tmp_path, DAY), tmp_path / "outside"
    path.parent.mkdir(parents=True)
    outside.write_text("mine")
    path.symlink_to(outside)
    await ran(database, "run1", Address("telegram", "1001"), at=STARTED)
    with pytest.raises(OSError, match="symbolic links"):
        await trace_files.rebuild(database, tmp_path, DAY)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("left", ["what others said\n", ""])
def test_what_is_taken_out_of_a_day_is_in_its_compressed_file_no_more(tmp_path: Path, left: str) -> None:
    path = trace_files.path_of(tmp_path, DAY)
    trace_files.put(path, "what others said\nwhat Ada said\n")
    daily_file.pack(path)
    assert trace_files.put(path, left)
    assert [item.name for item in path.parent.iterdir()] == ([path.name] if left else [])
    assert daily_file.read(path) == (left or None)
