"""What people send is opened in processes that can be ended: bounded in time, memory and number, and fair."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop
from PIL import Image
from structlog.testing import capture_logs

from bot.files.parser_pool import (
    BROKEN,
    BUSY,
    TOO_LONG,
    TOO_MUCH_MEMORY,
    Bounds,
    CannotOpen,
    Document,
    FairSlots,
    ParserPool,
    Text,
    understood,
)
from bot.files.pictures import View, view_of
from tests.hostile import hostile_pdf
from tests.until import until

REPOSITORY = Path(__file__).parents[3]
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")


def picture(width: int = 8, height: int = 8, mode: str = "RGB") -> bytes:
    file = io.BytesIO()
    Image.new(mode, (width, height)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def written(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    async with ParserPool(Bounds(cpu_seconds=1)) as pool:
        yield pool


async def ends(pool: ParserPool, path: Path, of: str = "ada") -> str:
    with pytest.raises(CannotOpen) as refused:
        await pool.parse(path, of=of)
    return str(refused.value)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{pid}/stat").exists() or ") Z" not in Path(f"/proc/{pid}/stat").read_text()


async def test_nobody_pays_who_sends_no_files(pool: ParserPool) -> None:
    assert pool.pids == []


async def test_what_a_file_is_stands_in_it_and_not_in_its_name(
    pool: ParserPool, file: Callable[[str, bytes], Path]
) -> None:
    cat = file("cat.txt", picture())
    assert await pool.parse(cat, of="ada") == View(cat, "image/png", 8, 8)
    assert await pool.parse(file("a.png", "钥匙 under the mat".encode()), of="ada", room=2) == Text("钥匙", False, 16)
    [child] = pool.pids
    assert await ends(pool, file("no.pdf", b"%PDF-1.7\nnothing of the kind")) == "it is a broken PDF"
    assert pool.pids == [child], "one that only says no is used again"


async def test_a_file_that_takes_too_long_is_ended_and_the_next_one_is_opened(
    pool: ParserPool, file: Callable[[str, bytes], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as lines:
        assert await ends(pool, file("hostile.pdf", hostile_pdf())) == TOO_LONG
    assert [line["event"] for line in lines] == ["file_not_opened"]
    assert pool.pids == []
    assert "not defined" not in "".join(capfd.readouterr())
    assert isinstance(await pool.parse(file("a.txt", b"hello"), of="ada", room=9), Text)


async def test_the_clock_ends_what_takes_no_processor(file: Callable[[str, bytes], Path]) -> None:
    async with ParserPool(Bounds(seconds=0.3, cpu_seconds=60)) as pool:
        assert await ends(pool, file("hostile.pdf", hostile_pdf())) == TOO_LONG
        assert pool.pids == []


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS holds no process to a limit of memory")
async def test_a_file_that_takes_too_much_memory_is_ended(file: Callable[[str, bytes], Path]) -> None:
    async with ParserPool(Bounds(memory=300_000_000)) as pool:
        assert await ends(pool, file("large.png", picture(6_000, 6_000, "RGBA"))) == TOO_MUCH_MEMORY
        assert pool.pids == []


async def test_the_largest_picture_that_is_taken_fits_the_bounds(file: Callable[[str, bytes], Path]) -> None:
    async with ParserPool(replace(Bounds(), cpu_seconds=60, seconds=120)) as pool:
        assert isinstance(await pool.parse(file("large.png", picture(6_300, 6_300, "RGBA")), of="ada"), View)


async def test_whoever_sends_many_hostile_files_holds_up_nobody_else(file: Callable[[str, bytes], Path]) -> None:
    hostile, plain = file("hostile.pdf", hostile_pdf()), file("a.txt", b"hello")
    async with ParserPool(Bounds(processes=2, seconds=3_600, cpu_seconds=3_600)) as pool:
        flood = [asyncio.create_task(pool.parse(hostile, of="mallory")) for _ in range(6)]
        await until(lambda: bool(pool.pids), lambda: "it never came to that")
        assert await pool.parse(plain, of="ada", room=9) == Text("hello", True, 5)
        assert len(pool.pids) == 2
        for task in flood:
            task.cancel()
        ends = await asyncio.gather(*flood, return_exceptions=True)
        assert [type(end) for end in ends] == [asyncio.CancelledError] * 6


async def test_whoever_waits_too_long_for_a_turn_is_told(file: Callable[[str, bytes], Path]) -> None:
    hostile = file("hostile.pdf", hostile_pdf())
    async with ParserPool(Bounds(processes=1, seconds=3_600, cpu_seconds=3_600, patience=0.2)) as pool:
        first = asyncio.create_task(pool.parse(hostile, of="mallory"))
        await until(lambda: bool(pool.pids), lambda: "it never came to that")
        assert await ends(pool, hostile) == BUSY
        first.cancel()
        await asyncio.wait({first})


async def test_names_take_turns_whoever_asks_most_and_who_gives_up_is_passed_over() -> None:
    slots, order = FairSlots(1), list[str]()

    async def use(name: str) -> None:
        async with slots.slot(name, 60):
            order.append(name)

    async with asyncio.TaskGroup() as tasks:
        async with slots.slot("first", 60):
            waiting = {name: tasks.create_task(use(name)) for name in ("mallory", "gone", "ada")}
            more = [tasks.create_task(use(name)) for name in ("mallory", "mallory", "bob")]
            await asyncio.sleep(0)  # all of them wait
            waiting["gone"].cancel()
        assert more
    assert order == ["mallory", "ada", "bob", "mallory", "mallory"]


async def test_a_turn_that_is_given_to_who_just_gave_up_goes_to_the_next() -> None:
    slots = FairSlots(1)

    async def use(name: str) -> None:
        async with slots.slot(name, 60):
            pass

    async with slots.slot("first", 60):
        gone, next_one = asyncio.create_task(use("gone")), asyncio.create_task(use("next"))
        await asyncio.sleep(0)
    gone.cancel()  # it has the turn, and has not run since
    await asyncio.wait({gone})
    async with asyncio.timeout(5):
        await next_one


async def test_a_child_that_has_nothing_to_do_ends(file: Callable[[str, bytes], Path]) -> None:
    async with ParserPool(Bounds(idle=0.05)) as pool:
        await pool.parse(file("a.txt", b"hello"), of="ada")
        await until(lambda: not pool.pids, lambda: "it never came to that")
        await pool.parse(file("a.txt", b"hello"), of="ada")


async def test_a_child_is_not_used_for_ever(file: Callable[[str, bytes], Path]) -> None:
    async with ParserPool(Bounds(files=2)) as pool:
        seen = set()
        for _ in range(4):
            await pool.parse(file("a.txt", b"hello"), of="ada")
            seen |= set(pool.pids)
        assert len(seen) == 2


async def test_a_child_that_dies_costs_only_the_file(pool: ParserPool, file: Callable[[str, bytes], Path]) -> None:
    await pool.parse(file("a.txt", b"hello"), of="ada")
    os.kill(pool.pids[0], signal.SIGSEGV)
    with suppress(CannotOpen):  # it may be asked before its end is known
        await pool.parse(file("a.txt", b"hello"), of="ada")
    assert isinstance(await pool.parse(file("a.txt", b"hello"), of="ada"), Text)


async def test_a_supervisor_that_tells_all_processes_to_end_ends_no_file(
    pool: ParserPool, file: Callable[[str, bytes], Path]
) -> None:
    await pool.parse(file("a.txt", b"hello"), of="ada")
    [child] = pool.pids
    os.kill(child, signal.SIGTERM)
    os.kill(child, signal.SIGINT)
    await pool.parse(file("a.txt", b"hello"), of="ada")
    assert pool.pids == [child]


def test_it_works_in_the_loop_that_the_program_runs_in(file: Callable[[str, bytes], Path]) -> None:
    async def opened() -> object:
        async with ParserPool(Bounds(cpu_seconds=1)) as pool:
            assert await ends(pool, file("hostile.pdf", hostile_pdf())) == TOO_LONG
            return await pool.parse(file("cat.png", picture()), of="ada")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert isinstance(runner.run(opened()), View)


@needs_proc
async def test_a_child_holds_nothing_of_ours(
    pool: ParserPool, file: Callable[[str, bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ours")
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)  # its only argument
    await pool.parse(file("a.txt", b"hello"), of="ada")
    place = Path(f"/proc/{pool.pids[0]}")
    names = {line.partition(b"=")[0] for line in (place / "environ").read_bytes().split(b"\0") if line}
    assert names <= {b"LD_LIBRARY_PATH", b"MALLOC_ARENA_MAX", b"LC_CTYPE"}
    kinds = [str(one.readlink()) for one in (place / "fd").iterdir()]
    assert all(kind.startswith("pipe:") or kind == "/dev/null" for kind in kinds)
    assert str(Path(f"/proc/self/fd/{theirs}").readlink()) not in kinds
    os.close(ours)
    os.close(theirs)


def test_a_child_imports_little_of_this_program() -> None:
    code = "import sys; from bot.files import parser_process; print(*sys.modules)"
    asked = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    names = asked.stdout.split()
    own = {name for name in names if name.partition(".")[0] == "bot"}
    assert own == {
        "bot",
        "bot.estimate",
        "bot.estimate.cuts",
        "bot.files",
        "bot.files.parser_process",
        "bot.files.pictures",
    }
    assert not {"asyncio", "pydantic", "sqlalchemy", "structlog", "PIL", "pypdf"} & set(names)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from bot.files.parser_pool import Bounds, ParserPool
async def main():
    async with ParserPool(Bounds(seconds=3600, cpu_seconds=3600)) as pool:
        work = asyncio.create_task(pool.parse(Path(sys.argv[1]), of="ada"))
        while not pool.pids:
            await asyncio.sleep(0.01)
        print(pool.pids[0], flush=True)
        await work
asyncio.run(main())
"""


async def test_a_child_dies_with_the_program_in_the_middle_of_a_file(file: Callable[[str, bytes], Path]) -> None:
    hostile = file("hostile.pdf", hostile_pdf())
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(hostile)], cwd=REPOSITORY, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout
        child = int(await asyncio.to_thread(program.stdout.readline))
        assert lives(child)
        program.kill()
    await until(lambda: not lives(child), lambda: "it never came to that")


def test_a_picture_that_is_postscript_starts_no_other_program(
    file: Callable[[str, bytes], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ghostscript = file("gs", f"#!/bin/sh\ntouch {tmp_path / 'started'}\n".encode())
    ghostscript.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n0 0 9 9 rectfill\n%%EOF\n"
    with pytest.raises(ValueError, match="no picture"):
        view_of(file("photo.jpg", eps))
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    "answer",
    [
        {"picture": {"path": "/etc/passwd", "media_type": "image/png", "width": 1, "height": 1}},
        {"picture": {"path": "a", "media_type": "text/html", "width": 1, "height": 1}},
        {"document": {"pages": "many"}},
        {"text": {}},
        {},
    ],
)
def test_what_a_child_cannot_mean_is_not_believed(answer: dict[str, object]) -> None:
    assert understood(answer, Path("a")) == BROKEN


def test_what_a_child_says_is_taken_for_what_it_is() -> None:
    assert understood({"document": {"pages": 3}}, Path("a")) == Document(3)
