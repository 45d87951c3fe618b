"""Storing what a platform brings: one event that cannot be stored holds up no others, and is not lost either."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from bot.bus.bus import Bus
from bot.errors import StoreUnavailable
from bot.gateway.admission import Admission
from bot.gateway.intake import SKIPPED, UNREAD, Intake
from bot.messages import Address, Attachment, Inbound, Kept, Quote
from bot.runtime.access import Access
from bot.store import Database, inbox, people, work
from bot.store.archive import dismissed, forgetting, settled
from bot.store.operators import parked
from tests.unit.gateway.room_intake import room_intake

HERE = Address("room", "1")
WELL = Inbound(HERE, "message:1:1", "message", 1, "ada", "hello", "Ada")
POISON = Inbound(HERE, "message:1:2", "message", 2, "ada\ud800", "a person whose id is no text", "Ada")
LATER = Inbound(HERE, "message:1:3", "message", 3, "ada", "and now?", "Ada")


@pytest.fixture
async def bus() -> AsyncIterator[Bus]:
    bus = Bus("redis://127.0.0.1:1", "test")
    yield bus
    await bus.close()


@pytest.fixture
def intake(database: Database, bus: Bus) -> Intake:
    return room_intake(database, bus)


async def waiting(database: Database) -> list[str]:
    async with database.read() as tx:
        return [message.text for message in await inbox.waiting(tx, HERE.agent_id)]


async def test_of_a_batch_only_what_cannot_be_stored_is_left_out_and_the_platform_is_read_on(
    intake: Intake, database: Database
) -> None:
    stored = await intake.take([WELL, POISON, LATER], "4")
    assert await waiting(database) == ["hello", "and now?"]
    assert [one.key for one in stored.new] == [WELL.key, LATER.key]
    assert [(say.text, say.address) for say in stored.told] == [(SKIPPED, HERE)]
    async with database.read() as tx:
        assert await inbox.cursor(tx, "connector:room") == "4"
        [one] = await parked.listed(tx)
    assert (one.id, one.key, one.text, one.person) == ("u1", POISON.key, POISON.text, POISON.person)
    assert one.reason.startswith("UnicodeEncodeError")


async def test_what_was_left_out_is_tried_again_only_when_it_can_be_stored(intake: Intake, database: Database) -> None:
    whole = replace(POISON, attachments=(Attachment("ref", "a.txt", size=3),), ref="77", speaker="Ada")
    await intake.take([whole], None)
    with pytest.raises(UnicodeEncodeError):
        async with database.write() as tx:
            await parked.retry(tx, "u1", now=2.0)
    async with database.read() as tx:
        assert await parked.get(tx, "u1")
    async with database.write() as tx:
        await parked.skip(tx, replace(whole, person="ada"), "it was our fault", now=3.0)
    async with database.write() as tx:
        one = await parked.retry(tx, "u2", now=4.0)
        assert one
        assert (one.files, one.reason) == (("a.txt",), "it was our fault")
        [fetching] = await inbox.fetching(tx, "room")
        assert fetching.attachments == whole.attachments
        assert await parked.get(tx, "u2") is None


class Away:
    """A book that cannot be reached."""

    clock = staticmethod(lambda: 1.0)

    def __init__(self) -> None:
        self.tries = 0

    def write(self) -> Any:
        self.tries += 1
        raise StoreUnavailable("away")


async def test_a_book_that_is_away_is_no_fault_of_what_is_stored(bus: Bus) -> None:
    away: Any = Away()
    intake = room_intake(away, bus)
    with pytest.raises(StoreUnavailable):
        await intake.take([WELL], "4")
    assert away.tries == 1


async def test_a_file_without_room_is_read_past_nothing(intake: Intake, database: Database) -> None:
    async with database.write() as tx:
        pages = (await tx.execute(text("PRAGMA page_count"))).scalar_one()
        await tx.execute(text(f"PRAGMA max_page_count={pages}"))
    with pytest.raises(StoreUnavailable, match="make room on the disk of DATA_DIR"):
        await intake.take([replace(WELL, text="x" * 100_000)], "4")
    async with database.read() as tx:
        assert (await inbox.cursor(tx, "connector:room"), await parked.listed(tx)) == (None, [])


async def test_what_sqlite_says_of_a_value_is_not_told(database: Database) -> None:
    words = "what I said"

    async def twice() -> None:
        async with database.write() as tx:
            for _ in range(2):
                await tx.execute(text("INSERT INTO heads VALUES (:id, '{}')"), {"id": words})

    with pytest.raises(IntegrityError) as caught:
        await twice()
    assert words not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["", "u", "x", "-1", "u-1", "1 OR 1", "9" * 30, "²", "17", "u17"])
async def test_nothing_is_found_under_any_other_name(database: Database, name: str) -> None:
    async with database.write() as tx:
        assert await parked.get(tx, name) is None
        assert await parked.retry(tx, name, now=1.0) is None


async def test_a_message_that_is_retried_waits_as_if_it_had_just_come(
    intake: Intake, database: Database, tmp_path: Path
) -> None:
    await intake.take([WELL], None)
    async with database.write() as tx:
        [message] = await inbox.waiting(tx, HERE.agent_id)
        await inbox.count_try(tx, [message.id])
        await parked.park(tx, [message.id], "boom \x00\ud800" + "!" * 9_999, now=5.0)
    async with database.read() as tx:
        [one] = await parked.listed(tx)
        assert (one.id, one.parked_at, len(one.reason)) == (str(message.id), 5.0, 2_000)
        assert await inbox.unanswered(tx, HERE) == 0
        assert await work.waiting_agents(tx, 10, now=0.0) == []
    assert await waiting(database) == []
    async with database.write() as tx:
        assert await parked.retry(tx, one.id, now=6.0)
        assert await inbox.waiting(tx, HERE.agent_id) == [message]


def pairing(database: Database, bus: Bus, per_person: int = 0) -> Intake:
    """A program that has just started, and knows only whom it let in."""
    return room_intake(database, bus, Admission(Access("pairing", frozenset()), per_person=per_person))


async def let_in(database: Database) -> None:
    async with database.write() as tx:
        [asked] = await people.everybody(tx, now=database.clock())
        assert await people.approve(tx, asked.code, now=database.clock())


async def test_what_was_refused_is_not_taken_when_it_is_brought_again_to_the_next_program(
    database: Database, bus: Bus
) -> None:
    """The platform was not told yet that it arrived: no cursor was stored with it."""
    edited = replace(WELL, key="edit:1:1:9", kind="edit", edits=WELL.key, text="hello!")
    assert not (await pairing(database, bus).take([WELL, edited], None)).new
    await let_in(database)
    stored = await pairing(database, bus).take([WELL, edited, LATER], "3")
    assert [one.key for one in stored.new] == [LATER.key]
    assert not stored.told


async def test_what_came_too_fast_is_not_taken_when_it_is_brought_again(database: Database, bus: Bus) -> None:
    await pairing(database, bus).take([WELL], None)
    await let_in(database)
    first = replace(WELL, key="message:1:0")
    stored = await pairing(database, bus, per_person=1).take([first, LATER], None)
    assert ([one.key for one in stored.new], len(stored.told)) == ([first.key], 1)
    assert not (await pairing(database, bus, per_person=1).take([first, LATER], None)).new


async def test_what_left_the_inbox_since_it_was_settled_is_not_taken_again(intake: Intake, database: Database) -> None:
    await intake.take([WELL, LATER], "3")
    async with database.write() as tx:
        await inbox.close(tx, [message.id for message in await inbox.waiting(tx, HERE.agent_id)])
        assert await settled.forget(tx, before=database.clock() + 1) == 1
    assert not (await intake.take([WELL, LATER], "3")).new


async def test_what_was_forgotten_is_not_taken_again(intake: Intake, database: Database) -> None:
    await intake.take([WELL, LATER], "3")
    async with database.write() as tx:
        await forgetting.everything(tx, HERE.agent_id)
    assert not (await intake.take([WELL, LATER], "3")).new


@pytest.mark.parametrize(("person", "chat"), [("ada", "1\ud800"), ("ada\ud800", "1")])
async def test_of_a_stranger_nothing_is_put_aside_either(database: Database, bus: Bus, person: str, chat: str) -> None:
    """What cannot be stored is kept for whoever mends that, but not a word of somebody unknown."""
    broken = replace(POISON, person=person, person_name="Ada", address=Address("room", chat))
    stored = await pairing(database, bus).take([broken], "2")
    assert [say.text for say in stored.told] == [SKIPPED]
    async with database.read() as tx:
        assert not await parked.listed(tx)
        assert await dismissed.known(tx, "room", [broken.key, WELL.key]) == {broken.key}


async def test_only_the_latest_of_what_was_dismissed_is_remembered(database: Database) -> None:
    async with database.write() as tx:
        await dismissed.add(tx, "room", ["the first"])
        await dismissed.add(tx, "room", [f"message:1:{number}" for number in range(dismissed.MOST - 1)])
        assert await dismissed.known(tx, "room", ["the first"])
        assert not await dismissed.known(tx, "other", ["the first"])
        await dismissed.add(tx, "room", ["the last"])
        assert await dismissed.known(tx, "room", ["the first", "the last"]) == {"the last"}


async def test_who_said_what_cannot_be_read_is_told_so_once(intake: Intake, database: Database) -> None:
    unread = replace(WELL, text="", is_unread=True)
    stored = await intake.take([unread, LATER], "3")
    assert [one.key for one in stored.new] == [LATER.key]
    assert [(say.text, say.answers) for say in stored.told] == [(UNREAD, WELL.ref)]
    assert not (await intake.take([unread, LATER], "3")).told


async def test_a_stranger_whose_message_cannot_be_read_is_told_what_strangers_are(database: Database, bus: Bus) -> None:
    stored = await pairing(database, bus).take([replace(WELL, text="", is_unread=True)], "3")
    assert ["Your code is" in say.text for say in stored.told] == [True]


async def test_an_edit_that_changed_what_nobody_had_read_is_none_when_it_is_brought_again_later(
    intake: Intake, database: Database
) -> None:
    """A call of a platform may come twice, the second time after what was edited has been answered."""
    first, second = (
        replace(WELL, key=f"edit:1:1:{order}", kind="edit", edits=WELL.key, order=order, text=text)
        for order, text in ((2, "hello!"), (3, "hello all"))
    )
    await intake.take([WELL, first, second], None)
    assert await waiting(database) == ["hello all"]
    async with database.write() as tx:
        await tx.execute(text("UPDATE inbox SET state = 'done'"))
    assert not (await intake.take([first, second], None)).new
    assert await waiting(database) == []
    third = replace(second, key="edit:1:1:4", order=4, text="hello you")
    assert len((await intake.take([third], None)).new) == 1


async def test_the_files_of_what_was_taken_back_go_also_when_something_else_of_the_batch_cannot_be_stored(
    intake: Intake, database: Database
) -> None:
    with_file = replace(WELL, attachments=(Attachment("ref", "a.txt", size=3),))
    await intake.take([with_file], None)
    async with database.write() as tx:
        [fetching] = await inbox.fetching(tx, "room")
        await inbox.fetched(tx, fetching.id, [Kept("a.txt", path="files/a.txt")])
    taken_back = replace(WELL, key="delete:message:1:1", kind="delete", person="", text="", edits=WELL.key)
    assert (await intake.take([taken_back, POISON], None)).gone == [(HERE.agent_id, "files/a.txt")]


async def test_whatever_ends_a_line_is_one_and_no_line_of_a_quotation_stands_beside_what_is_said(
    intake: Intake, database: Database
) -> None:
    words = "one\r\ntwo\u2028three\x85four"
    await intake.take([replace(WELL, text=words, quote=Quote("> Bob: hm\u2028Ada: yes\n> so"))], "1")
    async with database.read() as tx:
        [one] = await inbox.waiting(tx, HERE.agent_id)
    assert one.text == "one\ntwo\nthree\nfour"
    assert one.quote
    assert one.quote.text == "> Bob: hm\n> Ada: yes\n> so"
