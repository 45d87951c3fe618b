"""What was said in one conversation: each line once, wherever it is kept, in the order in which people read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.estimate import Meter, Part
from bot.files.blocks import unreadable
from bot.history import Entry, EntryKind, Usage
from bot.messages import Address, Attachment, Button, Inbound, Kept, OutFile, Role, text_block
from bot.store import Database, Tx, histories, inbox, outbox, turns
from bot.store.archive import settled
from bot.store.operators import talk
from bot.store.operators.talk import Line, Place
from bot.store.turns import TurnState

HERE = Address("web", "work")
METER = Meter.of([Part("talk", 10)], limit=100)


@pytest.fixture
async def either(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    database = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


def said(text: str, *, order: int, **more: Any) -> Inbound:
    return Inbound(HERE, f"message:work:{order}", "message", order, "operator", text, ref=f"r{order}", **more)


async def one_turn(tx: Tx, number: int, *, seq: int, reply: str | None = None) -> int:
    """Somebody says something at second 10 × ``number``, and it is answered five seconds later; returns the slot."""
    now = 10.0 * number
    await inbox.add(tx, said(f"question {number}", order=number), now=now)
    [waiting] = await inbox.waiting(tx, HERE.agent_id)
    slot = await outbox.open_slot(tx, HERE, answers=f"r{number}", now=now + 1)
    await turns.begin(tx, f"t{number}", HERE.agent_id, slot, now=now + 1)
    await inbox.take(tx, [waiting.id], f"t{number}")
    answer = reply or f"answer {number}"
    parts: list[tuple[Role, EntryKind, str]] = [
        ("user", EntryKind.SAID, f"question {number}"), ("assistant", EntryKind.REPLY, answer)
    ]  # fmt: skip
    for at, (role, kind, text) in enumerate(parts):
        entry = Entry(seq=seq + at, role=role, blocks=(text_block(text),), kind=kind, turn=f"t{number}")
        await histories.append(tx, HERE.agent_id, [entry], now=now + 5 * at)
    await outbox.change(tx, slot, answer)
    await outbox.delivered(tx, slot, 1, [str(slot)])
    await inbox.close_turn(tx, f"t{number}")
    await turns.end(tx, f"t{number}", TurnState.DONE, Usage(), now=now + 5, meter=METER)
    return slot


async def texts(database: Database, *, most: int = 50, before: Place | None = None) -> list[str]:
    async with database.read() as tx:
        found, _ = await talk.lines(tx, HERE, most=most, before=before)
    return [line.text for line in found]


async def page_by_page(database: Database, most: int) -> list[list[str]]:
    pages: list[list[str]] = []
    place: Place | None = None
    async with database.read() as tx:
        while True:
            found, place = await talk.lines(tx, HERE, before=place and Place.parse(str(place)), most=most)
            pages.insert(0, [line.text for line in found])
            if place is None:
                return pages


def talk_of(*numbers: int) -> list[str]:
    return [text for number in numbers for text in (f"question {number}", f"answer {number}")]


async def test_what_left_the_queues_is_read_from_the_history_and_nothing_is_shown_twice(database: Database) -> None:
    async with database.write() as tx:
        for number in range(1, 7):
            await one_turn(tx, number, seq=2 * number)
        await settled.forget(tx, before=35.0)
    assert await texts(database) == talk_of(*range(1, 7))
    async with database.read() as tx:
        found, further = await talk.lines(tx, HERE, most=50)
    assert [line.id[0] for line in found] == list("eeeeeeioioio")
    assert further is None


async def test_a_file_that_could_not_be_shown_to_the_model_is_read_from_the_history_as_a_file(
    database: Database,
) -> None:
    kept = Kept("memo.mp3", "files/memo.mp3", size=1_234)
    async with database.write() as tx:
        await one_turn(tx, 1, seq=2)
        blocks, _ = unreadable(kept, "sound cannot be heard")
        file = Entry(seq=4, role="user", blocks=tuple(blocks), kind=EntryKind.FILE, turn="t1")
        await histories.append(tx, HERE.agent_id, [file], now=10.0)
        await one_turn(tx, 2, seq=6)
        await settled.forget(tx, before=15.0)
        found, _ = await talk.lines(tx, HERE, most=50)
    assert [(one.name, one.path) for line in found for one in line.files] == [("memo.mp3", "files/memo.mp3")]


async def test_pages_of_any_size_hold_every_line_once_in_order(either: Database) -> None:
    async with either.write() as tx:
        for number in range(1, 7):
            await one_turn(tx, number, seq=2 * number)
        await settled.forget(tx, before=35.0)
    for most in (1, 3, 5, 12):
        pages = await page_by_page(either, most)
        assert [text for page in pages for text in page] == talk_of(*range(1, 7))
        assert all(len(page) <= most for page in pages)


async def test_a_reply_stands_below_the_compaction_that_made_room_for_it_and_below_what_was_said_of_its_files(
    either: Database,
) -> None:
    async with either.write() as tx:
        await inbox.add(tx, said("look", order=1), now=10.0)
        slot = await outbox.open_slot(tx, HERE, answers="r1", now=9.0)  # a clock that is behind
        await outbox.say(tx, HERE, "I cannot read it", answers="r1", now=9.0)
        status = await outbox.say(tx, HERE, "🗜 Compacted", buttons=[Button("Undo", "/undo 1")], now=10.5)
        await turns.begin(tx, "t1", HERE.agent_id, slot, now=9.0)
        await outbox.change(tx, slot, "seen")
        await tx.execute(_a_run(status))
    assert await texts(either) == ["look", "I cannot read it", "🗜 Compacted", "seen"]


async def test_a_line_tells_all_that_is_shown_of_it(database: Database) -> None:
    async with database.write() as tx:
        await inbox.add(tx, said("here", order=1, attachments=(Attachment("x", "a.png", size=3),)), now=1.0)
        await inbox.add(tx, Inbound(HERE, "press:work:1", "press", 2, "operator", "/abort"), now=2.0)
        await outbox.send_file(tx, HERE, OutFile(".sent/12-b.txt", "b.txt"), "the file", now=3.0)
        await outbox.release(tx, HERE.agent_id)
        growing = await outbox.open_slot(tx, HERE, now=4.0)
        gone = await outbox.open_slot(tx, HERE, now=5.0)
        await outbox.void(tx, gone)
        first, file, open_ = (await talk.lines(tx, HERE, most=9))[0]
        [fetching] = await inbox.fetching(tx, "web")
        await inbox.fetched(tx, fetching.id, [Kept("a.png", "files/a.png", "image/png", 3)])
        arrived: Line = (await talk.lines(tx, HERE, most=9))[0][0]
    assert (first.who, first.files, first.key) == ("person", (Kept("a.png", size=3),), "message:work:1")
    assert arrived.files == (Kept("a.png", "files/a.png", "image/png", 3),)
    assert arrived.version != first.version
    assert (file.who, file.text, file.files) == ("model", "the file", (Kept("b.txt", ".sent/12-b.txt"),))
    assert (open_.slot, open_.id) == (growing, f"o{growing}")


@pytest.mark.parametrize("text", ["", "1.2", "1.2.x", "1.2.-3", "1.2.3.4", "１.2.3"])
def test_a_place_that_nobody_gave_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # its text is what was given
        Place.parse(text)


async def test_conversations_of_a_connector_come_with_their_last_words(database: Database) -> None:
    async with database.write() as tx:
        await one_turn(tx, 1, seq=1)
        await inbox.add(tx, Inbound(Address("web", "later"), "k", "message", 1, "operator", "hi"), now=99.0)
        await inbox.add(tx, Inbound(Address("telegram", "1"), "k", "message", 1, "ada", "hi"), now=99.0)
        found = await talk.conversations(tx, "web", most=10)
        assert await talk.count(tx, "web") == 2
    assert [(one.address.chat, one.last) for one in found] == [("later", ""), ("work", "answer 1")]


def _a_run(status: int) -> Any:
    from bot.store.schema import compactions

    return compactions.insert().values(
        id="r", agent_id=HERE.agent_id, trigger="auto", strategy="reset", focus="", state="done", turn_id="t1",
        status_slot=status, stack=[], head="", model="", limit_tokens=1, jobs=0, meter_before={}, reason="",
        started_at=9.5, enqueued_at=9.5, traced=True, plan={},
    )  # fmt: skip
