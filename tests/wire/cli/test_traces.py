"""`palimpsest traces`: what an operator finds out about compactions without a look into the files."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from bot.agent.compacting.daily_file import pack, packed_path
from bot.messages import Address
from bot.store import Database
from bot.store.runs import RunState
from tests.wire.command_line import ADA, BOB, NOON, CommandLine, ran, undone
from tests.wire.program import PATIENCE, Programs

A_DAY = 86_400.0


@pytest.fixture
async def palimpsest(tmp_path: Path) -> AsyncIterator[CommandLine]:
    """Four compactions of two conversations on two days."""
    database = Database.in_folder(tmp_path / "data")
    await database.open()
    await ran(database, "aaaa1111", ADA, at=NOON - A_DAY, inference="it was asked")
    await ran(database, "aaaa2222", ADA, at=NOON, trigger="ahead", turn_id=None)
    await ran(database, "bbbb3333", BOB, at=NOON + 60, state=RunState.EMPTY, trigger="manual", focus="names")
    await ran(database, "bbbb4444", BOB, at=NOON + 120, state=RunState.RUNNING)
    await undone(database, "aaaa1111")
    environment = {"DATA_DIR": str(tmp_path / "data"), "RETENTION__TRACE_FILES_DAYS": "0"}  # these days get older
    yield CommandLine(tmp_path / "data", database, environment)
    await database.close()


async def runs_of(palimpsest: CommandLine, *options: str) -> list[str]:
    return [run["run"] for run in (await palimpsest("traces", "list", "--json", *options)).json]


async def test_the_list_names_the_newest_first_and_no_line_holds_what_a_terminal_obeys(
    palimpsest: CommandLine,
) -> None:
    listed = await palimpsest("traces", "list")
    assert [line.split()[1] for line in listed.lines] == ["run", "bbbb4444", "bbbb3333", "aaaa2222", "aaaa1111"]
    assert "\x1b" not in listed.out
    assert "2026-11-21T12:00:00Z" in listed.lines[3]
    assert "done, undone" in listed.lines[4]


NARROWED: list[tuple[str, list[str]]] = [
    ("--agent telegram-1001", ["aaaa2222", "aaaa1111"]),
    ("--day 20261120", ["aaaa1111"]),
    ("--since 2026-11-21", ["bbbb4444", "bbbb3333", "aaaa2222"]),
    ("--since 20261120 --until 2026-11-21T12:00:30", ["aaaa2222", "aaaa1111"]),
    ("--outcome empty --outcome running", ["bbbb4444", "bbbb3333"]),
    ("--trigger manual", ["bbbb3333"]),
    ("--most 1", ["bbbb4444"]),
    ("--day 19700101", []),
]


async def test_the_list_can_be_narrowed(palimpsest: CommandLine) -> None:
    assert [(options, await runs_of(palimpsest, *options.split())) for options, _ in NARROWED] == NARROWED


async def test_what_is_not_there_or_not_meant_so_is_said_in_one_line(palimpsest: CommandLine) -> None:
    wrong = (
        "list --day someday", "list --since soon", "list --outcome great", "list --day today --since today",
        "stats --by moon",
    )  # fmt: skip
    nothing = ("list --agent nobody", "show cccc", "show aaaa", "show telegram-1001 20200101", "show bbbb4444")
    for code, words in [*((2, one) for one in wrong), *((1, one) for one in nothing)]:
        answer = await palimpsest("traces", *words.split())
        assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1), words
        assert answer.err.startswith("palimpsest: ")


async def test_one_compaction_is_shown_by_the_beginning_of_its_id_and_a_day_by_its_agent(
    palimpsest: CommandLine,
) -> None:
    one = await palimpsest("traces", "show", "aaaa1")
    assert one.lines[0] == "## 2026-11-20 12:00:00 UTC auto done"
    assert "summary of aaaa1111" in one.out
    day = await palimpsest("traces", "show", "telegram-1001", "2026-11-20")
    assert day.out == one.out
    newest = await palimpsest("traces", "show", "telegram-1001", "--json")
    assert (newest.json["day"], [run["run"] for run in newest.json["runs"]]) == ("20261121", ["aaaa2222"])
    details = (await palimpsest("traces", "show", "aaaa1", "--json")).json
    assert (details["summary"], details["inference"][0]["reply"], details["undone"]) == (
        "summary of aaaa1111", "it was asked", True,
    )  # fmt: skip


async def test_a_long_trace_in_a_terminal_is_paged_so_that_its_colours_are_colours(palimpsest: CommandLine) -> None:
    master, terminal = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "LESS"}
    environment |= {**palimpsest.environment, "TERM": "xterm", "LINES": "5", "PAGER": 'echo "LESS=$LESS"; cat'}
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot.app.cli.main",
        "traces",
        "show",
        "aaaa1",
        stdin=terminal,
        stdout=terminal,
        env=environment,
    )
    os.close(terminal)
    with os.fdopen(master, "rb") as screen:
        async with asyncio.timeout(PATIENCE):
            first = await asyncio.to_thread(screen.readline)
            await asyncio.to_thread(_to_the_end, screen)
            assert await program.wait() == 0
    assert first.strip() == b"LESS=-R"


def _to_the_end(screen: IO[bytes]) -> None:
    with suppress(OSError):  # how Linux says that nobody has the terminal open any more
        while screen.read(1_000):
            pass


async def test_the_statistics_say_what_people_waited_for_and_what_it_cost(palimpsest: CommandLine) -> None:
    found = (await palimpsest("traces", "stats", "--by", "trigger", "--by", "day", "--json")).json
    whole = found["total"]
    assert (whole["runs"], whole["outcomes"]) == (4, {"done": 2, "empty": 1, "planned": 1})
    assert whole["tokens"] == {"before": 1_800, "after": 200, "freed": 1_600}
    assert whole["messages"] == {"before": 18, "removed": 12, "reductionPercent": 66.7}
    assert whole["pauses"] == {"count": 1, "seconds": 2.5, "longest": 2.5}, "nobody waits for what is made ahead"
    assert whole["seconds"] == {"p50": 2.5, "p95": 2.5}
    assert whole["cost"] == {"dollars": 0.018, "of": 4, "input": 4_000, "output": 400}
    assert whole["undone"] == 1
    assert {name: one["runs"] for name, one in found["by"]["trigger"].items()} == {"ahead": 1, "auto": 2, "manual": 1}
    assert {name: one["runs"] for name, one in found["by"]["day"].items()} == {"20261120": 1, "20261121": 3}
    assert (await palimpsest("traces", "stats", "--since", "2026-11-22")).lines[1].split()[:3] == ["all", "0", "none"]
    table = (await palimpsest("traces", "stats", "--by", "strategy")).lines
    assert "p95" in table[0]
    assert "12 of 18 messages (66.7%)" in table[1]


async def test_files_that_are_missing_or_differ_are_written_anew_and_others_are_left_alone(
    palimpsest: CommandLine,
) -> None:
    checked = await palimpsest("traces", "rebuild", "--check")
    assert (checked.code, len(checked.lines)) == (1, 3)
    assert not palimpsest.file(ADA, "20261120").exists()
    rebuilt = await palimpsest("traces", "rebuild", "--json")
    assert [(one["agent"], one["day"], one["state"], one["written"]) for one in rebuilt.json] == [
        ("telegram-1001", "20261120", "missing", True),
        ("telegram-1001", "20261121", "missing", True),
        ("telegram-1002", "20261121", "missing", True),
    ]
    whole = (await palimpsest("traces", "show", "telegram-1001", "20261120")).out
    assert palimpsest.file(ADA, "20261120").read_text().rstrip("\n") == whole.rstrip("\n")
    palimpsest.file(ADA, "20261120").write_text("scribbled over")
    palimpsest.file(ADA, "20200101").write_text("of a database that is gone")
    only = await palimpsest("traces", "rebuild", "--agent", "telegram-1001")
    assert [line.split("  ")[1] for line in only.lines] == ["left over", "differs, written"]
    assert "summary of aaaa1111" in palimpsest.file(ADA, "20261120").read_text()
    assert palimpsest.file(ADA, "20200101").exists(), "what the database does not know is not removed"
    palimpsest.file(ADA, "20200101").unlink()
    assert (await palimpsest("traces", "rebuild", "--check")).code == 0


async def test_a_day_that_was_compressed_is_compared_and_shown_like_any_other(palimpsest: CommandLine) -> None:
    await palimpsest("traces", "rebuild")
    file = palimpsest.file(ADA, "20261120")
    shown = (await palimpsest("traces", "show", str(file))).out
    assert "summary of aaaa1111" in shown
    pack(file)
    assert not file.exists()
    assert (await palimpsest("traces", "rebuild", "--check")).code == 0
    for name in (file, packed_path(file)):
        assert (await palimpsest("traces", "show", str(name))).out == shown
    packed_path(file).unlink()
    gone = await palimpsest("traces", "show", str(file))
    assert (gone.code, gone.err.count("\n")) == (1, 1)
    file.write_text("## x\n\n```\nwithout an end")
    broken = await palimpsest("traces", "show", str(file))
    assert (broken.code, "was changed since it was written" in broken.err) == (1, True)


async def test_tail_shows_the_last_that_ended_and_with_f_each_that_ends(
    palimpsest: CommandLine, programs: Programs
) -> None:
    last = await palimpsest("traces", "tail", "-n", "2", "--json")
    assert [run["run"] for run in last.json] == ["aaaa2222", "bbbb3333"]
    follows = await programs.start("traces", "tail", "-f", "-n", "1", "--json", DATA_DIR=str(palimpsest.data))
    await follows.wait_for(lambda program: len(program.out) == 1, PATIENCE)
    await ran(palimpsest.database, "cccc5555", Address("telegram", "1003"), at=NOON + 200)
    await ran(palimpsest.database, "cccc6666", ADA, at=NOON + 90, state=RunState.FAILED)
    await follows.wait_for(lambda program: len(program.out) == 3, PATIENCE)
    assert {json.loads(line)["run"] for line in follows.out[1:]} == {"cccc5555", "cccc6666"}
    follows.tell(signal.SIGINT)
    async with asyncio.timeout(PATIENCE):
        assert await follows.process.wait() == 130
