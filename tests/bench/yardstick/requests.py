"""What a contender makes of messages: the request, whether it fits, and whether a provider takes it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.estimate import estimate_tokens
from bot.messages import Message
from tests.bench.yardstick.contenders import Contender
from tests.servers.messages.rules import Rules
from tests.servers.messages.wire import Refused

_RULES = Rules(window=10**9, max_tokens=8_192)


def compacted(contender: Contender, messages: Sequence[Message], limit: int) -> tuple[list[Message], bool]:
    """The request, and whether it fits."""
    request = list(contender.compact(list(messages), limit))
    return request, estimate_tokens(request) <= limit


def is_valid(request: Sequence[Message]) -> bool:
    """Whether a strict provider takes it with one more message of a person; nothing at all is no request."""
    if not request:
        return False
    messages = list(request)
    if messages[-1]["role"] == "assistant":
        messages.append(Message(role="user", content="go on"))
    blocks = [block for message in messages for block in message["content"] if not isinstance(block, str)]
    names = {block["name"] for block in blocks if block.get("type") == "tool_use"}
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in sorted(names)]
    body = {"model": "claude-test", "max_tokens": 1, "messages": messages, **({"tools": tools} if tools else {})}
    try:
        _RULES.check(body)
    except Refused:
        return False
    return True
