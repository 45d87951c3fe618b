"""The ledger against the accounts of the servers that were asked: three habits of talking, two wires, hosts that are
killed, tries that break, models that are away, and people who stop an answer."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.history import Usage
from bot.messages import Address
from bot.runtime.amounts import NANO
from bot.runtime.prices import nano
from bot.store.money import ledger, spending
from bot.store.money.ledger import ESTIMATED, RESERVED, SETTLED, Charge
from bot.store.schema import ledger as rows
from tests.house import House, Room, open_house, settings_for
from tests.servers.chat.manners import GATEWAY
from tests.servers.messages.faults import Cut, ErrorEvent, Fail, Fault, Hang
from tests.servers.messages.server import MessagesRequest, MessagesServer, Record, Refused, Reply, ToolCall
from tests.servers.messages.stream import split
from tests.servers.messages.wire import tokens_of_text

ROOT = Path(__file__).parents[3]
SPARE = "claude-haiku-4-5"
PATIENCE = 300.0
"""Seconds for which anything is waited for, on a machine that is busy with something else."""
LONG = "LONG" in os.environ
TURNS = 1_000 if LONG else 15
CENT = NANO // 100
HABITS = {
    "adalovelace": "Hello once more, says adalovelace, and nothing besides.",
    "bobdylan": "Please look into my folder again, says bobdylan.",
    "carolking": "Another long letter, says carolking. " + "The weather in town was mild, and we walked a lot. " * 22,
}
"""What people say: a little; what wants a tool; so much that it has to be compacted every few turns."""


BROKE = Refused("Your credit balance is too low.", type="billing_error", status=402)
OVERLOADED = Refused("Overloaded", type="overloaded_error")


def talker(request: MessagesRequest) -> str:
    return next(name for name in HABITS if name in request.all_text)


def brain(request: MessagesRequest) -> Reply:
    if request.is_summary:
        return Reply(f"## Where it stands\nLetters by {talker(request)} came, about the weather and walks in town.")
    last = request.messages[-1]["content"]
    if not isinstance(last, str) and any(block["type"] == "tool_result" for block in last):
        return Reply("There is nothing in the folder just now, and so it goes on for a while.")
    if "look into my folder" in " ".join(request.last_user_words):
        return Reply("I look into it at once.", [ToolCall("list_files")])
    return Reply(f"Noted ({request.index}), and so it goes on, at some length, as models do, until it ends.")


@dataclass
class Host:
    """One after the other, of which the next is loaded already while one is at work."""

    arguments: Sequence[str]
    running: asyncio.subprocess.Process | None = None
    next: asyncio.subprocess.Process | None = None
    kills: int = 0

    async def begin(self) -> None:
        self.running = self.next or await self._load()
        assert self.running.stdin
        assert self.running.stdout
        self.running.stdin.write(b"begin\n")
        async with asyncio.timeout(PATIENCE):
            assert await self.running.stdout.readline() == b"works\n", "the host did not begin"
        self.next = await self._load()

    @property
    def is_running(self) -> bool:
        """Whether the one at work has not ended by itself."""
        return self.running is not None and self.running.returncode is None

    async def kill(self) -> None:
        assert self.running
        self.running.kill()
        await self.running.wait()
        self.running = None
        self.kills += 1

    async def end(self) -> None:
        for one in (self.running, self.next):
            if one is not None:
                with suppress(ProcessLookupError):
                    one.kill()
                await one.wait()

    async def _load(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "tests.fundamentals.money.host", *self.arguments)
        return await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)


@dataclass
class Talk:
    """All of it. ``servers``: the one that is asked, and the one that stands in for it."""

    room: Room
    house: House
    host: Host
    servers: tuple[MessagesServer, MessagesServer]
    is_limited: bool
    random: random.Random = field(default_factory=lambda: random.Random(24))
    turns: int = 0

    @property
    def records(self) -> list[Record]:
        return [record for server in self.servers for record in server.requests]

    async def until(self, condition: Callable[[], object]) -> None:
        """A state of both servers."""
        waits = [asyncio.create_task(one.wait_for(lambda _: condition(), timeout=PATIENCE)) for one in self.servers]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in done:
                wait.result()
        except TimeoutError:
            assert self.host.is_running, "the host has ended"
            shown = {name: (self.room.notices(name)[-1:], self.room.replies(name)[-1:]) for name in HABITS}
            raise AssertionError(f"{[one.describe() for one in self.servers]}; {shown}") from None
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    # --- turns ---

    async def say(self, name: str) -> None:
        self.turns += 1
        await self.room.says(HABITS[name], chat=name, person=name)

    @asynccontextmanager
    async def answers(self, *names: str) -> AsyncIterator[None]:
        """Each of them has one more answer at the end of this block."""
        before = {name: len(self.room.replies(name)) for name in names}
        yield
        await self.room.until(lambda: all(len(self.room.replies(name)) > count for name, count in before.items()))

    @asynccontextmanager
    async def faults(self, *faults: Fault) -> AsyncIterator[None]:
        """On both servers, until the end of the block."""
        for server in self.servers:
            server._faults += faults
        try:
            yield
        finally:
            for server in self.servers:
                server._faults[:] = [fault for fault in server._faults if fault not in faults]
            for fault in faults:
                if isinstance(fault, Hang):
                    fault.released.set()

    async def turn(self, name: str) -> None:
        """One, which something may go wrong with."""
        kinds = ("", "", "", "refused", "cut", "broken", "stopped", "away")
        kind = self.random.choice(kinds)

        def own(request: MessagesRequest) -> bool:
            return talker(request) == name and not request.is_summary

        of_kind: dict[str, list[Fault]] = {
            "refused": [Fail(own, 1, OVERLOADED)],
            "cut": [Cut(own, 1, 2)],
            "broken": [ErrorEvent(own, 1, 2, OVERLOADED)],
            "stopped": [Hang(own, 1, 2)],
            "away": [Fail(lambda request: own(request) and request.wire == "messages", 1, BROKE)],
        }
        async with self.faults(*of_kind.get(kind, [])), self.answers(name):
            await self.say(name)
            if kind == "stopped":
                await self.until(lambda: self.hung([name], summaries=False))
                await self.room.says("/abort", chat=name, person=name)

    def hung(self, names: Sequence[str], *, summaries: bool = True) -> bool:
        """Whether the servers are in the middle of an answer to each of them, or of a summary."""
        running = [record.request for record in self.records if record.outcome == "running" and record.deltas >= 2]
        return {talker(one) for one in running if summaries or not one.is_summary} >= set(names)

    # --- kills ---

    async def killed(self) -> None:
        await self.host.kill()
        await self.until(lambda: all(record.outcome != "running" for record in self.records))

    async def killed_while_it_answers(self, *, times: int = 1) -> None:
        """All are answered when the host is killed; with ``times``, again when they are asked again."""
        async with self.answers(*HABITS):
            async with self.faults(Hang(None, None, 2)):
                for name in HABITS:
                    await self.say(name)
                for number in range(times):
                    if number:
                        await self.host.begin()
                    await self.until(lambda: self.hung([*HABITS]))
                    await self.killed()
            await self.host.begin()

    async def killed_at_another_try(self) -> None:
        """The first try of each broke off before."""
        broken: set[str] = set()

        def first(request: MessagesRequest) -> bool:
            is_first = talker(request) not in broken
            broken.add(talker(request))
            return is_first

        async with self.answers(*HABITS):
            async with self.faults(Hang(lambda request: talker(request) in broken, None, 2), Cut(first, None, 2)):
                for name in HABITS:
                    await self.say(name)
                await self.until(lambda: self.hung([*HABITS]))
                await self.killed()
            await self.host.begin()

    async def killed_at_a_summary(self) -> None:
        name = "carolking"
        async with self.answers(name):
            await self.say(name)
        compacted = sum("Compacted" in notice for notice in self.room.notices(name))
        async with self.faults(Hang(lambda request: request.is_summary, None, 2)):
            await self.room.says("/compact", chat=name, person=name)
            await self.until(lambda: self.hung([name]))
            await self.killed()
        await self.host.begin()
        await self.room.until(lambda: sum("Compacted" in one for one in self.room.notices(name)) > compacted)

    async def killed_while_another_stands_in(self) -> None:
        async with self.answers(*HABITS):
            async with self.faults(Fail(lambda request: request.wire == "messages", None, BROKE), Hang(None, None, 2)):
                for name in HABITS:
                    await self.say(name)
                await self.until(lambda: self.hung([*HABITS]))
                await self.killed()
            await self.host.begin()

    async def killed_before_another_try(self) -> None:
        """The first was refused. What is not limited is counted all the same then: nobody knows that it was refused."""
        if not self.is_limited:
            return
        refused: set[str] = set()

        def first(request: MessagesRequest) -> bool:
            is_first = talker(request) not in refused
            refused.add(talker(request))
            return is_first

        async with self.answers(*HABITS):
            async with self.faults(Fail(first, None, OVERLOADED), Hang(None, None, 2)):
                for name in HABITS:
                    await self.say(name)
                await self.until(lambda: refused >= set(HABITS))
                await self.until(lambda: sum(record.status == 529 for record in self.records) >= 3)
                while await self.reserved() and not self.hung([*HABITS]):  # noqa: ASYNC110 - a book rings no bell
                    await asyncio.sleep(0.01)
                await self.killed()
            await self.host.begin()

    async def reserved(self) -> int:
        async with self.house.resources.database.read() as tx:
            count = select(func.count()).select_from(rows).where(rows.c.state == RESERVED)
            return int((await tx.execute(count)).scalar_one())

    @property
    def blows(self) -> list[Callable[[], Awaitable[None]]]:
        return [
            self.killed_at_another_try,
            self.killed_at_a_summary,
            lambda: self.killed_while_it_answers(times=2),
            self.killed_while_another_stands_in,
            self.killed_before_another_try,
            self.killed_while_it_answers,
        ]

    async def run(self, turns: int) -> None:
        """So many turns; between some of them all are idle, and something is killed."""
        blows = self.blows if LONG else self.blows[:3]
        each = max(1, turns // (3 * max(6, turns // 40)))
        while self.turns < turns or (not LONG and blows):

            async def some(name: str) -> None:
                for _ in range(each):
                    await self.turn(name)

            async with asyncio.TaskGroup() as talking:
                for name in HABITS:
                    talking.create_task(some(name))
            if blows:
                blow = blows.pop(0)
                await blow()
                if LONG:
                    blows.append(blow)


@asynccontextmanager
async def talk(book: dict[str, Any], data_dir: Path, *, limited: bool) -> AsyncIterator[Talk]:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(MessagesServer(window=3_000, brain=brain)) for _ in range(2)]
        first, spare = servers
        spare.manner, spare.listed = GATEWAY, frozenset({SPARE})
        more: dict[str, Any] = {
            **book,
            "agents": {"compact_ahead": False},
            "model_fallback": [f"openai/{SPARE}"],
            "model_patience": 60,
            "providers": {"openai": {"key": "test-key", "base_url": spare.chat_url}},
        }
        if limited:
            more["budget"] = {"person_day": "50", "chat_day": "50", "day": "100", "month": "400"}
        room = Room(PATIENCE)
        settings = settings_for(first, data_dir, **more)
        house = await stack.enter_async_context(open_house(settings, room, ("gateway",)))
        host = Host([str(data_dir), first.url, json.dumps(more)])
        stack.push_async_callback(host.end)
        await host.begin()
        yield Talk(room, house, host, (first, spare), limited)


# --- the two accounts ---


def is_billed(record: Record) -> bool:
    """Whether the server began to answer."""
    return record.usage.prompt_tokens > 0


def used(record: Record) -> Usage:
    """By the server's own account; of an answer that was cut off, what it had sent."""
    told = record.usage
    output = told.output_tokens
    if record.outcome != "completed":
        text = record.reply.text if record.reply else ""
        output = tokens_of_text("".join(split(text, 6)[: record.deltas]))
    return Usage(told.input_tokens, told.cache_read_input_tokens, told.cache_creation_input_tokens, output)


def cost_of(record: Record) -> int:
    return nano(str(record.request.body["model"]), used(record)) or 0


def name_of(server: int, record: Record) -> tuple[str, str]:
    """As a row of the ledger names the request."""
    index = record.request.index
    return ("anthropic", f"req_{index:06d}") if server == 0 else ("openai", f"chatcmpl-{index:06d}")


def place_of(record: Record) -> tuple[str, str]:
    purpose = "summary" if record.request.is_summary else "turn"
    return Address("room", talker(record.request)).agent_id, purpose


async def compare(it: Talk) -> str:
    """What the ledger has against the servers; fails where they differ."""
    async with it.house.resources.database.read() as tx:
        found = await tx.execute(select(rows).order_by(rows.c.at))
        kept: list[Charge] = [ledger.charge_of(row) for row in found.mappings()]
        added = await spending.total(tx, spending.of_all(), "20000101", "29991231")
    asked = {name_of(at, r): r for at, one in enumerate(it.servers) for r in one.requests if is_billed(r)}
    named = {(one.provider, one.request): one for one in kept if one.request}
    unknown = [name for name in named if name not in asked]
    wrong = [
        (name, one.usage, used(asked[name]))
        for name, one in named.items()
        if name in asked and one.state == SETTLED and one.usage != used(asked[name])
    ]
    far = [
        (name, one.usage, used(asked[name]))
        for name, one in named.items()
        if name in asked and abs((one.cost or 0) - cost_of(asked[name])) >= CENT
    ]
    lost = Counter(place_of(record) for name, record in asked.items() if name not in named)
    nameless = Counter((str(one.agent_id), str(one.purpose)) for one in kept if not one.request)
    theirs, ours = sum(map(cost_of, asked.values())), sum(one.cost or 0 for one in kept)
    outcomes = Counter(record.outcome for record in asked.values())
    told = (
        f"{it.turns} turns, {it.host.kills} kills, {len(asked)} requests {dict(outcomes)}, {len(kept)} rows; "
        f"{theirs / NANO:.6f} and {ours / NANO:.6f} dollars; killed at {dict(lost)}, estimated {dict(nameless)}"
    )
    assert not unknown, f"rows of requests that nobody got: {unknown}; {told}"
    assert not wrong, f"rows that differ from the server's figures: {wrong}; {told}"
    assert not far, f"rows that are a cent or more from the server's figures: {far}; {told}"
    assert lost == nameless, (
        f"requests without a row {lost - nameless}, rows without a request {nameless - lost}; {told}"
    )
    assert {one.state for one in kept} <= {SETTLED, ESTIMATED}, f"something stays reserved; {told}"
    assert (added.requests, added.cost) == (len(kept), ours), f"the totals are not the rows: {added}; {told}"
    guessed = sum(one.state == ESTIMATED for one in kept)
    assert abs(ours - theirs) < CENT * (1 + guessed // 100), told  # of what was cut off nobody is told all
    return told


@pytest.mark.timeout(3_600 if LONG else 480)
@pytest.mark.parametrize("limited", [True, pytest.param(False, marks=pytest.mark.rest)], ids=["limited", "unlimited"])
async def test_the_ledger_is_the_account_of_the_servers_to_the_cent(
    book: dict[str, Any], tmp_path: Path, limited: bool
) -> None:
    async with talk(book, tmp_path / "data", limited=limited) as it:
        await it.run(TURNS)
        print(await compare(it))  # noqa: T201 - figures, which `-s` shows
    refused = [(record.error, record.request.body) for record in it.records if record.outcome == "refused"]
    assert not refused, f"a strict server refused something: {refused}"
