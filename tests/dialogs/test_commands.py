"""What the program itself answers."""

from __future__ import annotations

from tests.dialogs.behind import asked, goes_on, holds, requests
from tests.dialogs.conftest import Play
from tests.dialogs.stages import everywhere
from tests.dialogs.table import ada, bot


@everywhere()
async def test_each_command_is_answered_and_reaches_no_model(play: Play) -> None:
    await play(
        ada("/help"),
        bot("/help: what I can do*/compact*/abort*/undo*/new*"),
        ada("/status"),
        bot("Model: *claude-sonnet-5*Now: waiting for you"),
        ada("/context"),
        bot("Context: * of * tokens*level ok*Last compaction: none yet*"),
        ada("/start"),
        bot("Hello!*"),
        ada("/compact"),
        bot("There is nothing to compact yet."),
        ada("/compact strategy=monologue"),
        bot("There is nothing to compact yet by monologue."),
        ada("/undo"),
        bot("There is nothing to undo."),
        requests(0),
    )


@everywhere()
async def test_a_command_can_be_written_as_plain_text(play: Play) -> None:
    await play(
        ada.writes("/status"),
        bot("Model: *"),
        ada.writes("/nonsense"),
        bot("I do not know /nonsense. /help lists what I know."),
        ada.writes("/compact strategy=monologue"),
        bot("There is nothing to compact yet by monologue."),
        requests(0),
    )


@everywhere()
async def test_commands_are_answered_while_a_turn_runs(play: Play) -> None:
    await play(
        holds(),
        ada("hello"),
        asked(),
        ada("/status"),
        bot("Model: *Now: answering"),
        ada("/context"),
        bot("Context: *"),
        ada("/help"),
        bot("/help: *"),
        ada("/compact"),
        bot("Busy: I am still answering.*"),
        ada("/new"),
        bot("Busy: I am still answering.*"),
        goes_on(),
        bot("Noted*"),
    )


@everywhere()
async def test_a_fresh_start_forgets_and_undo_brings_it_back(play: Play) -> None:
    await play(
        ada("My dog is Rex."),
        bot("Noted*"),
        ada("/new"),
        bot("A fresh start*"),
        ada("What is my dog?"),
        bot("I do not know the dog."),
        ada("/undo"),
        bot("The earlier conversation is back*"),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )


@everywhere()
async def test_people_choose_by_which_clock_they_go(play: Play) -> None:
    await play(
        ada("/timezone"),
        bot("I go by *Nobody chose*/timezone NAME*"),
        ada("/timezone Europe/Lisbn"),
        bot("I know no time zone 'Europe/Lisbn'. Did you mean Europe/Lisbon*Nothing was changed."),
        ada("/timezone lisbon"),
        bot("From now on I go by Europe/Lisbon (UTC*), where it is *That holds on this platform;*/timezone default*"),
        ada("/timezone"),
        bot("I go by Europe/Lisbon (UTC*"),
        ada("/timezone default"),
        bot("From now on I go by *Nobody chose*"),
        requests(0),
    )
