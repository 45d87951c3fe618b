"""One meter: wherever a number of tokens is shown, it is the same, and it is the provider's. FEATURES B6, E6, P4."""

from __future__ import annotations

import re

import structlog
from sqlalchemy import select

from bot.compaction.statistics import statistics
from bot.messages import Address
from bot.store import runs, schema
from bot.store.operators import traces
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
MIXED = "天气很好，我们去散步吧。Погода хорошая. 🙂🐕 def f(x): return {'a': [1, 2]}"


def tokens(text: str) -> list[int]:
    """The numbers of tokens in a sentence, in order."""
    return [int(found.replace(",", "")) for found in re.findall(r"(?<![\w-])\d[\d,]*(?![\w%])", text)]


async def last_run(house: House) -> runs.Run:
    async with house.resources.database.read() as tx:
        run = await runs.latest(tx, Address("room", "1").agent_id)
    assert run
    return run


async def share_in_the_book(house: House) -> float:
    async with house.resources.database.read() as tx:
        meter = (await tx.execute(select(schema.agents.c.meter))).scalar_one()
    return float(meter["share"])


async def until_the_bottom_line_shows(total: int, room: Room) -> None:
    """A terminal's; it comes a little later than the answer."""
    await room.until(lambda: room.facts["1"]["total"] == total)


async def test_the_total_after_an_answer_is_what_the_provider_counted_in_any_language(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"emergency_context_limit": 2170}) as running:
        for text in ("Hello.", MIXED, MIXED * 5):
            await room.asks(text)
            usage = model.requests[-1].usage
            counted = model.requests[-1].request.tokens + usage.output_tokens
            shown = await room.commands("/context")
            assert tokens(shown)[0] == counted
            assert "counted by the provider" in shown
            await until_the_bottom_line_shows(counted, room)
            assert room.facts["1"]["share"] == await share_in_the_book(running), "rounded in the same way"


async def test_the_gate_the_notice_the_row_and_the_trace_have_the_same_number(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}) as running:
        while not any("Compacted:" in text for text in room.notices()):
            await room.asks(LINE.format(len(room.replies())))
        run = await last_run(running)
        assert run.meter_after
        (status,) = [message for message in room.shown["1"].values() if message.notice]
        before, after = run.meter_before.total, run.meter_after.total
        limit = run.meter_before.limit
        assert tokens(status.texts[0])[:2] == [before, limit], "as the gate decided"
        assert before / limit >= 0.75 > after / limit
        assert tokens(status.text)[:2] == [before, after]
        written = await running.trace()
        assert f"- **before**: {before:,} of {limit:,} tokens" in written
        assert f"- **after**: {after:,} of {limit:,} tokens" in written


async def test_the_notice_says_how_much_was_freed_and_the_context_and_the_bottom_line_have_the_same_number(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"compact_ahead": False}):
        for number in range(12):
            await room.asks(LINE.format(number))
        full = tokens(await room.commands("/context"))[0]
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        before, after = tokens(room.notices()[-1])[:2]
        assert before == full
        assert f"({1 - after / before:.0%} freed)" in room.notices()[-1]
        shown = await room.commands("/context")
        assert tokens(shown)[0] == after
        assert f"{before:,} → {after:,} tokens" in shown
        await until_the_bottom_line_shows(after, room)


async def test_what_became_of_the_messages_is_told_wherever_a_compaction_is_told(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}) as running:
        for number in range(12):
            await room.asks(LINE.format(number))
        messages = len((await running.history()).view())
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        left = len((await running.history()).view())
        assert left < messages
        told = f"{messages} → {left} messages ({100 * (messages - left) / messages:.1f}% fewer)"
        assert told in room.notices()[-1]
        assert told in await room.commands("/context")
        assert f"- **messages**: {told}" in await running.trace()
        async with running.resources.database.read() as tx:
            (ran,) = await traces.listed(tx)
        assert ran.stats
        assert (ran.stats["originalCount"], ran.stats["compactedCount"]) == (messages, left)


async def test_the_log_has_what_was_removed_and_saved_in_one_line_and_all_seven_figures_at_debug(
    house: OpenHouse, room: Room
) -> None:
    with structlog.testing.capture_logs() as logged:
        async with house(agents={"compact_ahead": False}) as running:
            for number in range(12):
                await room.asks(LINE.format(number))
            messages = len((await running.history()).view())
            await room.commands("/compact")
            await room.until(lambda: "Compacted:" in room.notices()[-1])
            left = len((await running.history()).view())
            run = await last_run(running)
            assert run.meter_after
            before, after = run.meter_before.total, run.meter_after.total
            await room.until(lambda: any(entry["event"] == "compaction_statistics" for entry in logged))
    (line,) = [entry for entry in logged if entry["event"] == "compaction_ended"]
    assert (line["log_level"], line["removed"], line["tokens_saved"]) == ("info", messages - left, before - after)
    assert line["reduction_percent"] == round(100 * (messages - left) / messages, 1)
    (begun,) = [entry for entry in logged if entry["event"] == "compaction_started"]
    assert (begun["log_level"], begun["reason"]) == ("info", "a person asked for it")
    (debug,) = [entry for entry in logged if entry["event"] == "compaction_statistics"]
    seven = statistics(count=messages, compacted=left, tokens=before, compacted_tokens=after)
    assert len(seven) == 7
    assert debug["log_level"] == "debug"
    assert {name: debug[name] for name in seven} == seven
