"""A section in its run's row: what the history says stands there alone, and every word of the section can be shown."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from sqlalchemy import text as sql

from bot.agent.compacting.trace import redacted, render
from bot.compaction.trace import Key, Section, Sources
from bot.compaction.trace.pieces import GONE
from bot.history import Entry, EntryKind, Layer, as_request
from bot.messages import Address, Message, text_block
from bot.model import Head
from bot.store import Database, agents, histories, runs
from bot.store.archive import withdrawing
from bot.store.operators import traces
from bot.store.runs import NewRun, Result, Run, RunState, SummaryRequest
from bot.store.traces import records
from tests.unit import any_section
from tests.unit.any_section import LONG, SECRET, TOOLS, section_of
from tests.unit.entries import replied, returned, said
from tests.unit.one_run import PLAN, a_meter

ADA = Address("telegram", "1001")
HEAD = Head("m", 100, "Be kind.\n" + LONG[2], tuple(TOOLS), standing="Write dates with the month as a word, always.")
TASK = "Write the summary that stands in the place of all this, and leave nothing out that matters."


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    opened = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


def talk(dice: random.Random, first: int) -> list[Entry]:
    """Some of it, with calls and results, and with what breaks documents."""
    found: list[Entry] = []
    for seq in range(first, first + 8, 4):
        words = [f"{seq}. {dice.choice(LONG)}", f"```\n## {seq} {'of what was said ' * 5}\n{'`' * dice.randint(3, 9)}"]
        found += [said(seq, words[1], key=f"k{seq}"), replied(seq + 1, "I look at it.", f"c{seq}")]
        found += [returned(seq + 2, f"c{seq}", f"{seq}: {dice.choice(LONG)}"), replied(seq + 3, dice.choice(words))]
    return found


async def compacted(database: Database, number: int, dice: random.Random) -> tuple[Run, Section]:
    """They talk, and all of it is compacted: asked from inside, corrected, and once more by a transcript."""
    agent_id = ADA.agent_id
    async with database.write() as tx:
        await agents.ensure(tx, ADA, now=1.0)
        await histories.remember_head(tx, HEAD.digest, HEAD.as_json())
        last = await histories.last_seq(tx, agent_id)
        await histories.append(tx, agent_id, talk(dice, last + 1), now=1.0)
        history = await histories.load(tx, agent_id)
        asked, summary = requests_of(history.visible, dice), f"## Task\nNumber {number}\n{dice.choice(LONG)}"
        replaced = {history.last_seq: (text_block(f"[outline of {number}: {'what it holds, ' * 9}]"),)}
        plan = replace(PLAN, upto=history.last_seq, hidden=((1, history.last_seq - 1),), replaced=replaced)
        new = NewRun(
            f"run{number}", agent_id, "auto", "reset", f"keep {SECRET}", None, 0, history.stack, plan.as_json(),
            HEAD.digest, "m", 1_000, a_meter(900),
        )  # fmt: skip
        await runs.begin(tx, new, now=1_000.0 + number)
        await runs.name_job(tx, new.id, "job", now=1.0)
        await runs.report(tx, new.id, "job", Result("summary", summary, inference=asked))
        await runs.end(tx, new.id, RunState.DONE, reason="", meter_after=a_meter(90), now=2_000.0)
        layer = Layer(number, history.last_seq, plan.hidden, replaced, floor=history.last_seq, run=new.id)
        kept = f"{summary}\n\n(Go on from there.)"
        inserted = Entry(history.last_seq + 1, "user", (text_block(kept),), EntryKind.SUMMARY, layer=number,
                         place=history.last_seq)  # fmt: skip
        await histories.put(tx, agent_id, layer, [inserted], now=1.0)
        run = await runs.get(tx, new.id)
        assert run
        section = redacted(
            render(run, tools=TOOLS, previous_summary=LONG[0], layer=number, inserted=[inserted]), [SECRET]
        )
        await runs.set_record(tx, run.id, records.record_of(section, await records.sources_of(tx, run)))
    return run, section


def requests_of(page: Sequence[Entry], dice: random.Random) -> tuple[SummaryRequest, ...]:
    task = Message(role="user", content=[text_block(TASK)])
    inside = (*as_request(page), task)
    more = (*inside, Message(role="assistant", content=[text_block(dice.choice(LONG))]), task)
    transcript = "\n\n".join(f"User: {block['text']}" for entry in page for block in entry.blocks if "text" in block)
    return (
        SummaryRequest("conversation", HEAD.prompt, inside, error=f"529 overloaded {SECRET}"),
        SummaryRequest("conversation", HEAD.prompt, inside, reply=dice.choice(LONG)),
        SummaryRequest("conversation", HEAD.prompt, more),
        SummaryRequest("transcript", "You write summaries.", (Message(role="user", content=transcript),), reply="none"),
    )


async def test_each_request_is_rebuilt_from_the_book_alone_and_no_word_of_the_history_is_in_the_row(
    database: Database,
) -> None:
    dice = random.Random(4711)
    done = [await compacted(database, number, dice) for number in range(1, 6)]
    async with database.read() as tx:
        for run, section in done:
            found = await runs.get(tx, run.id)
            assert found
            assert found.record
            assert found.asked == (), "it stands in the record alone"
            assert await traces.section_of(tx, found) == section
            told = await traces.asked_for(tx, found)
            assert [replace(one, error=None) for one in told] == [replace(one, error=None) for one in run.asked]
            assert told[0].error == "529 overloaded [redacted]"
            row = json.dumps(found.record, ensure_ascii=False)
            assert "of what was said" not in row, "it is in the history"
            assert LONG[2].split("\n")[3] not in row, "it is in the head"
            assert SECRET not in row
            assert "of what was said" in str(section)
            whole = json.dumps([one.as_json() for one in run.asked], ensure_ascii=False)
            assert len(row) < len(whole) / 3
        (day,) = await traces.days(tx)
        text = await traces.file_of(tx, day)
        assert [text.count(f"- **run**: {run.id}\n") for run, _ in done] == [1] * len(done)


async def test_a_layer_that_was_taken_off_and_new_talk_change_nothing(database: Database) -> None:
    dice = random.Random(17)
    done = [await compacted(database, number, dice) for number in (1, 2)]
    async with database.write() as tx:
        for number in (2, 1):
            await histories.take_off(tx, ADA.agent_id, number, now=3.0)
        last = await histories.last_seq(tx, ADA.agent_id)
        await histories.append(tx, ADA.agent_id, [said(last + 1, LONG[0])], now=3.0)
    async with database.read() as tx:
        for run, section in done:
            found = await runs.get(tx, run.id)
            assert found
            assert await traces.section_of(tx, found) == section


async def test_what_was_taken_back_is_in_the_section_no_more_and_the_rest_is(database: Database) -> None:
    run, section = await compacted(database, 1, random.Random(1))
    async with database.write() as tx:
        assert await withdrawing.hide(tx, ADA.agent_id, "k1", lambda _: 1) is not None
        found = await runs.get(tx, run.id)
        assert found
        told = await traces.section_of(tx, found)
    assert told is not None
    assert withdrawing.HIDDEN in str(told)
    assert len(told) == len(section)
    assert told[:20] == section[:20]


async def test_a_section_of_an_earlier_version_is_the_text_that_it_is(database: Database) -> None:
    run, _ = await compacted(database, 1, random.Random(1))
    old = {"run": run.id, "trace": "## old\n\nwords\n\n", "asked": json.dumps([one.as_json() for one in run.asked])}
    async with database.write() as tx:
        update = "UPDATE compactions SET record = NULL, trace = :trace, inference = :asked WHERE id = :run"
        await tx.execute(sql(update), old)
        found = await runs.get(tx, run.id)
        assert found
        assert await traces.section_of(tx, found) == old["trace"]
        assert await traces.asked_for(tx, found) == run.asked
        (day,) = await traces.days(tx)
        assert await traces.file_of(tx, day) == old["trace"]


@any_section.some
@given(any_section.runs())
def test_a_record_is_the_section_whatever_stands_in_it(day: list[Run]) -> None:
    texts: dict[Key, str] = {(number, 0): text for number, text in enumerate(LONG)}
    for run in day:
        section = section_of(run)
        record = json.loads(json.dumps(records.record_of(section, Sources(texts.items()))))
        assert records.is_record(record)
        assert records.section_from(record, texts) == section


@pytest.mark.parametrize(
    "strange", ["x", {}, [1], [[]], [[1]], [["", 1]], [["", [1, 2]]], [["", [1.5, 0, 1]]], [["", [1, 0, -1]]]]
)
def test_what_is_no_record_is_known_as_none(strange: Any) -> None:
    assert not records.is_record(strange)


def test_a_source_that_is_not_there_breaks_nothing() -> None:
    assert str(records.section_from([["", [7, 0, 0, 9]]], {})[0]).count(GONE) == 1
