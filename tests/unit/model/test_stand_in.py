from __future__ import annotations

from bot.history import Usage
from bot.messages import Message
from bot.model import Head
from bot.model.scripted import Answer, ScriptedModel
from bot.model.stand_in import StandIn, begins_again

HEAD = Head("tiny", 100, "Be kind.")


def user(text: str) -> Message:
    return Message(role="user", content=text)


def model(text: str) -> Message:
    return Message(role="assistant", content=text)


PAGE = [user("My name is Anna."), model("No."), user("A haiku."), model("Rain, rain."), user("What is 12 times 7?")]


async def test_of_what_it_said_itself_it_reads_nothing() -> None:
    tiny = ScriptedModel(Answer("84", usage=Usage(input=20, output=1)))
    reply = await StandIn(tiny).ask(HEAD, PAGE, who="room-ada")
    assert not any("Rain" in str(message) or "No." in str(message) for message in tiny.asked[0].messages)
    assert tiny.asked[0].text == "What is 12 times 7?"
    assert reply.usage == Usage(output=1), "what was counted is not what the context holds"


async def test_the_first_message_is_sent_and_counted_as_it_is() -> None:
    tiny = ScriptedModel(Answer("Hello.", usage=Usage(input=20, output=1)))
    reply = await StandIn(tiny).ask(HEAD, PAGE[:1], who="room-ada")
    assert tiny.asked[0].messages == tuple(PAGE[:1])
    assert reply.usage == Usage(input=20, output=1)


async def test_a_summary_is_asked_for_with_everything() -> None:
    tiny = ScriptedModel("They talked.")
    await StandIn(tiny).ask(HEAD, PAGE)
    assert tiny.asked[0].messages == tuple(PAGE)


LOOP = "1. The answer is one. 2. The answer is one. 3. The answer is one. " * 20


async def test_an_answer_ends_where_it_begins_to_repeat_itself() -> None:
    heard: list[str] = []
    tiny = ScriptedModel(Answer(f"A list. {LOOP}", pace=0.001))
    reply = await StandIn(tiny).ask(HEAD, PAGE, heard.append, who="room-ada")
    assert reply.blocks == ({"type": "text", "text": "A list. 1. The answer is one."},)
    assert heard[-1] == "A list. 1. The answer is one."
    assert reply.stop_reason == "end_turn"


def test_the_same_words_in_another_order_are_no_repetition() -> None:
    assert begins_again("Yes. Yes. Boil the water. Then the water boils. Add salt to it.") is None
    assert begins_again("Boil the water.\nBoil the water.\n") == len("Boil the water.\n")
