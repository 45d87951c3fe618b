"""What the Messages API refuses, in its own words.

Wordings are those of https://platform.claude.com/docs/en/api/errors and of error messages
quoted in public issue trackers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.servers.messages.media import problem_of
from tests.servers.messages.server_tools import FIELDS, check_server_tools
from tests.servers.messages.tool_rules import check_tool_pairs, check_tools
from tests.servers.messages.wire import Json, Refused, blocks_of, count

COUNTABLE = frozenset(
    {
        "cache_control",
        "context_management",
        "mcp_servers",
        "messages",
        "model",
        "output_config",
        "speed",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
"""What count_tokens takes; it refuses max_tokens, stream and the like."""

THINKING = frozenset({"thinking", "redacted_thinking"})

TOP_LEVEL = COUNTABLE | {
    "container",
    "inference_geo",
    "max_tokens",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
}

BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"text", "citations"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context", "citations"}),
    "tool_use": frozenset({"id", "name", "input", "caller", "toolset_name"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    **FIELDS,
}
CACHE_MARKS = 4


@dataclass(frozen=True)
class Rules:
    """What may differ between models and moods of the API.

    The real API merges consecutive messages of one role. `strict_roles` refuses them as
    it once did and as other servers of this API still do. Newer models take no `prefill`.
    """

    window: int
    max_tokens: int
    strict_roles: bool = True
    prefill: bool = True

    def check(self, body: Json, *, counting: bool = False) -> None:
        """Raise `Refused` for the first thing that is wrong with a request."""
        _check_top_level(body, counting=counting)
        if not counting:
            self._check_max_tokens(body)
        messages = body["messages"]
        _check_shapes(messages)
        if self.strict_roles:
            _check_roles_alternate(messages)
        _check_contents(body)
        self._check_final_assistant(messages[-1])
        _check_cache_marks(body)
        check_tools(body)
        check_tool_pairs(merged(messages))
        check_server_tools(body, merged(messages))
        tokens = count(body)
        if not counting and tokens > self.window:
            refusal = f"prompt is too long: {tokens} tokens > {self.window} maximum"
            raise Refused(refusal)

    def _check_max_tokens(self, body: Json) -> None:
        wanted = body["max_tokens"]
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            raise Refused("max_tokens: Input should be a valid integer")
        if wanted < 0:
            raise Refused("max_tokens: Input should be greater than or equal to 0")
        if wanted > self.max_tokens:
            raise Refused(
                f"max_tokens: {wanted} > {self.max_tokens}, which is the maximum allowed"
                f" number of output tokens for {body['model']}"
            )

    def _check_final_assistant(self, last: Json) -> None:
        if last["role"] != "assistant":
            return
        blocks = blocks_of(last["content"])
        if any(block["type"] == "tool_use" for block in blocks):
            return  # the rule about pairs words this one
        if any(block["type"] in FIELDS for block in blocks):
            return  # a paused reply that is gone on with
        if not self.prefill:
            raise Refused(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        text = str(blocks[-1].get("text", "")) if blocks else ""
        if text != text.rstrip():
            raise Refused("messages: final assistant content cannot end with trailing whitespace")


def has_merged_roles(messages: object) -> bool:
    """Whether two messages in a row have the same role."""
    roles = [m.get("role") for m in messages] if isinstance(messages, list) else []
    return any(a == b for a, b in pairwise(roles))


def merged(messages: Sequence[Json]) -> list[Json]:
    """The messages as the API reads them, consecutive ones of a role as one."""
    result: list[Json] = []
    for message in messages:
        content = blocks_of(message["content"])
        if result and result[-1]["role"] == message["role"]:
            content = [*result.pop()["content"], *content]
        result.append({"role": message["role"], "content": content})
    return result


def _check_top_level(body: Json, *, counting: bool) -> None:
    required = ["model", "messages"] if counting else ["model", "max_tokens", "messages"]
    for name in required:
        if name not in body:
            raise Refused(f"{name}: Field required")
    for name in body:
        if name not in (COUNTABLE if counting else TOP_LEVEL):
            raise Refused(f"{name}: Extra inputs are not permitted")
    if not isinstance(body["messages"], list):
        raise Refused("messages: Input should be a valid list")
    if not body["messages"]:
        raise Refused("messages: at least one message is required")


def _check_shapes(messages: Sequence[Any]) -> None:
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if not isinstance(message, dict):
            raise Refused(f"{where}: Input should be an object")
        role = message.get("role")
        if role == "system":
            raise Refused(
                'messages: Unexpected role "system". The Messages API accepts a top-level'
                ' `system` parameter, not "system" as an input message role.'
            )
        if role not in ("user", "assistant"):
            raise Refused(f"{where}.role: Input should be 'user' or 'assistant'")
        for name in message.keys() - {"role", "content"}:
            raise Refused(f"{where}.{name}: Extra inputs are not permitted")
        if "content" not in message:
            raise Refused(f"{where}.content: Field required")
        if not isinstance(message["content"], str | list):
            raise Refused(f"{where}.content: Input should be a valid list")
        if isinstance(message["content"], list):
            _check_block_shapes(message["content"], where)
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')


def _check_block_shapes(blocks: Sequence[Any], where: str) -> None:
    for number, block in enumerate(blocks):
        at = f"{where}.content.{number}"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in BLOCK_FIELDS:
            tags = ", ".join(f"'{tag}'" for tag in BLOCK_FIELDS)
            raise Refused(
                f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
            )
        for name in block.keys() - BLOCK_FIELDS[kind] - {"type", "cache_control"}:
            raise Refused(f"{at}.{kind}.{name}: Extra inputs are not permitted")
        if kind == "text" and not isinstance(block.get("text"), str):
            raise Refused(f"{at}.text.text: Input should be a valid string")
        if kind == "tool_result" and isinstance(block.get("content"), list):
            _check_block_shapes(block["content"], at)


def _check_roles_alternate(messages: Sequence[Json]) -> None:
    for before, after in pairwise(messages):
        if before["role"] == after["role"]:
            raise Refused(
                'messages: roles must alternate between "user" and "assistant", but found'
                f' multiple "{after["role"]}" roles in a row'
            )


def _check_contents(body: Json) -> None:
    messages = body["messages"]
    for index, message in enumerate(messages):
        optional = index == len(messages) - 1 and message["role"] == "assistant"
        if not message["content"] and not optional:
            raise Refused(
                f"messages.{index}: all messages must have non-empty content except for"
                " the optional final assistant message"
            )
        _check_texts(message["content"], "messages")
        blocks = blocks_of(message["content"])
        if message["role"] == "assistant" and blocks and blocks[-1]["type"] in THINKING:
            kind = blocks[-1]["type"]
            raise Refused(f"messages.{index}: The final block in an assistant message cannot be `{kind}`.")
    system = body.get("system")
    if not isinstance(system, str | list | None):
        raise Refused("system: Input should be a valid list")
    if isinstance(system, list):
        _check_texts(system, "system")


def _check_texts(content: str | Sequence[Json], where: str) -> None:
    for block in blocks_of(content):
        if block["type"] == "tool_result":
            _check_texts(block.get("content", ""), where)
        if block["type"] == "text" and not block["text"]:
            raise Refused(f"{where}: text content blocks must be non-empty")
        if block["type"] == "text" and not block["text"].strip():
            refusal = f"{where}: text content blocks must contain non-whitespace text"
            raise Refused(refusal)
        if block["type"] in ("image", "document") and (problem := problem_of(block)):
            raise Refused(f"{where}: {problem}")


def _marks(part: object) -> Iterator[object]:
    """Every cache mark in this part of a request, however deep, but not in arguments."""
    if isinstance(part, list):
        for item in part:
            yield from _marks(item)
    if isinstance(part, dict):
        if part.get("cache_control") is not None:
            yield part["cache_control"]
        yield from _marks(part.get("content"))


def _check_cache_marks(body: Json) -> None:
    parts = [body.get("system"), body.get("tools"), body["messages"]]
    marks = [mark for part in parts for mark in _marks(part)]
    if body.get("cache_control") is not None:
        marks.append(body["cache_control"])
    for mark in marks:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            raise Refused("cache_control.type: Input should be 'ephemeral'")
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            raise Refused("cache_control.ttl: Input should be '5m' or '1h'")
    if len(marks) > CACHE_MARKS:
        raise Refused(f"A maximum of {CACHE_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
