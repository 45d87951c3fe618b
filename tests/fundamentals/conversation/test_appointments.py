"""What people want said at a time comes then, once, whatever becomes of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bot.app.main import inner_roles
from bot.app.resources import open_resources
from bot.bus import topics
from bot.messages import Address
from bot.runtime.settings import AgentsSettings
from bot.store import agents, appointments, chats
from bot.store.appointments import Appointment, State
from tests.conftest import OpenHouse
from tests.house import PATIENCE, House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall
from tests.servers.messages.wire import blocks_of

HERE = Address("room", "1")
A_DAY = 86_400.0


class Clock:
    """The book's time, which a test puts forward."""

    def __init__(self, running: House) -> None:
        self._running = running
        database = running.resources.database
        real, self.ahead = database.clock, 0.0
        database.clock = lambda: real() + self.ahead

    def forward(self, seconds: float) -> None:
        self.ahead += seconds
        self._running.resources.bus.ring(topics.inbox(HERE.agent_id))
        self._running.resources.bus._bells.strike_all()  # as after a connection that was lost: all look again


def has(room: Room, words: str, times: int = 1) -> Callable[[], bool]:
    return lambda: sum(words in notice for notice in room.notices()) == times


async def rows(running: House) -> list[Appointment]:
    async with running.resources.database.read() as tx:
        return [one for _, one in await appointments.of_chat(tx, HERE)]


async def test_a_reminder_is_said_back_and_comes_when_it_is_due(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as running:
        clock = Clock(running)
        await room.says("/remind in 20 minutes call Ana")
        await room.until(has(room, "I will remind you on"))
        assert "(Europe/Lisbon): call Ana" in room.notices()[-1]
        clock.forward(20 * 60 + 1)
        await room.until(has(room, "⏰ call Ana"))
        assert room.notices()[-1] == "⏰ call Ana"
        assert not await rows(running)
        await room.says("done!")
        await room.until(room.replies)
    assert "call Ana" in str(model.requests[0].request.messages), "the model knows what that is about"
    assert len(model.requests) == 1


async def test_what_waited_for_long_counts_from_when_it_was_said(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        said = datetime.fromtimestamp(running.resources.database.clock() // 60 * 60, UTC) - timedelta(minutes=10)
        await room.says("/remind in 20 minutes call Ana", sent_at=said)
        await room.until(has(room, "I will remind you"))
        assert [one.due_at for one in await rows(running)] == [(said + timedelta(minutes=20)).timestamp()]
        await room.says("/remind in 5 minutes take it out", sent_at=said)
        await room.until(has(room, "⏰ take it out"))
        assert [one.text for one in await rows(running)] == ["call Ana"]


async def test_what_was_due_while_nobody_was_there_comes_late_and_once(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await room.says("/remind every 30 minutes drink")
        await room.says("/remind in 20 minutes call Ana")
        await room.until(has(room, "I will remind you", times=2))
        ahead = 6 * 3_600.0
        async with running.resources.database.write() as tx:
            for one in [one for _, one in await appointments.of_chat(tx, HERE)]:
                due, at = (one.due_at or 0) - ahead, one.at and one.at - ahead
                values = {"due_at": due, "next_at": due, "at": at}
                await appointments.change(tx, HERE.agent_id, one.number, seen=one.next_at, **values)
    async with house() as running:
        await room.until(has(room, "⏰ call Ana (due "))
        await room.until(has(room, "⏰ drink"))
        left = await rows(running)
        assert [one.text for one in left] == ["drink"]
        assert left[0].next_at
        assert left[0].next_at > running.resources.database.clock()


async def test_what_is_late_by_more_than_a_day_is_only_listed(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        clock = Clock(running)
        await room.says("/remind in 20 minutes call Ana")
        await room.until(has(room, "I will remind you"))
        clock.forward(2 * A_DAY)
        async with asyncio.timeout(PATIENCE):
            while await rows(running):  # noqa: ASYNC110  # that nothing is said sets no event
                await asyncio.sleep(0.01)
        await room.says("/reminders")
        await room.until(has(room, "Missed, since I was away:"))
        assert "call Ana" in room.notices()[-1]
    assert has(room, "⏰ call Ana", times=0)()


async def test_what_may_be_meant_in_several_ways_is_asked_and_counts_when_one_is_chosen(
    house: OpenHouse, room: Room
) -> None:
    async with house(timezone="Europe/Lisbon") as running:
        await room.says("/remind tomorrow at 5 call Ana")
        await room.until(has(room, "Which of these do you mean?"))
        assert not await rows(running)
        asked = next(one for one in room.shown["1"].values() if "Which" in one.text)
        assert asked.commands == ("/remind take 1 1", "/remind take 1 2")
        await room.says(asked.commands[1])
        await room.until(has(room, "17:00 (Europe/Lisbon): call Ana"))
        await room.says(asked.commands[0])
        await room.until(has(room, "That is no question any more."))
        assert [one.local[-8:] for one in await rows(running)] == ["17:00:00"]
        await room.says("/reminders cancel 1")
        await room.until(has(room, "Cancelled: call Ana"))
        await room.says("/reminders")
        await room.until(has(room, "There is nothing to come."))


async def test_a_chat_that_takes_nothing_any_more_has_no_appointments_any_more(house: OpenHouse, room: Room) -> None:
    async with house(("agents",)) as running:
        database = running.resources.database
        now = database.clock()
        async with database.write() as tx:
            await agents.ensure(tx, HERE, now=now)
            await chats.close(tx, "room", "1", now=now)
            for number in range(2):
                await appointments.add(tx, HERE.agent_id, one_due(now + 0.1, f"one {number}"))
        running.resources.bus.ring(topics.appointments(HERE.agent_id))

        async def states() -> set[State]:
            async with database.read() as tx:
                found = [await appointments.get(tx, HERE.agent_id, number) for number in (1, 2)]
            return {one.state for one in found if one}

        while await states() != {State.RETIRED}:  # noqa: ASYNC110  # nothing rings
            await asyncio.sleep(0.02)


async def test_what_is_due_in_quiet_hours_is_said_to_come_at_their_end(house: OpenHouse, room: Room) -> None:
    async with house(timezone="UTC") as running:
        hour = datetime.fromtimestamp(running.resources.database.clock(), UTC).hour
        await room.says(f"/quiet {hour}-{(hour + 3) % 24}")
        await room.until(has(room, "Quiet from"))
        await room.says("/remind in 20 minutes call Ana")
        await room.until(has(room, f"within your quiet hours (/quiet): it comes at {(hour + 3) % 24:02d}:00."))
        await room.says("/remind urgent in 20 minutes call Bob")
        await room.until(has(room, "Also in quiet hours."))
        assert has(room, "within your quiet hours", times=1)()


async def test_what_is_no_command_of_reminders_says_how(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.says("/reminders cancel all")
        await room.until(has(room, "/reminders cancel 3 takes number 3 back"))
        await room.says("/remind urgent")
        await room.until(has(room, "/remind WHEN WHAT, for example:"))


async def test_the_model_makes_one_that_wakes_it_and_answers_as_itself(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    def brain(request: MessagesRequest) -> Reply:
        said = str(request.messages)
        if "is due" in said:
            return Reply("The weather is fine.")
        results = [block for one in request.messages for block in blocks_of(one["content"])]
        if any(block["type"] == "tool_result" for block in results):
            return Reply("I will look.")
        return Reply("", [ToolCall("remind", {"when": "in 20 minutes", "text": "/new is the weather", "wake": True})])

    model.brain = brain
    model.window = 100_000
    async with house() as running:
        clock = Clock(running)
        await room.says("Look at the weather in 20 minutes")
        await room.until(has(room, "I will look at this"))
        await room.until(lambda: room.replies() == ["I will look."])
        clock.forward(20 * 60 + 1)
        await room.until(lambda: room.replies() == ["I will look.", "The weather is fine."])
    assert len(model.requests) == 3
    assert not model.refused


async def test_what_the_model_makes_counts_from_when_it_was_asked_for(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    when = iter(["in 20 minutes", "in 5 minutes"])

    def brain(request: MessagesRequest) -> Reply:
        last = blocks_of(request.messages[-1]["content"])
        if any(block["type"] == "tool_result" for block in last):
            return Reply("Gladly.")
        return Reply("", [ToolCall("remind", {"when": next(when), "text": "take it out"})])

    model.brain = brain
    model.window = 100_000
    async with house() as running:
        said = datetime.fromtimestamp(running.resources.database.clock() // 60 * 60, UTC) - timedelta(minutes=10)
        await room.says("Remind me in 20 minutes to take it out", sent_at=said)
        await room.until(lambda: room.replies() == ["Gladly."])
        assert [one.due_at for one in await rows(running)] == [(said + timedelta(minutes=20)).timestamp()]
        await room.says("And in 5 minutes", sent_at=said)
        await room.until(has(room, "⏰ take it out (due "))
        assert room.notices()[-1].endswith(f" at {said + timedelta(minutes=5):%H:%M})")
        assert len(await rows(running)) == 1


async def test_what_it_is_woken_for_is_asked_although_the_page_is_compacted_before(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = lambda request: Reply("It is out." if "is due" in str(request.messages) else "Ovens get hot. " * 700)
    model.window = 8_000
    agents_settings = AgentsSettings(compact_ahead=False, emergency_context_limit=3_000)
    async with house(agents=agents_settings) as running:
        clock = Clock(running)
        await room.asks("Tell me of ovens")
        await room.says("/remind wake in 20 minutes look at the oven")
        await room.until(has(room, "I will look at this"))
        clock.forward(20 * 60 + 1)
        await room.until(lambda: room.replies()[-1:] == ["It is out."])
    assert [one.request.is_summary for one in model.requests] == [False, True, False]
    assert "look at the oven" in str(model.requests[-1].request.messages)


async def test_two_hosts_and_a_wiped_redis_bring_each_once(house: OpenHouse, room: Room) -> None:
    count = 40
    async with house() as running, open_resources(running.resources.settings, listen=()) as other:
        database = running.resources.database
        now = database.clock()
        async with database.write() as tx:
            for number in range(count):
                there = Address("room", str(number % 8))
                await agents.ensure(tx, there, now=now)
                await appointments.add(tx, there.agent_id, one_due(now + number / count, f"number {number}."))
        second = asyncio.gather(*inner_roles(other, ("agents",)))
        running.resources.bus.ring(topics.appointments(HERE.agent_id))
        await running.resources.bus.redis.flushall()
        try:
            for number in range(count):
                chat = room.shown.setdefault(str(number % 8), {})
                await room.until(lambda: any(f"number {number}." in one.text for one in chat.values()))  # noqa: B023
        finally:
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
    said = [one.text.split(" (")[0] for chat in room.shown.values() for one in chat.values()]
    assert sorted(said) == sorted(f"⏰ number {number}." for number in range(count))


def one_due(at: float, words: str) -> Appointment:
    return Appointment(
        number=0,
        connector="room",
        person="p1",
        person_name="",
        kind="say",
        text=words,
        state=State.SET,
        zone="UTC",
        local="2027-01-01T09:00:00",
        at=at,
        due_at=at,
        next_at=at,
        made_at=at,
        changed_at=at,
    )
