from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest

from bot.errors import DeliveryDelayed, StoreUnavailable
from bot.messages import Address, Attachment, Edit, Inbound, Say, Status, Typing
from connectors.memory import MemoryIntake
from connectors.terminal.pipe import SEVERAL, Pipe, lines_of, write_answer
from tests.until import until

HERE = Address("terminal", "me")


async def typed(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def never() -> AsyncIterator[str]:
    await asyncio.Event().wait()
    yield ""


class Piped:
    """A pipe, what came out of it, and an intake that answers each message by its text in capitals."""

    def __init__(self, *lines: str, source: AsyncIterator[str] | None = None) -> None:
        self.out, self.err = StringIO(), StringIO()
        self.pipe = Pipe(HERE, lines=source or typed(*lines), out=self.out, err=self.err, retry_every=0)
        self.intake = MemoryIntake(answer=self.answer)

    async def answer(self, inbound: Inbound) -> None:
        await self.pipe.deliver(Say(HERE, inbound.text.upper(), inbound.key))

    async def run(self) -> None:
        async with asyncio.timeout(5):
            await self.pipe.run(self.intake)


async def test_each_line_is_asked_when_the_one_before_is_answered() -> None:
    piped = Piped("one", "", "  ", "two\n")
    await piped.run()
    assert piped.intake.texts == ["one", "two"]
    assert piped.out.getvalue() == "ONE\nTWO\n"
    first, second = piped.intake.inbounds
    assert first.key != second.key
    assert first.order < second.order


async def test_a_bare_carriage_return_is_a_line_break_within_a_message() -> None:
    piped = Piped("one\rtwo")
    await piped.run()
    assert piped.intake.texts == ["one\ntwo"]


@pytest.mark.parametrize("lines", [(), ("", "  "), ("/quit",)])
async def test_an_input_without_a_message_still_sees_through_what_was_left_open(lines: tuple[str, ...]) -> None:
    piped = Piped(*lines)
    await piped.run()
    assert piped.intake.settled_for == 1
    assert piped.intake.texts == []


@pytest.mark.parametrize("leaving", ["/quit", "/exit"])
async def test_a_line_can_end_it(leaving: str) -> None:
    piped = Piped("one", leaving, "two")
    await piped.run()
    assert piped.intake.texts == ["one"]


async def test_only_whole_replies_come_out_and_each_once() -> None:
    piped = Piped()
    for outbound in (
        Typing(HERE),
        Status(HERE, {"total": 1}),
        Say(HERE, "All", "t", partial=True),
        Edit(HERE, ("t",), "All of", "t", partial=True),
        Edit(HERE, ("t",), "All of it.\n\tReally.", "t"),
        Edit(HERE, ("t",), "All of it.\n\tReally.", "t"),
        Say(HERE, "All of it.\n\tReally.", "t"),
    ):
        await piped.pipe.deliver(outbound)
    assert piped.out.getvalue() == "All of it.\n\tReally.\n"
    assert piped.err.getvalue() == ""


async def test_what_the_program_says_goes_to_the_other_stream_whenever_it_changes() -> None:
    piped = Piped()
    await piped.pipe.deliver(Say(HERE, "Compacting…", "s", notice=True))
    await piped.pipe.deliver(Edit(HERE, ("s",), "Compacting…", "s2", notice=True))
    await piped.pipe.deliver(Edit(HERE, ("s",), "Compacted.", "s3", notice=True))
    assert piped.err.getvalue() == "Compacting…\nCompacted.\n"
    assert piped.out.getvalue() == ""


async def test_an_edit_of_a_message_from_before_a_restart_is_printed_whole() -> None:
    piped = Piped()
    assert await piped.pipe.deliver(Edit(HERE, ("old",), "All of it.", "new")) == ("old",)
    assert piped.out.getvalue() == "All of it.\n"


async def test_escape_sequences_of_a_model_do_not_come_out() -> None:
    piped = Piped()
    await piped.pipe.deliver(Say(HERE, "\x1b[31mred\x1b]0;title\x07", "t"))
    assert piped.out.getvalue() == "red\n"


async def test_text_that_the_output_cannot_encode_is_replaced(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w+", encoding="ascii") as out:
        await Pipe(HERE, out=out, err=StringIO()).deliver(Say(HERE, "2 → 1", "t"))
        out.seek(0)
        assert out.read() == "2 ? 1\n"


async def test_a_line_is_stored_when_the_store_is_back() -> None:
    piped = Piped("one")
    piped.intake.refusals = 3
    await piped.run()
    assert piped.out.getvalue() == "ONE\n"


async def test_a_store_that_stays_away_ends_it_with_its_error() -> None:
    piped = Piped("one")
    piped.intake.refusals = 100
    with pytest.raises(StoreUnavailable):
        await piped.run()


async def test_it_ends_quietly_when_nobody_reads_its_output() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        pipe = Pipe(HERE, lines=never(), out=out, err=StringIO())
        running = asyncio.create_task(pipe.run(MemoryIntake()))
        with pytest.raises(DeliveryDelayed):
            await pipe.deliver(Say(HERE, "for nobody", "t"))
        async with asyncio.timeout(5):
            await running


async def test_a_message_of_another_conversation_waits() -> None:
    piped = Piped()
    with pytest.raises(DeliveryDelayed):
        await piped.pipe.deliver(Say(Address("terminal", "work"), "secret", "t"))
    assert await piped.pipe.find(Say(HERE, "x", "t"), None, frozenset()) is None


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_it_stops_while_it_waits_for_a_line(how: str) -> None:
    piped = Piped(source=never())
    running = asyncio.create_task(piped.run())
    if how == "closed":
        await piped.pipe.close()
        await running
    else:
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_lines_are_read_whatever_their_bytes_and_however_long() -> None:
    reading, writing = os.pipe()
    long = b"x" * 1_000_000
    data = b"\xef\xbb\xbffirst\r\n\xff\xfe!\n" + long + b"\n\nlast"
    with os.fdopen(reading, "rb", buffering=0) as end:
        feeding = asyncio.create_task(asyncio.to_thread(_feed, writing, data))
        lines = [line async for line in lines_of(end.fileno())]
        await feeding
    assert lines == ["first", "\ufffd\ufffd!", long.decode(), "", "last"]


def _feed(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as end:
        end.write(data)


PROGRAM = """
import asyncio, sys
from bot.messages import Address, Say
from connectors.terminal.pipe import Pipe
from connectors.memory import MemoryIntake

async def answer(inbound):
    await pipe.deliver(Say(inbound.address, inbound.text.upper() * 10000, inbound.key))

pipe = Pipe(Address("terminal", "me"), out=sys.stdout, err=sys.stderr)
async def main():
    running = asyncio.create_task(pipe.run(MemoryIntake(answer=answer)))
    if "impatient" in sys.argv:
        await asyncio.sleep(0)
        print("reading", flush=True)
        running.cancel()
    await asyncio.wait([running])

asyncio.run(main())
"""


def started(*arguments: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe)


async def test_a_process_ends_although_its_input_stays_open() -> None:
    with started("impatient") as process:
        await until(lambda: process.poll() is not None, seconds=60)
        assert process.returncode == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


async def test_a_process_whose_reader_left_ends_without_a_word() -> None:
    with started() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        await until(lambda: process.poll() is not None, seconds=60)
        assert process.stderr.read() == b""
        assert process.returncode == 0


async def test_a_process_answers_its_standard_input_line_by_line() -> None:
    with started() as process:
        answer, errors = await asyncio.to_thread(process.communicate, b"a\n\nb")
    assert answer.split() == [b"A" * 10000, b"B" * 10000]
    assert errors.decode() == f"{SEVERAL}\n", "said once"


async def test_one_line_or_one_at_a_time_says_nothing_of_lines() -> None:
    with started() as process:
        answer, errors = await asyncio.to_thread(process.communicate, b"a\n\n")
    assert answer.split() == [b"A" * 10000]
    assert errors == b""


async def test_files_go_with_the_first_message_also_without_a_word() -> None:
    files = (Attachment("/tmp/a", "a"),)
    piped = Piped()
    piped.pipe = Pipe(HERE, says=["", "two"], files=files, out=piped.out, err=piped.err)
    await piped.run()
    assert [(one.text, one.attachments) for one in piped.intake.inbounds] == [("", files), ("two", ())]


@pytest.mark.parametrize("begins", [False, True])
async def test_what_is_waited_for_is_said_on_standard_error_while_nothing_of_an_answer_comes(begins: bool) -> None:
    out, err, may_answer = StringIO(), StringIO(), asyncio.Event()
    pipe = Pipe(HERE, says=["one"], out=out, err=err, waiting="Waiting.", tell_after=0)

    async def answer(inbound: Inbound) -> None:
        if begins:
            await pipe.deliver(Say(HERE, "Well", inbound.key, partial=True))
        for text in ("\n\n⏳ It is overloaded.", "\n\n⏳ It is overloaded.", "\n\n⏳ It does not answer."):
            await may_answer.wait()
            await pipe.deliver(Edit(HERE, (inbound.key,), f"Well{text}", inbound.key, partial=True))
        await pipe.deliver(Edit(HERE, (inbound.key,), "Well.", inbound.key))

    asking = asyncio.create_task(pipe.run(MemoryIntake(answer=answer)))
    if not begins:
        await until(lambda: err.getvalue() == "Waiting.\n", seconds=60)
    may_answer.set()
    async with asyncio.timeout(60):
        await asking
    told = "⏳ It is overloaded.\n⏳ It does not answer.\n"
    assert err.getvalue() == (told if begins else f"Waiting.\n{told}")
    assert out.getvalue() == "Well.\n"


@pytest.mark.parametrize(
    ("surroundings", "shown"),
    [({}, b"It has \x1b[1mtwo\x1b[0m words.\r\n"), ({"NO_COLOR": "1"}, b"It has two words.\r\n")],
    ids=["in colours", "without"],
)
def test_an_answer_is_set_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, surroundings: dict[str, str], shown: bytes
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    ours, theirs = os.openpty()
    written = b""
    with os.fdopen(theirs, "w") as terminal:
        write_answer(terminal, "It has **two** words.")
        while not written.endswith(b"\n"):
            written += os.read(ours, 100)
    os.close(ours)
    assert written == shown


def test_an_answer_is_raw_elsewhere() -> None:
    out = StringIO()
    write_answer(out, "It has **two** words.")
    assert out.getvalue() == "It has **two** words.\n"
