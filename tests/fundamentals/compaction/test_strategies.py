"""How a conversation chooses the way in which it is compacted, and what each way leaves of it."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bot.compaction import STRATEGIES
from bot.errors import ConfigurationError
from bot.estimate import estimate_tokens
from bot.history import EntryKind
from bot.messages import Address
from bot.store import runs
from bot.store.operators import conversations
from bot.store.schema import agents
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

OWN = "tests.fundamentals.compaction.own_strategy"
LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."


async def talk(room: Room, count: int) -> None:
    for number in range(count):
        await room.asks(LINE.format(number))


async def up_to(total: int, running: House) -> str:
    """Something so long that the context comes to about this, as we estimate it and as the provider corrected us."""
    async with running.resources.database.read() as tx:
        factor, meter = (await tx.execute(select(agents.c.calibration, agents.c.meter))).one()
    text, room_for_it = "", (total - meter["total"]) / factor
    while estimate_tokens([{"role": "user", "content": text}]) < room_for_it:
        text += LINE.format(1)
    return text


async def last_run(house: House) -> runs.Run:
    async with house.resources.database.read() as tx:
        run = await runs.latest(tx, Address("room", "1").agent_id)
    assert run
    return run


async def compacted(room: Room) -> None:
    before = len(room.notices())
    await room.commands("/compact")
    await room.until(lambda: "Compacted:" in room.notices()[before])


async def test_a_conversation_is_compacted_by_the_strategy_of_the_settings(house: OpenHouse, room: Room) -> None:
    async with house(agents={"strategy": "segmented", "compact_ahead": False}) as running:
        await talk(room, 10)
        await compacted(room)
        assert (await last_run(running)).strategy == "segmented"
        view = (await running.history()).visible
        assert [entry.seq for entry in view[:3]] == [1, 2, 3]
        assert [entry.kind for entry in view[3:5]] == [EntryKind.SUMMARY, EntryKind.NOTE]
        assert view[-1].seq == 20


async def test_a_conversation_chooses_its_own_strategy_also_while_it_is_busy_and_keeps_it_over_a_restart(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"compact_ahead": False}):
        await talk(room, 9)
        model.hang()
        await room.says("And another one.")
        await model.wait_for(lambda server: server.running)
        assert (await room.commands("/strategy segmented")).startswith("From the next compaction on: segmented.")
        model.release()
        await room.until(lambda: len(room.replies()) == 10)
    async with house(agents={"compact_ahead": False}) as again:
        assert (await room.commands("/strategy")).startswith("I compact this conversation by: segmented.")
        await compacted(room)
        assert (await last_run(again)).strategy == "segmented"
        assert (await room.commands("/strategy default")).startswith("From the next compaction on: reset.")


async def test_the_level_in_the_book_is_that_of_the_strategy_that_was_chosen_from_then_on(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"compact_ahead": False}, strategy={"tiered": {"soft": "0.01"}}) as running:
        await room.asks("hello")

        async def level() -> str:
            async with running.resources.database.read() as tx:
                found = await conversations.get(tx, Address("room", "1").agent_id)
            assert found
            assert found.meter
            return found.meter.level

        assert await level() == "ok"
        await room.commands("/strategy tiered")
        assert await level() == "warning"
        await room.commands("/strategy default")
        assert await level() == "ok"


async def test_a_compaction_takes_options_for_itself_alone_together_with_what_to_keep(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"compact_ahead": False}) as running:
        await talk(room, 10)
        refused = await room.commands("/compact strategy=segmented keep=many")
        assert refused.startswith("The option keep_last of the strategy segmented cannot be 'many': ")
        await room.commands("/compact strategy=segmented keep=4 keep-first=1 the town")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        run = await last_run(running)
        assert (run.strategy, run.focus) == ("segmented", "the town")
        view = [entry for entry in (await running.history()).visible if entry.layer is None]
        assert [entry.seq for entry in view] == [1, *range(17, 21)]
        assert any("keep above all: the town" in record.request.last_user_text for record in model.requests)
        assert run.plan["given"] == "strategy=segmented keep=4 keep-first=1"
        assert (await room.commands("/strategy")).startswith("I compact this conversation by: reset.")


async def test_one_conversations_choice_is_not_anothers(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.commands("/strategy segmented", chat="1")
        assert "segmented" in (await room.commands("/strategy", chat="1")).splitlines()[0]
        assert "reset" in (await room.commands("/strategy", chat="2")).splitlines()[0]


async def test_a_strategy_that_there_is_not_is_told_with_those_there_are(house: OpenHouse, room: Room) -> None:
    async with house():
        told = await room.commands("/strategy magic")
        assert told.startswith("There is no strategy 'magic'.")
        assert all(name in told for name in STRATEGIES)


async def test_options_of_a_strategy_are_settings(house: OpenHouse, room: Room) -> None:
    options = {"segmented": {"keep_first": "1", "keep_last": "2"}}
    async with house(agents={"strategy": "segmented", "compact_ahead": False}, strategy=options) as running:
        await talk(room, 6)
        await compacted(room)
        view = (await running.history()).visible
        assert [entry.seq for entry in view if entry.layer is None] == [1, 11, 12]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"magic": {"x": "1"}}, "magic is not a strategy"),
        ({"segmented": {"keep_frist": "1"}}, "keep_frist.*keep_first"),
        ({"segmented": {"keep_first": "many"}}, "keep_first.*many"),
    ],
)
async def test_an_option_that_cannot_be_is_told_at_the_start(
    house: OpenHouse, options: dict[str, dict[str, str]], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        async with house(strategy=options):
            pass


async def test_ones_own_strategy_is_named_by_where_it_is_imported_from(house: OpenHouse, room: Room) -> None:
    async with house(agents={"strategy": f"{OWN}:KeepTwo", "compact_ahead": False}) as running:
        await talk(room, 5)
        assert "keep_two" in await room.commands("/status")
        await compacted(room)
        assert [entry.seq for entry in (await running.history()).visible if entry.layer is None] == [9, 10]


async def test_a_later_compaction_covers_an_earlier_summary_and_each_undo_takes_off_one_layer(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"compact_ahead": False}) as running:
        pages = []
        for _ in range(3):
            await talk(room, 6)
            pages.append((await running.history()).view())
            await compacted(room)
        summaries = [e for e in (await running.history()).visible if e.kind is EntryKind.SUMMARY]
        assert len(summaries) == 1, "the newest summary stands for the earlier ones"
        for page in reversed(pages):
            assert (await room.commands("/undo")).startswith("Took the last compaction back")
            assert (await running.history()).view()[: len(page)] == page
        assert await room.commands("/undo") == "There is nothing to undo."


async def test_a_strategy_of_ones_own_that_fails_is_told_and_the_conversation_goes_on(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"strategy": f"{OWN}:Broken", "emergency_context_limit": 1_200}):
        await talk(room, 2)
        await room.commands("/compact")
        assert room.notices()[-1] == "The strategy broken failed: RuntimeError: no plan today."
        assert "Context:" in await room.commands("/context")
        await talk(room, 20)
        assert len(room.replies()) == 22


@pytest.mark.one_wire("no endpoint of Chat Completions counts a prompt")
async def test_a_guess_near_a_level_is_counted_by_the_provider_before_it_decides(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"compact_ahead": False, "emergency_context_limit": 1_400}) as running:
        await room.asks("Something short.")
        await room.asks("Something short again.")  # so that the correction of the first turn is written down
        assert not model.counts, "nothing hangs on it yet"
        await room.asks(await up_to(1_040, running))
        assert len(model.counts) == 1
        assert "counted by the provider" in await room.commands("/context")


@pytest.mark.one_wire("no endpoint of Chat Completions counts a prompt")
async def test_where_nobody_counts_the_guess_decides_and_nobody_is_asked_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.counts_for_others = False
    async with house(agents={"compact_ahead": False, "emergency_context_limit": 1_400}) as running:
        await room.asks("Something short.")
        await room.asks("Something short again.")
        await room.asks(await up_to(1_040, running))
        await room.asks(LINE.format(2))
        assert len(model.counts) == 1
        assert len(room.replies()) == 4


async def test_the_context_tells_what_a_compaction_would_free_now(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}):
        await room.asks("Hello.")
        assert (await room.commands("/context")).endswith("would free nothing by reset")
        await talk(room, 8)
        told = (await room.commands("/context")).splitlines()[-1]
        assert told.startswith("/compact now: would free about ")
