"""A person at a terminal: the real program on a pseudo-terminal, by its keys and by what it writes there."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import sqlite3
import struct
import sys
import termios
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
from typing_extensions import override

from connectors.terminal.typeset import clean
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply
from tests.servers.watched import Watched
from tests.until import until
from tests.wire.program import KEY, PATIENCE, Programs

CTRL_C, CTRL_D, CTRL_R, ENTER = "\x03", "\x04", "\x12", "\r"
EDIT = "\x18\x05"
"""Ctrl-X Ctrl-E."""
COLUMNS, ROWS = 50, 30
HAIKU = "An old silent pond\nA frog jumps into the pond\nSplash! Silence again."


class Desk(Watched):
    """One end of a pseudo-terminal; at the other one sits the program."""

    def __init__(self) -> None:
        super().__init__()
        self._ours, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._written = b""
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    @property
    def text(self) -> str:
        """All that was ever written there, without what moves the cursor and colours."""
        return clean(self._written.decode("utf-8", "replace"))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until this was written so often."""
        await self.wait_for(lambda desk: desk.text.count(text) >= times, PATIENCE)

    def close(self) -> None:
        """Let go of both ends."""
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        os.close(self.theirs)

    @override
    def describe(self) -> str:
        """For a wait that was in vain."""
        return self.text

    def _read(self) -> None:
        with suppress(OSError):  # how Linux says that nobody has the other end open any more
            self._written += os.read(self._ours, 65_536)
        self.changed()


def brain(request: MessagesRequest) -> Reply:
    """A poem for who asks for one, and else something long."""
    return Reply(HAIKU if "haiku" in request.last_user_text else "word " * 200)


@pytest.fixture
async def model() -> AsyncIterator[MessagesServer]:
    async with MessagesServer(key=KEY, brain=brain) as server:
        yield server


@pytest.fixture
async def programs(tmp_path: Path, model: MessagesServer) -> AsyncIterator[Programs]:
    started = Programs(tmp_path, model)
    yield started
    await started.close()


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def _was_asked(times: int) -> Callable[[MessagesServer], bool]:
    return lambda server: len(server.requests) >= times


def _was_hung_up(times: int) -> Callable[[MessagesServer], bool]:
    return lambda server: server.hangups >= times


def _stored(programs: Programs) -> int:
    """How many messages are in the book, answered or not."""
    return _counted(programs, "SELECT count(*) FROM inbox")


def _replies(programs: Programs) -> int:
    return _counted(programs, "SELECT count(*) FROM entries WHERE kind = 'reply'")


def _reminders(programs: Programs) -> int:
    return _counted(programs, "SELECT count(*) FROM appointments")


def _counted(programs: Programs, query: str) -> int:
    with closing(sqlite3.connect(f"file:{programs.data / 'palimpsest.db'}?mode=ro", uri=True)) as book:
        return int(book.execute(query).fetchone()[0])


def _own_terminal() -> None:
    """While the program prints, the terminal itself makes a signal of Ctrl-C, for those whose terminal it is."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@asynccontextmanager
async def sitting_at(
    desk: Desk, programs: Programs, *, killed: bool = False, **environment: str
) -> AsyncIterator[Process]:
    """`palimpsest chat` at this terminal; it has left by itself at the end of the block, or was ``killed``."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.app.cli.main", "chat", stdin=desk.theirs, stdout=desk.theirs, stderr=desk.theirs,
        cwd=programs.folder, env={**programs._environment(), "TERM": "xterm", **environment}, start_new_session=True,
        preexec_fn=_own_terminal,
    )  # fmt: skip
    try:
        yield program
        async with asyncio.timeout(PATIENCE):
            assert await program.wait() == (-signal.SIGKILL if killed else 0)
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def killed_while_it_answers(programs: Programs, model: MessagesServer, desk: Desk) -> None:
    """A question was asked, and nothing of its answer came."""
    model.hang(None)
    async with sitting_at(desk, programs, killed=True) as program:
        await desk.shows("stops an answer")
        desk.type("A haiku about a pond, please." + ENTER)
        await model.wait_for(_was_asked(1), PATIENCE)
        program.kill()
    model.release()


class Killed(Exception):
    """The program was."""


async def test_a_person_reads_poems_searches_stops_two_answers_and_leaves(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    async with sitting_at(desk, programs) as program:
        await desk.shows("/help lists commands, @ attaches a file, Ctrl-C\nstops an answer")
        desk.type("A haiku about a pond, please." + ENTER)
        await desk.shows(HAIKU)

        model.delta_delay, model.pieces = 0.05, 100
        for count in (1, 2):
            desk.type(f"Something long, number {count}." + ENTER)
            await model.wait_for(_was_asked(count + 1), PATIENCE)
            desk.type(CTRL_C)
            await model.wait_for(_was_hung_up(count), PATIENCE)
            await desk.shows("(stopped)", times=count)
        assert program.returncode is None

        desk.type(CTRL_R + "haik")
        await desk.shows("> A haiku about a pond, please.", times=2)
        desk.type(CTRL_C)
        desk.type(CTRL_D)


async def test_what_was_entered_before_the_program_was_ready_is_answered_after_a_kill(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    async with sitting_at(desk, programs, killed=True) as program:
        await desk.shows("stops an answer")
        desk.type("A haiku about a pond, please." + ENTER)
        await desk.shows("> A haiku about a pond, please.")
        program.kill()
    async with sitting_at(desk, programs):
        await desk.shows(HAIKU)
        desk.type(CTRL_D)
    assert len({record.request.last_user_text for record in model.requests}) == 1
    assert not list(programs.data.glob("agents/*/.unsent"))


async def test_an_answer_that_was_written_elsewhere_meanwhile_is_shown_once(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    await killed_while_it_answers(programs, model, desk)

    async def when_the_other_is_written(request: MessagesRequest) -> Reply:
        if "elsewhere" in request.last_user_text:
            await until(lambda: _replies(programs) == 1, lambda: "", seconds=PATIENCE)
        return brain(request)

    model.brain = when_the_other_is_written
    once = await programs.start("chat", "-p", "And another one, elsewhere.")
    await once.ends()
    async with sitting_at(desk, programs):
        await desk.shows(HAIKU)
        await desk.shows("Going on with terminal-me")
        desk.type("Thank you." + ENTER)
        await model.wait_for(lambda it: "Thank you." in it.requests[-1].request.last_user_text, PATIENCE)
        desk.type(CTRL_D)
    shown = desk.text.split("Going on with terminal-me")[1].split("> Thank you.")[0]
    assert shown.count("An old silent pond") == 1


async def test_whoever_leaves_is_told_what_becomes_of_reminders(
    programs: Programs, desk: Desk, model: MessagesServer
) -> None:
    async with sitting_at(desk, programs):
        await desk.shows("stops an answer")
        desk.type("/remind in 3 hours call Ana" + ENTER)
        await desk.shows("Cancel")
        assert _reminders(programs) == 1
        desk.type(CTRL_D)
    await desk.shows("1 reminder is set: it comes while this")  # the screen's edge
    await desk.shows("conversation is open here.")
    assert not model.requests


async def test_messages_that_wait_for_an_answer_get_one_together_and_that_is_said_and_counted(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    may_go = asyncio.Event()

    async def holds_back(_: MessagesRequest) -> Reply:
        await may_go.wait()
        return Reply("Done.")

    model.brain = holds_back
    async with sitting_at(desk, programs):
        desk.type("First." + ENTER)
        await model.wait_for(_was_asked(1), PATIENCE)
        desk.type("Second." + ENTER + "Third." + ENTER)
        await until(lambda: _stored(programs) == 3, desk.describe, seconds=PATIENCE)
        may_go.set()
        await desk.shows("(One answer to your 2 messages.)")
        desk.type(CTRL_D)
    await desk.shows("This session: 2 answers to 3 messages · ")


async def test_a_person_comes_back_reads_where_it_stood_writes_in_an_editor_and_reads_what_it_took(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    editor = programs.folder / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s\\nas a haiku" "$(cat "$1")" > "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(0o700)
    async with sitting_at(desk, programs):
        desk.type("A haiku about a pond, please." + ENTER)
        await desk.shows(HAIKU)
        desk.type(CTRL_D)
    await desk.shows("This session: 1 answer · ")
    await desk.shows(" out ·")
    await desk.shows("less than $0.01")
    async with sitting_at(desk, programs, EDITOR=str(editor), VISUAL=""):
        await desk.shows("Going on with terminal-me, last used just now;")
        await desk.shows("> A haiku about a pond, please.\n  An old silent pond\n  A frog jumps into the pond\n")
        desk.type("The same" + EDIT)
        await desk.shows("as a haiku")
        desk.type(ENTER)
        await model.wait_for(_was_asked(2), PATIENCE)
        assert model.requests[1].request.last_user_text.strip().endswith("The same\nas a haiku")
        await desk.shows(HAIKU, times=2)
        desk.type("exit" + ENTER)
    await desk.shows("This session: 1 answer · ", times=2)


async def test_what_was_due_while_the_terminal_was_closed_is_shown_at_the_next_start(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    model.brain = lambda request: Reply("It is hot." if "the oven" in request.last_user_text else "What?")
    async with sitting_at(desk, programs):
        desk.type("/remind in 20 minutes call Ana" + ENTER)
        await desk.shows("I will remind you")
        desk.type("/remind wake in 20 minutes look at the oven" + ENTER)
        await desk.shows("I will look at this")
        desk.type(CTRL_D)
    with closing(sqlite3.connect(programs.data / "palimpsest.db")) as book, book:
        earlier = [f"{name} = {name} - 1500" for name in ("at", "due_at", "next_at", "made_at")]
        book.execute(f"UPDATE appointments SET {', '.join(earlier)}")
    assert "⏰ call Ana" not in desk.text
    async with sitting_at(desk, programs):
        await desk.shows("⏰ call Ana (due ")
        await desk.shows("It is hot.")
        desk.type("exit" + ENTER)
    assert desk.text.count("⏰ call Ana") == 1
    assert re.search(r"⏰ call Ana \(due\s(on\s\w+day\s)?at\s\d\d:\d\d(:\d\d)?\)", desk.text)
    await desk.shows("This session: 1 answer · ")
    assert len(model.requests) == 1


async def test_as_long_as_nobody_has_said_how_large_the_window_is_the_meter_says_that_its_limit_is_assumed(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    model.window = 16_384
    async with sitting_at(desk, programs, ANTHROPIC_API_KEY="wrong-key-of-the-tests"):
        await desk.shows("stops an answer")
        desk.type("Hello." + ENTER)
        await desk.shows("does not accept our key")
        desk.type("/help" + ENTER)
        await desk.shows("And in this terminal alone:")
        await desk.shows("/attach: send a file")
        desk.type(CTRL_D)
    assert " %), limit assumed · ok" in desk.text


async def test_what_a_session_took_counts_the_answer_to_what_was_left_over_before_it(
    programs: Programs, model: MessagesServer, desk: Desk
) -> None:
    await killed_while_it_answers(programs, model, desk)
    async with sitting_at(desk, programs):
        await desk.shows(HAIKU)
        desk.type(CTRL_D)
    await desk.shows("This session: 1 answer · ")
