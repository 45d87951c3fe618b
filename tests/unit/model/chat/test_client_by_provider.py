"""The adapter in front of each provider: its own quirks, against a server that refuses what that provider refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from bot.errors import Cause, ModelError, ModelOverflow
from bot.messages import Message, text_block, tool_calls
from bot.model import Head, Model, SettingNames
from bot.model import Reply as Answer
from bot.model.anthropic import AnthropicModel
from bot.model.chat.client import ChatModel
from bot.runtime.providers import providers
from tests.servers.chat.manners import MANNERS, Manner
from tests.servers.chat.shapes import SHAPES, Shape
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall

EACH = pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)
NAMES = SettingNames("SOME_API_KEY", "SOME_BASE_URL")
ROUNDS = 3


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer() as server:
        yield server


def brain(request: MessagesRequest) -> Reply:
    """Looks three times before it answers, at two things at once."""
    turn = 0
    for message in reversed(request.messages):
        if message["role"] == "user" and not _results(message):
            break
        turn += bool(_results(message))
    if turn >= ROUNDS:
        return Reply("A fox, and a hen.")
    calls = [ToolCall("look", {"at": turn}), ToolCall("look", {})]
    return Reply("I look.", calls)


def _results(message: Mapping[str, Any]) -> list[Any]:
    content = message["content"]
    return [] if isinstance(content, str) else [block for block in content if block["type"] == "tool_result"]


def chat_model(server: MessagesServer, manner: Manner, key: str = "test-key") -> ChatModel:
    server.manner = manner
    provider = providers()[manner.name]
    return ChatModel(
        api_key=key, base_url=server.chat_url, names=NAMES, quirks=provider.quirks, key_header=provider.key_header
    )


def said(text: str) -> Message:
    return Message(role="user", content=[text_block(text)])


def results_of(reply: Answer) -> Message:
    found = [{"type": "tool_result", "tool_use_id": it["id"], "content": "a fox"} for it in tool_calls(reply.blocks)]
    return Message(role="user", content=list(found))


async def answered(models: Sequence[tuple[Model, Head]], page: list[Message]) -> Answer:
    """A whole turn; each of its requests goes to the next of these."""
    for step in range(ROUNDS + 1):
        model, head = models[step % len(models)]
        reply = await model.ask(head, page)
        page.append(Message(role="assistant", content=list(reply.blocks)))
        if not tool_calls(reply.blocks):
            return reply
        page.append(results_of(reply))
    raise AssertionError("it went on looking")


@EACH
async def test_two_turns_with_rounds_of_tools(server: MessagesServer, manner: Manner) -> None:
    server.brain = brain
    model = chat_model(server, manner)
    head = Head(manner.model, 500, "Be kind.", TOOLS)
    page = [said("Who is there?")]
    reply = await answered([(model, head)], page)
    assert (reply.blocks[-1], reply.stop_reason) == (text_block("A fox, and a hen."), "end_turn")
    assert reply.usage.context == server.requests[-1].request.tokens
    assert reply.usage.output > 0
    page.append(said("And now?"))
    assert (await answered([(model, head)], page)).stop_reason == "end_turn"
    assert [record.outcome for record in server.requests] == ["completed"] * 2 * (ROUNDS + 1)
    await model.close()


@EACH
@pytest.mark.parametrize("first", ["messages", "chat"])
async def test_the_wire_changes_with_every_request_of_a_round(
    server: MessagesServer, manner: Manner, first: str
) -> None:
    server.brain = brain
    chat: tuple[Model, Head] = (chat_model(server, manner), Head(manner.model, 500, "Be kind.", TOOLS))
    claude = AnthropicModel(api_key="test-key", base_url=server.url)
    messages: tuple[Model, Head] = (claude, Head("claude-test", 500, "Be kind.", TOOLS))
    order = [messages, chat] if first == "messages" else [chat, messages]
    page = [said("Who is there?")]
    await answered(order, page)
    page.append(said("And now?"))
    assert (await answered(order, page)).blocks[-1] == text_block("A fox, and a hen.")
    assert [record.outcome for record in server.requests] == ["completed"] * 2 * (ROUNDS + 1)
    for model, _ in order:
        await model.close()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_an_answer_is_the_same_in_every_shape(server: MessagesServer, shape: Shape) -> None:
    calls = [
        ToolCall("look", {"at": "ä" * 40, "deep": {"n": [1, 2]}}),
        ToolCall("look", {}),
        ToolCall("look", {"at": 2}),
    ]
    server.brain = lambda _: Reply("I look. " * 9, calls)
    server.shape = shape
    model = chat_model(server, MANNERS["openai"])
    reply = await model.ask(Head("gpt-5.2", 500, "Be kind.", TOOLS), [said("Who?")])
    await model.close()
    assert reply.blocks[0] == text_block("I look. " * 9)
    assert [it["input"] for it in tool_calls(reply.blocks)] == [dict(call.input) for call in calls]
    assert len({it["id"] for it in tool_calls(reply.blocks)}) == len(calls)
    assert reply.stop_reason == "tool_use"
    assert len(server.requests) == 1


@EACH
async def test_a_prompt_that_is_too_long_is_an_overflow(server: MessagesServer, manner: Manner) -> None:
    if manner.cuts:
        pytest.skip("it cuts the prompt, and says nothing")
    server.window = 600
    model = chat_model(server, manner)
    with pytest.raises(ModelOverflow):
        await model.ask(Head(manner.model, 100, "Be kind."), [said("a fox and a hen " * 500)])
    await model.close()
    assert len([record for record in server.requests if record.outcome == "refused"]) == 1


CAUSES = {
    "rate": {Cause.BUSY},
    "quota": {Cause.CREDIT, Cause.BUSY},  # Google's is one that the next minute or day ends
    "overloaded": {Cause.BUSY, Cause.AWAY},
    "key": {Cause.KEY},
    "model": {Cause.MODEL},
}


@EACH
@pytest.mark.parametrize("kind", CAUSES)
async def test_what_goes_wrong_is_known_by_its_cause(server: MessagesServer, manner: Manner, kind: str) -> None:
    server.fail_as(kind, times=None)
    model = chat_model(server, manner)
    with pytest.raises(ModelError) as raised:
        await model.ask(Head(manner.model, 100, "Be kind."), [said("hello")], patience=0)
    await model.close()
    assert raised.value.cause in CAUSES[kind]


@EACH
async def test_a_path_that_is_not_there_is_told_from_a_model(server: MessagesServer, manner: Manner) -> None:
    server.manner = manner
    model = ChatModel(api_key="test-key", base_url=f"{server.url}/wrong", names=NAMES)
    with pytest.raises(ModelError, match="SOME_BASE_URL") as raised:
        await model.ask(Head(manner.model, 100, "Be kind."), [said("hello")])
    await model.close()
    assert raised.value.cause is Cause.AWAY
