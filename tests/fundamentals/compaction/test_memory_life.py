"""Memory in the running program: facts after each turn, and /memory. FEATURES A8."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bot.compaction.facts.fact import Fact, Source
from bot.compaction.memory_report import NOT_COLLECTED, USAGE
from bot.history import EntryKind
from bot.messages import text_of
from bot.store.facts import MemoryRow
from tests.conftest import OpenHouse
from tests.fundamentals.compaction.memory_book import (
    CODE,
    FLIGHT,
    LINE,
    MEMORY,
    QUIET,
    book,
    checkpoint,
    compacted,
    read,
    read_all,
    texts,
    told,
    until,
)
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

# --- A8: the lifecycle ---


async def test_each_turn_adds_its_facts_and_keeps_what_it_decided(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        assert CODE in texts(await told(running, room, f"Thanks! {CODE}"))
        known = await told(running, room, FLIGHT, CODE)
        assert {CODE, FLIGHT} <= set(texts(known))
        assert texts(known).count(CODE) == 1
        assert {item.source for item in known} == {Source.AUTO}
        _, _, candidates, _ = await book(running)
        decided = {(item.text, item.is_accepted, item.reason.value) for item in candidates}
        assert {
            (CODE, True, "new"),
            (CODE, False, "duplicate"),
            ("Thanks!", False, "low_value"),
        } <= decided


async def test_a_conversation_with_another_strategy_collects_nothing_until_it_chooses_memory(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"compact_ahead": False}, memory=QUIET) as running:
        await room.asks(CODE)
        assert NOT_COLLECTED in await room.commands("/memory")
        assert (await book(running))[0] == MemoryRow()
        await room.commands("/strategy memory")
        assert CODE in texts(await read_all(running))


async def test_memory_asked_for_once_knows_what_was_said_and_what_people_added_and_collects_nothing_for_later(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"compact_ahead": False}, memory=QUIET):
        await room.asks(CODE)
        await room.commands(f"/memory add {FLIGHT}")
        for number in range(8):
            await room.asks(LINE.format(number))
        await room.commands("/compact strategy=memory recent_share=0.05")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        await room.asks("Thanks!")
        assert CODE in checkpoint(model)
        assert FLIGHT in checkpoint(model)
        assert CODE not in await room.commands("/memory")


async def test_what_a_stop_between_a_turn_and_its_refresh_left_is_made_up_once(house: OpenHouse, room: Room) -> None:
    options: dict[str, Any] = {"agents": MEMORY, "memory": QUIET}
    codes = [
        CODE,
        FLIGHT,
        "My doctor is Anna Weber.",
        "The wedding begins at 15:30.",
        "Our dog weighs 31 kg.",
        "Never deploy on Fridays.",
    ]
    for code in codes[:-1]:
        async with house(**options) as running:
            await room.asks(code)  # and the program stops at once, wherever its refresh is
    async with house(**options) as running:
        known = await told(running, room, codes[-1])
        assert set(codes) <= set(texts(known))
        _, _, candidates, _ = await book(running)
        accepted = Counter(item.text for item in candidates if item.is_accepted)
        assert [accepted[code] for code in codes] == [1] * 6


async def test_turns_that_no_refresh_followed_are_read_by_the_next_one(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}):
        await room.asks(CODE)
    async with house(agents=MEMORY, memory=QUIET) as running:
        assert {CODE, FLIGHT} <= set(texts(await told(running, room, FLIGHT)))


async def test_the_checkpoint_is_made_of_the_facts_and_stands_before_the_latest_messages(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        await told(running, room, CODE, FLIGHT, *(LINE.format(number) for number in range(1, 14)))
        await room.commands("/memory forget 1")
        await compacted(room)
        await room.asks("And now?")
        assert FLIGHT in checkpoint(model)
        assert CODE not in checkpoint(model)
        await compacted_again(room, running)
        await room.asks("And then?")
        assert FLIGHT in checkpoint(model)
        assert CODE not in "".join(read(model.requests[-1].request))


async def compacted_again(room: Room, running: House) -> None:
    await told(running, room, *(LINE.format(number) for number in range(20, 34)))
    await compacted(room)


async def test_a_plan_knows_what_no_refresh_has_read_yet(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(agents={"compact_ahead": False}, memory=QUIET):
        for text in (CODE, *(LINE.format(number) for number in range(1, 14))):
            await room.asks(text)
    async with house(agents=MEMORY, memory=QUIET):
        await compacted(room)
        await room.asks("And now?")
        assert CODE in checkpoint(model)


async def test_taking_a_compaction_back_keeps_the_facts(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        known = await told(running, room, CODE, *(LINE.format(number) for number in range(1, 14)))
        await compacted(room)
        assert (await room.commands("/undo")).startswith("Took the last compaction back")
        assert await read_all_but_layers(running) == known


async def read_all_but_layers(house: House) -> tuple[Fact, ...]:
    return (await book(house))[1]


async def test_new_puts_what_it_hides_out_of_memory_and_undo_brings_it_back(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        await told(running, room, CODE)
        await room.commands("/new")
        assert CODE not in await room.commands("/memory")
        await told(running, room, FLIGHT, *(LINE.format(number) for number in range(1, 14)))
        shown = await room.commands("/memory")
        assert FLIGHT in shown
        assert CODE not in shown
        await compacted(room)
        await room.asks("And now?")
        assert FLIGHT in checkpoint(model)
        assert CODE not in "".join(read(model.requests[-1].request))
        await room.commands("/undo")
        await room.commands("/undo")
        shown = await room.commands("/memory")
        assert CODE in shown
        assert FLIGHT in shown


async def test_one_conversation_never_knows_the_facts_of_another(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        await told(running, room, CODE)
        lines = [LINE.format(number) for number in range(1, 14)]
        await told(running, room, FLIGHT, *lines, chat="2")
        assert CODE not in await room.commands("/memory", chat="2")
        assert "no fact 99" in await room.commands("/memory forget 99", chat="2")
        await room.says("/compact", chat="2")
        await room.until(lambda: any("Compacted:" in notice for notice in room.notices("2")))
        await room.asks("And now?", chat="2")
        assert CODE not in str(model.requests[-1].request.messages)


# --- /memory ---


async def test_memory_lists_pins_unpins_and_forgets(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        assert "no facts" in await room.commands("/memory")
        known = await told(running, room, CODE)
        number = next(item.number for item in known if item.text == CODE)
        assert f"{number}. {CODE}" in await room.commands("/memory")
        assert await room.commands(f"/memory pin {number}") == f"Pinned: {number}. 📌 {CODE}"
        assert f"{number}. 📌 {CODE}" in await room.commands("/memory")
        assert "Not pinned any more" in await room.commands(f"/memory unpin #{number}")
        assert "Forgotten" in await room.commands(f"/memory forget {number}")
        assert CODE not in await room.commands("/memory")
        assert f"no fact {number}" in await room.commands(f"/memory pin {number}")
        for unknown in ("/memory drop 1", "/memory pin", "/memory pin x", "/memory add"):
            assert USAGE in await room.commands(unknown)


async def test_a_long_list_has_pages_that_are_each_one_message(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        names = [f"{a}{b}o" for a in ("Ba", "Ke", "Li", "Mu", "Ro", "Sa", "Te", "Vu") for b in "dgmst"]
        codes = [f"{name} owns {at + 3} goats and a house in {name}ville." for at, name in enumerate(names)]
        await told(running, room, " ".join(codes[:20]), " ".join(codes[20:]))
        first = await room.commands("/memory")
        pages = [first, *[await room.commands(f"/memory {at}") for at in range(2, 6)]]
        assert "Page 1 of" in first
        assert "/memory 2" in first
        assert all(len(page) <= 2_000 for page in pages)
        assert all(any(code in page for page in pages) for code in codes)
        assert await room.commands("/memory 999") == pages[-1]


async def test_what_a_person_adds_is_pinned_and_the_model_reads_it_at_once_and_after_a_compaction(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        assert "📌 I am allergic to nuts." in await room.commands("/memory add I am allergic to nuts.")
        await room.asks("What may I eat?")
        assert "I am allergic to nuts." in "".join(read(model.requests[-1].request))
        await told(running, room, *(LINE.format(number) for number in range(1, 14)))
        await compacted(room)
        await room.asks("And now?")
        assert "I am allergic to nuts." in checkpoint(model)
        (mine,) = [item for item in (await book(running))[1] if item.pinned]
        assert mine.source is Source.PERSON
        await room.commands("/memory add i am ALLERGIC to nuts")
        assert len([item for item in (await book(running))[1] if item.pinned]) == 1


async def test_in_a_group_what_somebody_adds_begins_with_who_it_was(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=MEMORY, memory=QUIET):
        await room.says("/memory add Ada: I owe Eve 500 euros.", person="eve", speaker="Eve")
        await room.until(lambda: any("📌 Eve: Ada: I owe Eve" in notice for notice in room.notices()))
        await room.says("Who owes what?", person="bob", speaker="Bob")
        await room.until(room.replies)
        assert "with /memory: Eve: Ada: I owe Eve 500 euros.]" in "".join(read(model.requests[-1].request))


async def test_a_forgotten_fact_that_a_person_adds_again_is_back(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        known = await told(running, room, CODE)
        await room.commands(f"/memory forget {known[0].number}")
        await room.commands(f"/memory add {CODE}")
        assert CODE in await room.commands("/memory")


async def test_memory_answers_while_a_turn_runs_and_what_is_added_then_is_told_after_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house(agents={"compact_ahead": False}, memory=QUIET) as running:
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        assert "Pinned" in await room.commands("/memory add I am allergic to nuts.")
        assert "allergic" in await room.commands("/memory")
        model.release()
        await room.until(room.replies)

        async def notes() -> list[str]:
            visible = (await running.history()).visible
            return [text_of(entry.blocks) for entry in visible if entry.kind is EntryKind.NOTE]

        await until(notes)
        assert "allergic" in (await notes())[0]
        await room.asks("two")
        assert "allergic" in "".join(read(model.requests[-1].request))
        assert not model.refused
