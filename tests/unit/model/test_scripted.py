"""The model for tests says what its script says, and is a model in everything else."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import Cause, ModelOverflow, ModelRefused, ModelUnavailable
from bot.history import Usage
from bot.messages import Message, text_block
from bot.model import CUT_OFF, Head, Limits, Model, Wait
from bot.model.provider_errors import TryAgain
from bot.model.scripted import Answer, ScriptedModel

HEAD = Head("any", 500, "Be kind.")
HELLO = [Message(role="user", content="Hello?")]
LONG = [Message(role="user", content="a long story " * 500)]


async def test_it_says_its_lines_in_their_order_and_keeps_what_it_was_asked() -> None:
    script = ScriptedModel("Hello, Ada.", Answer("I look.", calls=[("look", {"where": "here"}), ("look", {})]))
    model: Model = script
    first = await model.ask(HEAD, HELLO, who="ada")
    second = await model.ask(HEAD, HELLO, may_call=False)
    assert (first.blocks, first.stop_reason) == ((text_block("Hello, Ada."),), "end_turn")
    text, *calls = second.blocks
    assert text == text_block("I look.")
    assert [(call["type"], call["name"], call["input"]) for call in calls] == [
        ("tool_use", "look", {"where": "here"}),
        ("tool_use", "look", {}),
    ]
    assert len({call["id"] for call in calls}) == 2
    assert second.stop_reason == "tool_use"
    assert [(asked.who, asked.may_call, asked.text) for asked in script.asked] == [
        ("ada", True, "Hello?"),
        ("", False, "Hello?"),
    ]
    with pytest.raises(AssertionError, match=r"no line for request 3: 'Hello\?'"):
        await model.ask(HEAD, HELLO)
    assert model.load.in_flight == 0


async def test_a_function_is_asked_for_each_line() -> None:
    model = ScriptedModel(lambda asked: f"You said: {asked.text}")
    assert (await model.ask(HEAD, HELLO)).blocks == (text_block("You said: Hello?"),)
    assert (await model.ask(HEAD, [Message(role="user", content=[text_block("🦊")])])).blocks == (
        text_block("You said: 🦊"),
    )


async def test_an_answer_comes_word_by_word_and_may_be_held_and_is_let_go_when_nobody_wants_it_any_more() -> None:
    begun, gate, texts = asyncio.Event(), asyncio.Event(), list[str]()

    def hear(text: str) -> None:
        texts.append(text)
        if text:
            begun.set()

    model = ScriptedModel(Answer("It is\nthis 🦊.", after=gate), Answer("Never.", after=asyncio.Event()))
    asking = asyncio.create_task(model.ask(HEAD, HELLO, hear))
    assert (await model.until_asked()).head == HEAD
    await begun.wait()
    assert (texts, model.load.in_flight) == (["", "It "], 1)
    gate.set()
    await asking
    assert texts == ["", "It ", "It is\n", "It is\nthis ", "It is\nthis 🦊."]
    asking = asyncio.create_task(model.ask(HEAD, HELLO))
    await model.until_asked(2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert model.load.in_flight == 0


async def test_usage_is_guessed_unless_it_is_given_and_so_is_why_it_ends() -> None:
    given = Usage(1, 2, 3, 4)
    model = ScriptedModel("Yes.", Answer("Cut", usage=given, stop_reason=CUT_OFF))
    first, second = await model.ask(HEAD, HELLO), await model.ask(HEAD, HELLO)
    assert first.usage.context == await model.count(HEAD, HELLO)
    assert first.usage.output > 0
    assert (second.usage, second.stop_reason) == (given, CUT_OFF)


async def test_an_error_is_raised_is_a_trouble_as_long_as_it_lasts_and_what_passes_is_tried_again() -> None:
    model = ScriptedModel(
        ModelRefused("Wrong key.", cause=Cause.KEY), TryAgain("Not now.", 0.01), "There.", TryAgain("Later.", 3_600)
    )
    with pytest.raises(ModelRefused, match="Wrong key"):
        await model.ask(HEAD, HELLO)
    assert [trouble.cause for trouble in model.troubles] == [Cause.KEY]
    assert (await model.ask(HEAD, HELLO)).blocks == (text_block("There."),)
    assert (model.troubles, len(model.asked)) == ((), 3)
    with pytest.raises(ModelUnavailable, match="Later"):
        await model.ask(HEAD, HELLO)


async def test_what_is_larger_than_its_window_is_refused_with_both_numbers_and_uses_no_line() -> None:
    model = ScriptedModel("Short.", limits=Limits(200, 50, known=True))
    with pytest.raises(ModelOverflow) as refused:
        await model.ask(HEAD, LONG)
    assert (refused.value.asked, refused.value.window) == (await model.count(HEAD, LONG), 200)
    assert (await model.ask(HEAD, HELLO)).blocks == (text_block("Short."),)


async def test_a_window_that_a_refusal_states_is_learned() -> None:
    model = ScriptedModel(ModelOverflow("too long", window=5_000), limits=Limits(9_000, 500, known=True))
    with pytest.raises(ModelOverflow):
        await model.ask(HEAD, HELLO)
    assert await model.limits("any") == Limits(5_000, 500, known=True)
    assert await model.limits("another") == Limits(9_000, 500, known=True)


async def test_it_has_the_models_that_it_is_said_to_have() -> None:
    model = ScriptedModel(models=("this",), limits=Limits(9_000, 500, known=True))
    assert (await model.look_up("this"), await model.look_up("that")) == (9_000, None)
    assert await model.names() == ["this"]
    assert await model.limits("that") == Limits()
    assert await ScriptedModel(limits=Limits()).look_up("that") == 0


async def test_who_comes_second_waits_in_line_and_is_told() -> None:
    gate, waits = asyncio.Event(), list[Wait]()
    model = ScriptedModel(Answer("One.", after=gate), "Two.", calls=1)
    model.calls.queue.tell_seconds = 0.01
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(model.ask(HEAD, HELLO, who="ada"))
        await model.until_asked()

        def told(wait: Wait) -> None:
            waits.append(wait)
            gate.set()

        second = tasks.create_task(model.ask(HEAD, HELLO, who="bob", on_wait=told))
    assert second.result().blocks == (text_block("Two."),)
    assert waits[0] == Wait(before=1)
    await model.close()
    assert model.is_closed
