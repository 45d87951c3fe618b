"""Who may talk, and who lets them in."""

from __future__ import annotations

from tests.dialogs.behind import heard, requests
from tests.dialogs.conftest import Play
from tests.dialogs.stages import GROUPS, OTHERS, everywhere
from tests.dialogs.table import GROUP, ada, bob, bot, buttons, eve


@everywhere(OTHERS)
async def test_somebody_unknown_gets_a_code_and_an_admin_lets_them_in(play: Play) -> None:
    await play(
        eve("My password is swordfish."),
        bot("I do not know you yet. Your code is {code}. *Nothing you wrote was kept.", eve),
        eve("Hello?"),
        requests(0),
        ada("/pair {code}"),
        bot("Eve is let in."),
        bot("You are let in.*", eve),
        eve("hello again"),
        bot("Noted*", eve),
        heard("hello again", but_not=("swordfish", "Hello?")),
        access="pairing",
        admins=[ada],
    )


@everywhere(OTHERS)
async def test_a_code_lets_nobody_in_whom_no_admin_knows(play: Play) -> None:
    await play(
        eve("hello"),
        bot("I do not know you yet. Your code is {code}. *", eve),
        ada("/pair WRONG-CODE"),
        bot("I know no such code*"),
        ada("/pair {code}"),
        bot("Eve is let in."),
        bot("You are let in.*", eve),
        eve("/pair {code}"),
        bot("I do not know /pair.*", eve),
        access="pairing",
        admins=[ada],
    )


@everywhere(GROUPS)
async def test_in_a_group_the_person_counts(play: Play) -> None:
    await play(
        eve.to_bot("hello", GROUP),
        bot("I do not know you yet, Eve. Write to me in a private chat to be let in.*", GROUP),
        bob("nobody asked you", GROUP),
        ada.to_bot("hello", GROUP),
        bot("Noted*", GROUP),
        requests(1),
        access="pairing",
        admins=[ada],
    )


@everywhere(OTHERS)
async def test_an_admin_is_told_once_who_waits_and_lets_them_in_by_a_button(play: Play) -> None:
    await play(
        ada("hello"),
        bot("Noted*"),
        eve("My password is swordfish."),
        bot("I do not know you yet. Your code is {code}. *", eve),
        bot("Eve (*) waits to be let in, with the code {code}. Let in only whom you know."),
        eve("Hello?"),
        ada("/pair"),
        bot("Eve (*) waits with {code}\n/pair CODE lets somebody in."),
        buttons("Let in: Eve"),
        ada.presses("Let in", earliest=True),
        bot("Eve is let in."),
        bot("You are let in.*", eve),
        ada.presses("Let in: Eve"),
        bot("Eve was let in before."),
        ada("/pair"),
        bot("Nobody waits to be let in."),
        access="pairing",
        admins=[ada],
    )
