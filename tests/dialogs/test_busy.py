"""What becomes of messages that come while an answer is being written, and of those that are changed."""

from __future__ import annotations

from tests.dialogs.behind import asked, goes_on, heard, holds, hung_up, requests, stored
from tests.dialogs.conftest import Play
from tests.dialogs.stages import EDITS, everywhere
from tests.dialogs.table import ada, bot, bot_on_terminal, marked

INTERRUPT = {"when_busy": "interrupt"}


@everywhere()
async def test_a_message_that_has_to_wait_is_marked_and_answered_after(play: Play) -> None:
    await play(
        holds(),
        ada("one"),
        asked(),
        ada("two"),
        marked("two", "👀"),
        goes_on(),
        bot("Noted (1)*"),
        bot("Noted (2)*"),
        marked("two"),
        heard("one", "two"),
    )


@everywhere()
async def test_messages_that_wait_are_answered_together(play: Play) -> None:
    await play(
        holds(),
        ada("one"),
        asked(),
        ada("two"),
        ada("three"),
        marked("three", "👀"),
        stored("three"),
        goes_on(),
        bot("Noted (1)*"),
        bot("Noted (2)*"),
        bot_on_terminal("(One answer to your 2 messages.)"),
        requests(2),
        heard("two", "three"),
    )


@everywhere()
async def test_with_interrupt_a_new_message_stops_the_answer_and_is_answered(play: Play) -> None:
    await play(
        holds(),
        ada("one"),
        asked(),
        ada("no, two"),
        hung_up(),
        goes_on(),
        bot("Noted (2)*"),
        heard("one", "no, two"),
        agents=INTERRUPT,
    )


@everywhere(EDITS)
async def test_a_message_that_is_changed_before_it_is_read_counts_as_changed(play: Play) -> None:
    await play(
        holds(),
        ada("one"),
        asked(),
        ada("tow"),
        marked("tow", "👀"),
        ada.edits("tow", "two"),
        stored("two"),
        goes_on(),
        bot("Noted (1)*"),
        bot("Noted (2)*"),
        heard("two", but_not=("tow", "I changed what I wrote")),
    )


@everywhere(EDITS)
async def test_a_message_that_is_changed_after_it_was_answered_is_answered_anew(play: Play) -> None:
    await play(
        ada("tow"),
        bot("Noted (1)*"),
        ada.edits("tow", "two"),
        bot("Noted (2)*"),
        heard("tow", "I changed what I wrote", "two"),
    )
