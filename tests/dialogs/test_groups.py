"""Where several people talk: what is answered, who is who, and which conversations are one."""

from __future__ import annotations

from tests.dialogs.behind import asked, goes_on, heard, holds, requests, thinks
from tests.dialogs.conftest import Play
from tests.dialogs.stages import GROUPS, everywhere
from tests.dialogs.table import COFFEE, GROUP, TEA, ada, bob, bot, growing


@everywhere(GROUPS)
async def test_only_what_is_meant_for_the_bot_is_answered(play: Play) -> None:
    await play(
        ada("hello everybody", GROUP),
        ada.to_bot("My dog is Rex.", GROUP),
        bot("Noted (1)*", GROUP, answers="My dog is Rex."),
        bob("that is a nice dog", GROUP),
        bob.replies("What is my dog?", GROUP, to="Noted*"),
        bot("The dog is Rex.", GROUP, answers="What is my dog?"),
        heard("Ada", "Bob", "My dog is Rex.", but_not=("hello everybody", "a nice dog")),
        requests(2),
    )


@everywhere(GROUPS)
async def test_speakers_are_named_to_the_model(play: Play) -> None:
    await play(
        ada.to_bot("I like tea.", GROUP),
        bot("Noted*", GROUP),
        bob.to_bot("I like coffee.", GROUP),
        bot("Noted*", GROUP),
        heard("Ada", ": I like tea.", "Bob", ": I like coffee."),
    )


@everywhere(GROUPS)
async def test_with_always_everything_is_answered(play: Play) -> None:
    await play(
        ada("My dog is Rex.", GROUP),
        bot("Noted*", GROUP),
        bob("What is my dog?", GROUP),
        bot("The dog is Rex.", GROUP),
        groups="always",
    )


@everywhere(GROUPS)
async def test_topics_are_conversations_of_their_own(play: Play) -> None:
    await play(
        ada.to_bot("My drink is green tea.", TEA),
        bot("Noted*", TEA),
        ada.to_bot("What is my drink?", COFFEE),
        bot("I do not know the drink.", COFFEE),
        bob.to_bot("What is my drink?", TEA),
        bot("The drink is green tea.", TEA),
    )


@everywhere(GROUPS)
async def test_a_group_and_a_private_chat_are_two_conversations(play: Play) -> None:
    await play(
        ada("My secret is a tattoo."),
        bot("Noted*"),
        ada.to_bot("What is my secret?", GROUP),
        bot("I do not know the secret.", GROUP),
    )


@everywhere(GROUPS)
async def test_a_reply_in_a_group_is_seen_growing(play: Play) -> None:
    await play(
        thinks("one two three four five six."),
        holds(after=3),
        ada.to_bot("count", GROUP),
        growing("one two*", GROUP),
        goes_on(),
        bot("one two three four five six.", GROUP),
    )


@everywhere(GROUPS)
async def test_commands_work_in_a_group(play: Play) -> None:
    await play(
        holds(),
        ada.to_bot("hello", GROUP),
        asked(),
        bob("/status", GROUP),
        bot("Model: *Now: answering", GROUP),
        bob("/abort", GROUP),
        bot("Stopped.*", GROUP),
        goes_on(),
    )


@everywhere(GROUPS)
async def test_in_a_group_a_time_zone_is_one_s_own_and_the_chat_s_is_chosen_by_admins(play: Play) -> None:
    await play(
        ada("/timezone Asia/Tokyo", GROUP),
        bot("You go by Asia/Tokyo (UTC+09:00)*This chat goes by *", GROUP),
        bob("/timezone", GROUP),
        bot("You go by *So does this chat.*Nobody chose*", GROUP),
        bob("/timezone chat Europe/Paris", GROUP),
        bot("The time zone of this chat is chosen by those who run me.*", GROUP),
    )
