"""What the model server refuses and accepts."""

from typing import Any

import anthropic
import pytest

from tests.servers.asking import TOOLS, ask, assistant, said, user
from tests.servers.messages.server import MessagesServer

CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a tree"}
TEXT = {"type": "text", "text": "well"}
UNANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after: t1. Each"
REFUSED: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("messages: at least one message is required", [], {}),
    ('first message must use the "user" role', [assistant("hi")], {}),
    ("messages.0.role: Input should be 'user' or 'assistant'", [{"role": "bot", "content": "hi"}], {}),
    ('messages: Unexpected role "system"', [{"role": "system", "content": "hi"}], {}),
    ("all messages must have non-empty content", [user("")], {}),
    ("all messages must have non-empty content", [user("a"), assistant([]), user("b")], {}),
    ("text content blocks must be non-empty", [user([{"type": "text", "text": ""}])], {}),
    ("text content blocks must contain non-whitespace text", [user("  \n")], {}),
    (
        "system: text content blocks must be non-empty",
        [user("a")],
        {"system": [{"type": "text", "text": ""}]},
    ),
    ("cannot end with trailing whitespace", [user("a"), assistant("b ")], {}),
    ('but found multiple "user" roles in a row', [user("a"), user("b")], {}),
    ("messages.1: " + UNANSWERED, [user("a"), assistant([CALL])], {"tools": TOOLS}),
    ("messages.1: " + UNANSWERED, [user("a"), assistant([CALL]), user("b")], {"tools": TOOLS}),
    (UNANSWERED, [user("a"), assistant([CALL]), user([TEXT, RESULT])], {"tools": TOOLS}),
    ("messages.0.content.0: unexpected `tool_use_id` found", [user([RESULT])], {"tools": TOOLS}),
    (
        "messages.3.content.0: `tool_use` ids must be unique",
        [user("a"), assistant([CALL]), user([RESULT]), assistant([CALL]), user([RESULT])],
        {"tools": TOOLS},
    ),
    ("must define tools", [user("a"), assistant([CALL]), user([RESULT])], {}),
    (
        "Found multiple `tool_result` blocks",
        [user("a"), assistant([CALL]), user([RESULT, RESULT])],
        {"tools": TOOLS},
    ),
    ("can only be in `user` messages", [user("a"), assistant([RESULT]), user("b")], {"tools": TOOLS}),
    (
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        [user([{**TEXT, "cache_control": {"type": "ephemeral"}}] * 5)],
        {},
    ),
    ("messages.0.content.0.text.seq: Extra inputs are not permitted", [user([{**TEXT, "seq": 1}])], {}),
    ("turbo: Extra inputs are not permitted", [user("a")], {"extra_body": {"turbo": True}}),
    ("max_tokens: 9000 > 8192", [user("a")], {"max_tokens": 9000}),
    ("prompt is too long: 303035 tokens > 200000 maximum", [user("x" * 1_000_000)], {}),
]


@pytest.mark.parametrize(("wording", "messages", "more"), REFUSED)
async def test_what_the_real_one_refuses_is_refused(
    server: MessagesServer,
    client: anthropic.AsyncAnthropic,
    wording: str,
    messages: list[Any],
    more: dict[str, Any],
) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        await ask(client, messages, **more)
    assert wording in caught.value.message
    assert caught.value.type == "invalid_request_error"
    assert server.requests[0].outcome == "refused"


ACCEPTED: list[tuple[list[Any], dict[str, Any]]] = [
    ([user("a"), assistant("")], {}),
    ([user("a"), assistant([TEXT, CALL]), user([RESULT, TEXT])], {"tools": TOOLS}),
    ([user([{**TEXT, "cache_control": {"type": "ephemeral"}}])], {"extra_body": {"temperature": 0}}),
]


@pytest.mark.parametrize(("messages", "more"), ACCEPTED)
async def test_what_the_real_one_accepts_is_accepted(
    client: anthropic.AsyncAnthropic, messages: list[Any], more: dict[str, Any]
) -> None:
    assert said(await ask(client, messages, **more))


async def test_merged_roles_are_noted_where_they_are_accepted(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.strict_roles = False
    await ask(client, [user("a"), assistant([CALL]), user([RESULT]), user("b")], tools=TOOLS)
    assert server.requests[0].request.merged_roles
