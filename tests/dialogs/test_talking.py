"""Two people talk: one of them is a model."""

from __future__ import annotations

from tests.dialogs.behind import asked, goes_on, heard, holds, hung_up, thinks, works
from tests.dialogs.conftest import Play
from tests.dialogs.pattern import Exactly
from tests.dialogs.stages import OTHERS, everywhere
from tests.dialogs.table import ada, bob, bot, bot_at_length, growing, no_typing, typing
from tests.servers.messages.server import Reply, ToolCall

COUNTING = "one two three four five six seven eight nine ten."
PARAGRAPHS = "\n\n".join(f"Paragraph {n} says this: {'word after word ' * 18}and ends." for n in range(30))
CODE = "\n".join(f"print('line {number} of a program that is longer than any message')" for number in range(120))


@everywhere()
async def test_the_model_remembers_what_was_said_before(play: Play) -> None:
    await play(
        ada("My dog is Rex."),
        bot("Noted*"),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )


@everywhere()
async def test_a_reply_is_seen_growing_before_it_is_complete(play: Play) -> None:
    await play(
        thinks(COUNTING),
        holds(after=3),
        ada("count to ten"),
        growing("one two*"),
        goes_on(),
        bot(Exactly(COUNTING)),
    )


@everywhere()
async def test_a_growing_reply_can_be_stopped_and_what_was_seen_of_it_stays(play: Play) -> None:
    await play(
        thinks(COUNTING),
        holds(after=3),
        ada("count to ten"),
        growing("one two*"),
        ada.stops(),
        bot("one two*(stopped)"),
        hung_up(),
        goes_on(),
        thinks("Yes."),
        ada("are you there?"),
        bot("Yes."),
        heard("count to ten", "[interrupted]"),
    )


@everywhere()
async def test_a_reply_that_is_stopped_within_code_says_so_below_the_code(play: Play) -> None:
    await play(
        thinks("Here it is:\n\n```python\nprint(1)\nprint(2)\nprint(3)\n```\n"),
        holds(after=4),
        ada("write a program"),
        growing("Here it is: *print(1)*"),
        ada.stops(),
        bot("Here it is: *print(1)* (stopped)"),
        hung_up(),
        goes_on(),
        thinks("Yes."),
        ada("are you there?"),
        bot("Yes."),
        heard("print(1)", "\n```\n[interrupted]"),
    )


@everywhere()
async def test_a_model_that_declines_in_the_middle_of_an_answer_says_so(play: Play) -> None:
    await play(
        thinks(lambda _: Reply("I can", stop_reason="refusal")),
        ada("how is that done?"),
        bot("I can … (The model declined to go on.)"),
        thinks(lambda _: Reply("", stop_reason="refusal")),
        ada("how?"),
        bot("The model declined to answer that."),
    )


@everywhere()
async def test_a_tool_that_runs_is_stopped_and_that_is_said_once(play: Play) -> None:
    await play(
        thinks(lambda _: Reply("", [ToolCall("shell", {"command": "sleep 60"})])),
        ada("wait for a minute"),
        growing("🔧 shell*"),
        works(),
        ada.stops(),
        bot("Stopped. Your message stays in the conversation."),
        no_typing(),
        goes_on(),
        thinks(lambda _: Reply("I wait.", [ToolCall("shell", {"command": "sleep 60"})])),
        ada("wait once more"),
        growing("I wait.*🔧 shell*"),
        works(),
        ada.stops(),
        bot("I wait. … (stopped)"),
        no_typing(),
        goes_on(),
        thinks("Yes."),
        ada("are you there?"),
        bot("Yes."),
        admins=[ada],
        tools={"shell": "unconfined"},
    )


@everywhere(OTHERS)
async def test_a_reply_to_an_older_message_says_which_one_and_one_to_the_newest_does_not(play: Play) -> None:
    await play(
        thinks("A ship."),
        ada("What is that?"),
        bot("A ship."),
        thinks("A house.\nIt is old."),
        ada("And that?"),
        bot("A house. It is old."),
        thinks("Hm."),
        ada.replies("How old is it?", to="A house.*"),
        bot("Hm."),
        heard("How old is it?", but_not=("\n> ",)),
        ada.replies("And how long is this one?", to="A ship."),
        bot("Hm."),
        heard(": A ship.\n\nAnd how long is this one?"),
        ada.replies("and this one?", to="A house.*"),
        bot("Hm."),
        heard(":\n> A house.\n> It is old.\n\nand this one?"),
    )


@everywhere()
async def test_it_shows_that_it_writes_until_it_has_written(play: Play) -> None:
    await play(
        holds(),
        ada("hello"),
        typing(),
        goes_on(),
        bot("Noted*"),
        no_typing(),
        holds(),
        ada("and again"),
        typing(),
        goes_on(),
        bot("Noted*"),
        no_typing(),
    )


@everywhere()
async def test_a_turn_is_stopped_and_the_message_is_kept(play: Play) -> None:
    await play(
        holds(),
        ada("My dog is Rex."),
        asked(),
        ada("/abort"),
        bot("Stopped. Your message stays in the conversation."),
        hung_up(),
        no_typing(),
        goes_on(),
        ada("/abort"),
        bot("There is nothing to stop."),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )


@everywhere()
async def test_a_reply_that_is_longer_than_a_message_comes_whole(play: Play) -> None:
    await play(
        thinks(PARAGRAPHS),
        ada("tell me everything"),
        bot_at_length(Exactly(PARAGRAPHS)),
        window=60_000,
    )


@everywhere()
async def test_code_that_is_longer_than_a_message_comes_whole(play: Play) -> None:
    await play(
        thinks(f"Here it is:\n\n```python\n{CODE}\n```\n\nThat is all."),
        ada("write a program"),
        bot_at_length(f"Here it is: {CODE} That is all."),
        window=60_000,
    )


@everywhere()
async def test_an_empty_reply_says_so(play: Play) -> None:
    await play(
        thinks(""),
        ada("hello"),
        bot("(The model gave an empty answer.)"),
        thinks("  \n "),
        ada("hello?"),
        bot("(The model gave an empty answer.)"),
    )


@everywhere()
async def test_a_message_of_nothing_but_emoji_is_a_message(play: Play) -> None:
    await play(
        ada("👍"),
        bot("Noted*"),
        heard("👍"),
        thinks("🎉🎉🎉"),
        ada("😀 🚀"),
        bot("🎉🎉🎉"),
        heard("😀 🚀"),
    )


@everywhere(OTHERS)
async def test_two_people_do_not_see_each_other(play: Play) -> None:
    await play(
        ada("My dog is Rex."),
        bot("Noted*"),
        bob("What is my dog?"),
        bot("I do not know the dog.", bob),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )
