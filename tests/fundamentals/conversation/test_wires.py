"""A conversation may change its model's endpoint at any moment: wire and provider, in the midst of a tool round too."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from bot.history import valid_request
from bot.messages import Block, Message, text_block, tool_calls
from bot.model import Head, Model, SettingNames
from bot.model.anthropic import AnthropicModel
from bot.model.chat.client import ChatModel
from bot.runtime.providers import Quirks, providers
from tests.house import House, Room, Wire, open_house, settings_for
from tests.servers.chat.manners import GATEWAY, MANNERS
from tests.servers.chat.shapes import SHAPES
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall

pytestmark = pytest.mark.one_wire("changes it by itself")

LINES = 60
FACT, QUESTION, ANSWER = "My dog is Rex.", "What is my dog?", "The dog is Rex."

OpenOn = Callable[[Wire], AbstractAsyncContextManager[House]]


@pytest.fixture
def on(model: MessagesServer, room: Room, data_dir: Path) -> OpenOn:
    """The program on one book, over either wire; on the second one the longest answer has to fit into the window, too,
    as it has to with vLLM and many gateways."""

    @asynccontextmanager
    async def open_(wire: Wire) -> AsyncIterator[House]:
        settings = settings_for(model, data_dir, wire, agents={"compact_ahead": False})
        model.manner = replace(model.manner, counts_answer=wire == "chat")
        async with open_house(settings, room) as house:
            yield house

    return open_


def line(number: int) -> str:
    """What is said in this line, so long that sixty of them are several windows."""
    if number == 1:
        return FACT
    return QUESTION if number == LINES else f"Line {number}: {'it goes on and on, ' * 12}and ends."


@pytest.mark.parametrize(
    "wires", [("chat",), ("messages", "chat")], ids=["the second wire", "changed every tenth line"]
)
async def test_sixty_lines_over_a_small_window_are_all_answered_and_the_first_is_known_in_the_last(
    on: OpenOn, model: MessagesServer, room: Room, wires: tuple[Wire, ...]
) -> None:
    answers = []
    for turn, first in enumerate(range(1, LINES + 1, 10)):
        async with on(wires[turn % len(wires)]) as house:
            answers += [await room.asks(line(number)) for number in range(first, first + 10)]
            layers = len((await house.history()).layers)
    assert [answer for answer in answers[:-1] if not answer.startswith("Noted")] == []
    assert answers[-1] == ANSWER
    assert [str(record.error) for record in model.refused] == []
    assert max(record.request.tokens for record in model.requests) <= model.window
    assert {record.request.wire for record in model.requests} == set(wires)
    assert layers > 1


async def test_a_limit_that_leaves_an_answer_less_room_than_usual_makes_it_shorter_and_is_not_refused(
    model: MessagesServer, room: Room, data_dir: Path
) -> None:
    settings = settings_for(model, data_dir, "chat", agents={"emergency_context_limit": 2_800, "warning": 0})
    model.manner = replace(model.manner, counts_answer=True)
    async with open_house(settings, room):
        for times in (100, 190):
            assert (await room.asks(f"Remember: {'it goes on and on, ' * times}and ends.")).startswith("Noted")
    assert [str(record.error) for record in model.refused] == []
    requests = [record.request for record in model.requests]
    assert requests[-1].tokens + requests[0].body["max_tokens"] > model.window
    assert 256 <= requests[-1].body["max_tokens"] < requests[0].body["max_tokens"]


def looks_once(request: MessagesRequest) -> Reply:
    """Looks into the folder, and then says what it found."""
    if any(block["type"] == "tool_result" for block in request.messages[-1]["content"]):
        return Reply(f"I looked, by {request.wire}.")
    return Reply("I look.", [ToolCall("list_files"), ToolCall("list_files")])


@pytest.mark.parametrize(("before", "after"), [("messages", "chat"), ("chat", "messages")])
async def test_a_tool_round_that_began_over_one_wire_ends_over_the_other(
    on: OpenOn, model: MessagesServer, room: Room, before: Wire, after: Wire
) -> None:
    model.brain = looks_once
    model.hang(lambda request: request.wire == before and len(request.messages) > 1)
    async with on(before) as house:
        await room.says("what is in my folder?")
        await model.wait_for(lambda s: len(s.requests) == 2)
        await house.end()
    async with on(after):
        await room.until(lambda: room.replies() and room.replies()[-1] == f"I looked, by {after}.")
    assert model.refused == []
    assert [record.request.wire for record in model.requests] == [before, before, after]


async def test_another_model_goes_on_within_the_turn_where_one_falls_away_between_a_call_and_its_result(
    model: MessagesServer, room: Room, data_dir: Path
) -> None:
    model.brain = looks_once
    model.fail(
        529, "overloaded_error", "Overloaded", times=None, when=lambda r: r.wire == "messages" and len(r.messages) > 1
    )
    model.manner = GATEWAY
    settings = settings_for(
        model,
        data_dir,
        model_fallback=("openai/gpt-test",),
        providers={"openai": {"key": "test-key", "base_url": model.chat_url}},
    )
    async with open_house(settings, room):
        assert (await room.asks("what is in my folder?")).startswith("I looked, by chat.")
    assert model.refused == []
    assert model.requests[-1].request.wire == "chat"


# --- every provider's ways, without the program around it ---

NAMES = SettingNames(key="OPENAI_API_KEY", base="OPENAI_BASE_URL")
TOOL = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
}
HEAD = Head("test-model", 500, "Be kind.", (TOOL,))


@dataclass
class Place:
    """An endpoint, as the strict server can be asked in its manner. ``name``: of its manner, or the first wire's."""

    name: str
    model: Model


@pytest.fixture
async def place(model: MessagesServer) -> AsyncIterator[Callable[[str], Place]]:
    """Opens an endpoint in the manner of a provider, where nothing is known of the model that answers there."""
    opened: list[Model] = []
    model.window = 200_000

    def open_(name: str) -> Place:
        model.manner = MANNERS.get(name, GATEWAY)
        quirks = providers()[name].quirks if name in MANNERS else Quirks()
        client: Model
        if name == "anthropic":
            client = AnthropicModel(api_key="test-key", base_url=model.url)
        else:
            header = "api-key" if name == "azure" else ""
            client = ChatModel(
                api_key="test-key", base_url=model.chat_url, names=NAMES, quirks=quirks, key_header=header
            )
        opened.append(client)
        return Place(name, client)

    yield open_
    for client in opened:
        await client.close()


async def goes_on(place: Place, page: list[Message], answers: list[str]) -> None:
    """One more answer over this endpoint, and what its calls give, on the page."""
    head = replace(HEAD, model=MANNERS[place.name].model if place.name in MANNERS else HEAD.model)
    reply = await place.model.ask(head, valid_request(page))
    page.append(Message(role="assistant", content=list(reply.blocks)))
    if calls := tool_calls(reply.blocks):
        results: list[Block] = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": "a mat"} for call in calls
        ]
        page.append(Message(role="user", content=results))
    else:
        answers.append("".join(block["text"] for block in reply.blocks if block["type"] == "text"))
        page.append(Message(role="user", content=[text_block("And now?")]))


def looks_twice(request: MessagesRequest) -> Reply:
    """Two calls at once, then one more, then words."""
    last = request.messages[-1]["content"]
    results = [block for block in last if block["type"] == "tool_result"]
    calls = [ToolCall("look", {"at": "the mat"}), ToolCall("look")]
    return (
        Reply("Here.", thinking="Hm.") if len(results) == 1 else Reply("I look.", calls if not results else calls[1:])
    )


EVERYONE = ("anthropic", *MANNERS)
NEXT = dict(pairwise((*EVERYONE, *EVERYONE[:1])))
STEPS = (1, 2, 3) if "LONG" in os.environ else (2,)
"""Requests before the change: behind two calls, behind one more, and between turns. The second has most of what can be
wrong on its page."""


@pytest.mark.rest  # some hundred requests, with LONG=1 a thousand
@pytest.mark.parametrize("before", EVERYONE)
async def test_what_one_provider_began_another_can_end(
    place: Callable[[str], Place], model: MessagesServer, before: str, subtests: pytest.Subtests
) -> None:
    """Itself, the first wire, and the next in the list."""
    model.brain = looks_twice
    for after in sorted({before, "anthropic", NEXT[before]}):
        for steps in STEPS:
            with subtests.test(after=after, steps=steps):
                await there_and_back(place, model, before, after, steps)


async def there_and_back(
    place: Callable[[str], Place], model: MessagesServer, before: str, after: str, steps: int
) -> None:
    refused = len(model.refused)
    page = [Message(role="user", content=[text_block("Where?")])]
    answers: list[str] = []
    first = place(before)
    for _ in range(steps):
        await goes_on(first, page, answers)
    second = place(after)
    while len(answers) < 2:
        await goes_on(second, page, answers)
    third = place(before)
    while len(answers) < 3:
        await goes_on(third, page, answers)
    assert answers == ["Here."] * 3
    assert [str(record.error) for record in model.refused[refused:]] == []


async def test_every_shape_of_a_stream_is_the_same_answer(
    place: Callable[[str], Place], model: MessagesServer, subtests: pytest.Subtests
) -> None:
    asked = place("openai").model
    for name in SHAPES:
        with subtests.test(name):
            await says_all(asked, model, name)


async def says_all(asked: Model, model: MessagesServer, name: str) -> None:
    calls = [ToolCall("look", {"at": "the mät"}), ToolCall("look"), ToolCall("look", {"at": "b"})]
    model.brain = lambda _: Reply("I look at äll of it.", calls)
    model.shape = SHAPES[name]
    reply = await asked.ask(HEAD, [Message(role="user", content=[text_block("Where?")])])
    texts = [block["text"] for block in reply.blocks if block["type"] == "text"]
    made = tool_calls(reply.blocks)
    assert texts == ["I look at äll of it."]
    assert [(call["name"], call["input"]) for call in made] == [(call.name, dict(call.input)) for call in calls]
    assert len({call["id"] for call in made}) == 3
    assert all(call["id"] for call in made)
    assert reply.stop_reason == "tool_use"
    if name != "no_usage":
        assert reply.usage.context == model.requests[-1].request.tokens
