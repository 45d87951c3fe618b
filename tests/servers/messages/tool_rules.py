"""What the Messages API refuses about tools, their calls and their results."""

import re
from collections.abc import Sequence

from tests.servers.messages.wire import Json, Refused

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")


def check_tools(body: Json) -> None:
    """Raise `Refused` for wrong definitions, or for calls without any."""
    tools = body.get("tools") or []
    names = [tool.get("name") for tool in tools]
    for index, tool in enumerate(tools):
        if tool.get("type", "custom") != "custom":
            continue  # a tool of the provider's own
        if not _NAME.match(str(tool.get("name", ""))):
            pattern = f"String should match pattern '{_NAME.pattern}'"
            raise Refused(f"tools.{index}.custom.name: {pattern}")
        if "input_schema" not in tool:
            raise Refused(f"tools.{index}.custom.input_schema: Field required")
        if tool["input_schema"].get("type") != "object":
            raise Refused(f"tools.{index}.custom.input_schema.type: Field required")
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    if not tools and body.get("tool_choice"):
        raise Refused("tool_choice may only be specified while providing tools")
    if not tools and any(
        block.get("type") in ("tool_use", "tool_result")
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


def check_tool_pairs(messages: Sequence[Json]) -> None:
    """Raise `Refused` unless each call is followed at once by its one result.

    `messages` alternate in role, and their contents are blocks.
    """
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            _check_calls(index, message, seen)
            following = messages[index + 1] if index + 1 < len(messages) else None
            _check_answered(index, message, following)
        else:
            _check_results(index, message, messages[index - 1] if index else None)


def _calls(message: Json | None) -> list[str]:
    blocks = message["content"] if message else []
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _check_calls(index: int, message: Json, seen: set[str]) -> None:
    for number, block in enumerate(message["content"]):
        at = f"messages.{index}.content.{number}"
        if block["type"] == "tool_result":
            refusal = "`tool_result` blocks can only be in `user` messages"
            raise Refused(f"messages.{index}: {refusal}")
        if block["type"] != "tool_use":
            continue
        for name in ("id", "name", "input"):
            if name not in block:
                raise Refused(f"{at}.tool_use.{name}: Field required")
        if not _ID.match(block["id"]):
            pattern = f"String should match pattern '{_ID.pattern}'"
            raise Refused(f"{at}.tool_use.id: {pattern}")
        if not isinstance(block["input"], dict):
            raise Refused(f"{at}.tool_use.input: Input should be an object")
        if block["id"] in seen:
            raise Refused(f"{at}: `tool_use` ids must be unique")
        seen.add(block["id"])


def _check_answered(index: int, message: Json, following: Json | None) -> None:
    answered = set()
    for block in following["content"] if following else []:
        if block["type"] != "tool_result":
            break  # results behind other content do not count
        answered.add(block.get("tool_use_id"))
    missing = [call for call in _calls(message) if call not in answered]
    if missing:
        raise Refused(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks"
            f" immediately after: {', '.join(missing)}. Each `tool_use` block must have a"
            " corresponding `tool_result` block in the next message."
        )


def _check_results(index: int, message: Json, before: Json | None) -> None:
    answered: set[str] = set()
    calls = _calls(before)
    for number, block in enumerate(message["content"]):
        at = f"messages.{index}.content.{number}"
        if block["type"] == "tool_use":
            refusal = "`tool_use` blocks can only be in `assistant` messages"
            raise Refused(f"messages.{index}: {refusal}")
        if block["type"] != "tool_result":
            continue
        call = block.get("tool_use_id")
        if call is None:
            raise Refused(f"{at}.tool_result.tool_use_id: Field required")
        if call not in calls:
            raise Refused(
                f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {call}."
                " Each `tool_result` block must have a corresponding `tool_use` block in"
                " the previous message."
            )
        if call in answered:
            raise Refused(
                f"{at}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {call}"
            )
        answered.add(call)
