"""The line before the model: who is let in, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bot.model import Wait
from bot.model.queue import Call, ModelQueue


class Clock:
    """Stands still unless told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Line:
    """A queue and the calls that stand in it; ``let_in`` says who got a place, in order."""

    def __init__(self, queue: ModelQueue, tasks: asyncio.TaskGroup) -> None:
        self.queue = queue
        self.let_in: list[str] = []
        self.waits: list[Wait] = []
        self.told_twice = asyncio.Event()
        self._tasks = tasks
        self._ends: dict[str, asyncio.Event] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}

    async def joins(self, name: str, who: str | None = None) -> Call:
        """A call, which waits or holds a place until it ends."""
        call, self._ends[name] = self.queue.join(name if who is None else who), asyncio.Event()
        self._calls[name] = self._tasks.create_task(self._hold(name, call))
        await settle()
        return call

    async def _hold(self, name: str, call: Call) -> None:
        async with self.queue.place(call, self._tell):
            self.let_in.append(name)
            await self._ends[name].wait()

    def _tell(self, wait: Wait) -> None:
        self.waits.append(wait)
        if len(self.waits) > 1:
            self.told_twice.set()

    async def ends(self, name: str) -> None:
        self._ends[name].set()
        await settle()

    async def gives_up(self, name: str) -> None:
        self._calls[name].cancel()
        await settle()

    async def all_end(self) -> None:
        for end in self._ends.values():
            end.set()
        for task in self._calls.values():
            task.cancel()


async def settle() -> None:
    """Let everybody do what can be done without time passing."""
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def line(most: int, *, tell_seconds: float = 60.0, clock: Clock | None = None) -> AsyncIterator[Line]:
    queue = ModelQueue(most, tell_seconds=tell_seconds, clock=clock or Clock())
    async with asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
        calls = Line(queue, tasks)
        stack.push_async_callback(calls.all_end)
        yield calls
    assert (queue.in_flight, queue.waiting) == (0, 0)


async def test_no_more_calls_are_in_flight_than_allowed_and_who_came_first_is_let_in_first() -> None:
    async with line(2) as calls:
        for name in "abcd":
            await calls.joins(name)
        assert calls.let_in == ["a", "b"]
        await calls.ends("b")
        assert calls.let_in == ["a", "b", "c"]
        await calls.ends("a")
        assert calls.let_in == ["a", "b", "c", "d"]


async def test_one_agent_has_one_place_and_those_behind_it_are_not_held_up() -> None:
    async with line(3) as calls:
        await calls.joins("a1", who="a")
        await calls.joins("a2", who="a")
        await calls.joins("b")
        assert calls.let_in == ["a1", "b"]
        await calls.ends("a1")
        assert calls.let_in == ["a1", "b", "a2"]


async def test_answers_come_before_summaries_which_are_not_starved() -> None:
    async with line(1) as calls:
        await calls.joins("first")
        await calls.joins("summary", who="")
        for name in "abcdef":
            await calls.joins(name)
        for name in ["first", "a", "b", "c", "summary", "d", "e"]:
            await calls.ends(name)
        assert calls.let_in == ["first", "a", "b", "c", "summary", "d", "e", "f"]


async def test_without_answers_summaries_have_all_places() -> None:
    async with line(2) as calls:
        await calls.joins("s1", who="")
        await calls.joins("s2", who="")
        assert calls.let_in == ["s1", "s2"]


async def test_who_gives_up_leaves_the_line_at_once() -> None:
    async with line(1) as calls:
        await calls.joins("a")
        await calls.joins("b")
        c = await calls.joins("c")
        assert calls.queue.where(c) == Wait(before=2)
        await calls.gives_up("b")
        assert calls.queue.where(c) == Wait(before=1)
        await calls.gives_up("a")
        assert calls.let_in == ["a", "c"]


async def test_who_is_let_in_and_gives_up_in_the_same_moment_leaves_no_place_behind() -> None:
    async with line(1) as calls:
        await calls.joins("a")
        await calls.joins("b")
        await calls.joins("c")
        calls._ends["a"].set()
        await asyncio.sleep(0)
        await calls.gives_up("b")
        assert calls.let_in[-1] == "c"


async def test_a_call_that_is_tried_again_comes_before_all_that_came_after_it() -> None:
    async with line(1) as calls:
        first = calls.queue.join("first")
        async with calls.queue.place(first):
            await calls.joins("b")
        await settle()
        assert calls.let_in == ["b"]
        await calls.joins("c")

        async def again() -> None:
            async with calls.queue.place(first):
                calls.let_in.append("first")

        trying = asyncio.create_task(again())
        await settle()
        await calls.ends("b")
        await trying
        await settle()
        assert calls.let_in == ["b", "first", "c"]


async def test_while_the_provider_wants_nothing_nobody_asks_and_then_one_goes_ahead() -> None:
    clock = Clock()
    async with line(8, clock=clock) as calls:
        calls.queue.hold(30.0)
        for name in "abcdefg":
            await calls.joins(name)
        assert calls.let_in == []
        assert calls.queue.where(await calls.joins("h")) == Wait(before=8, pause=30.0)
        clock.now += 30.0
        calls.queue._open()
        await settle()
        assert calls.let_in == ["a"]
        calls.queue.widen()
        await settle()
        assert calls.let_in == ["a", "b"]
        calls.queue.widen()
        calls.queue.widen()
        await settle()
        assert calls.let_in == list("abcdefgh")


async def test_a_pause_ends_by_itself() -> None:
    queue = ModelQueue(2)
    queue.hold(0.01)
    async with asyncio.timeout(20), queue.place(queue.join("a")):
        assert queue.pause == 0


async def test_a_shorter_pause_takes_nothing_from_a_longer_one() -> None:
    queue = ModelQueue(2, clock=Clock())
    queue.hold(30.0)
    queue.hold(5.0)
    assert queue.pause == 30.0


async def test_who_waits_is_told_how_many_come_first_again_and_again() -> None:
    async with line(1, tell_seconds=0.01) as calls:
        await calls.joins("a")
        await calls.joins("b")
        async with asyncio.timeout(20):
            await calls.told_twice.wait()
        assert set(calls.waits) == {Wait(before=1)}
