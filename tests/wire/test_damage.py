"""A book that is damaged, a disk that is full: said in a line, and never tried again and again without a pause."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.ports import free_port
from tests.wire.program import Programs

MALFORMED = "database disk image is malformed: stop everything, and put a backup in its place"
SERVES_SECONDS = 4.0


@pytest.fixture
async def damaged(programs: Programs) -> Path:
    """The book of somebody who talked, with nonsense where the gateways' cursors are."""
    await programs.chat("Hello.")
    path = programs.data / "palimpsest.db"
    with closing(sqlite3.connect(path)) as book:
        book.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = book.execute("PRAGMA page_size").fetchone()
        pages = book.execute("SELECT rootpage FROM sqlite_master WHERE tbl_name = 'cursors'").fetchall()
    with path.open("r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * size)
            file.write(b"\x7f" * size)
    return path


async def test_a_gateway_that_cannot_begin_rests_between_its_tries_and_is_not_ready(
    programs: Programs, damaged: Path
) -> None:
    port = free_port()
    program = await programs.start("run", HTTP_BIND=f"127.0.0.1:{port}")
    await program.wait_for(lambda it: it.logged("store_unavailable"), 30)
    await asyncio.sleep(SERVES_SECONDS)
    assert len(program.logged("store_unavailable")) <= 3 * (SERVES_SECONDS + 2), program.describe()
    assert MALFORMED in program.logged("store_unavailable")[0]
    status, said = await _asked(port)
    assert status == 503
    assert said["parts"]["database"] == MALFORMED
    assert await program.stop() == 0


async def test_whoever_sits_before_a_terminal_is_told_instead(programs: Programs, damaged: Path) -> None:
    program = await programs.start("chat")
    await program.says("Are you there?")
    assert await program.ends() == 1
    assert (program.out, program.err) == ([], [f"palimpsest: {MALFORMED}"])


async def test_the_doctor_sees_it(programs: Programs, damaged: Path) -> None:
    program = await programs.start("doctor", "--json")
    assert await program.ends() == 1
    (finding,) = [one for one in json.loads("\n".join(program.out))["findings"] if one["part"] == "database"]
    assert f"{damaged} is damaged: " in finding["sentence"]
    assert "put a backup in its place" in finding["advice"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
async def test_an_answer_that_finds_no_room_is_said_and_comes_the_next_time(programs: Programs) -> None:
    command = f"echo Hello. | {sys.executable} -m bot.app.cli.main chat > /dev/full"
    program = await programs.execute(["sh", "-c", command])
    assert await program.ends() == 1
    assert program.err == ["palimpsest: The answer cannot be written: No space left on device."]
    again = await programs.chat("And now?")
    assert len(again.out) == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
async def test_a_terminal_without_one_of_its_ends_is_refused(programs: Programs, closed: str) -> None:
    program = await programs.execute(["sh", "-c", f"{sys.executable} -m bot.app.cli.main chat {closed}"])
    await program.says("Hello.")
    assert await program.ends() == 1
    assert program.err == ([] if closed == "2>&-" else [CLOSED])
    assert not os.path.lexists(programs.data)


CLOSED = "palimpsest: It talks over standard input, output and error: leave them open."


async def _asked(port: int) -> tuple[int, Mapping[str, Any]]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
        return answer.status, await answer.json()
