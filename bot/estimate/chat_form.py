"""Messages in the form of the Chat Completions API, as messages of the Messages API and back. Pure.

::

    {"role": "system", "content": …}                             the system prompt
    {"role": "assistant", "content": …, "tool_calls": […]}       text and tool_use blocks
    {"role": "tool", "tool_call_id": …, "content": …}            a user message with a tool_result block

Reading raises nothing: what is malformed is taken as it stands, and who needs to know checks it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from bot.messages import Block, text_block

SYSTEM_ROLES = frozenset({"system", "developer"})
TOOL = "tool"
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)

Given = Mapping[str, Any]


def is_chat(message: object) -> bool:
    """Whether a message has what only this form has, beside a system prompt among the messages."""
    if not isinstance(message, Mapping):
        return False
    if message.get("role") == TOOL or "tool_calls" in message or is_refusal(message):
        return True
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") == "image_url" for part in content
    )


def is_refusal(message: Given) -> bool:
    """Whether the model declined, which then stands beside an empty content."""
    return isinstance(message.get("refusal"), str) and not message.get("content")


def is_system(message: object) -> bool:
    """Whether it is the system prompt, or a part of it."""
    return isinstance(message, Mapping) and message.get("role") in SYSTEM_ROLES


def read(messages: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Each message but those of the system as one of the Messages API, with its index. What is one stays as it is.

    Some servers count calls anew in every reply, or give them no id: here each has one of its own. A result answers
    the first call of its id, since somebody spoke, that nothing has answered; one that does not say which, the first.
    """
    messages = list(messages)
    elsewhere = {_id_of_call(call) for message in messages for call in _asked(message)}
    seen: set[str] = set()
    waiting: list[tuple[str, str]] = []  # what each call is named there, and here
    for index, message in enumerate(messages):
        if is_system(message):
            continue
        if isinstance(message, Mapping) and message.get("role") == "user":
            waiting = []
        if not is_chat(message):
            yield index, message
        elif message.get("role") == TOOL:
            own = id_of(message)
            answered = next((call for call in waiting if own in ("", call[0])), ("", own or f"result-{index}"))
            waiting = [call for call in waiting if call != answered]
            yield index, {"role": "user", "content": [_result(message, answered[1])]}
        else:
            calls = list(_calls(message, seen, elsewhere))
            waiting += [(_id_of_call(call.get("given", call)), call["id"]) for call in calls]
            yield index, {"role": message.get("role"), "content": [*_said(message), *calls]}


def system_of(messages: Iterable[Any]) -> list[Any]:
    """What the system messages say: texts, and lists of blocks."""
    return [message.get("content") for message in messages if is_system(message)]


def id_of(message: Given) -> str:
    """Which call a result answers; empty where it does not say so."""
    return next((str(message[key]) for key in ("tool_call_id", "id") if message.get(key)), "")


def reply(blocks: Sequence[Block], given: Sequence[Given]) -> dict[str, Any]:
    """The assistant's message that these blocks are. ``given``: those that they came from, whose own words for a call
    are kept, and all else that a single one says."""
    written = {str(call.get("id")): call for message in given for call in message.get("tool_calls") or ()}
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls = [block.get("given") or written.get(block["id"]) or _written_call(block) for block in uses]
    kept = {key: value for key, value in (given[0] if len(given) == 1 else {}).items() if key != "tool_calls"}
    content = _content([block for block in blocks if block.get("type") != "tool_use"])
    return {**kept, "role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def result(block: Block, given: Given) -> dict[str, Any]:
    """The tool's message that this result is, made of the one that it came from."""
    content = block.get("content") or ""
    return {**given, "content": content if isinstance(content, str) else _content(content) or ""}


def words(role: str, blocks: Sequence[Block]) -> dict[str, Any]:
    """A message of these blocks: a text where they are one, else parts, so that what was said stays apart."""
    return {"role": role, "content": _content(blocks) or ""}


def _calls(message: Given, seen: set[str], elsewhere: set[str]) -> Iterator[Block]:
    """``given``: the call as it stands there, where its own id is not one by which it could be told from others."""
    for call in _asked(message):
        asked = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and isinstance(asked, Mapping):
            own = _id_of_call(call)
            used = own if own and own not in seen else _another(own or "call", seen, elsewhere)
            seen.add(used)
            name, arguments = str(asked.get("name") or ""), _arguments(asked.get("arguments"))
            read = {"type": "tool_use", "id": used, "name": name, "input": arguments}
            yield read if used == own else {**read, "given": call}


def _asked(message: object) -> Sequence[Any]:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    return calls if isinstance(calls, Sequence) else ()


def _id_of_call(call: object) -> str:
    return str(call.get("id") or "") if isinstance(call, Mapping) else ""


def _another(name: str, seen: set[str], elsewhere: set[str]) -> str:
    names = (f"{name}-{number}" for number in count(len(seen) + 1))
    return next(new for new in names if new not in seen and new not in elsewhere)


def _said(message: Given) -> list[Any]:
    """What stands beside the calls. A refusal is the words that the model declined with."""
    return _blocks(message["refusal"] if is_refusal(message) else message.get("content"))


def _arguments(given: object) -> object:
    """What the JSON says; a text that is no object is kept as it is."""
    if not isinstance(given, str):
        return given or {}
    try:
        found = json.loads(given or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": given}


def _written_call(block: Block) -> Given:
    arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def _result(message: Given, call_id: str) -> Block:
    content = message.get("content")
    inside = content if isinstance(content, str) else _blocks(content)
    return {"type": "tool_result", "tool_use_id": call_id, "content": inside}


def _blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return [_block(part) for part in content] if isinstance(content, Sequence) else []


def _block(part: Any) -> Any:
    """Pictures as blocks of the Messages API; all else as it is."""
    if not isinstance(part, Mapping) or part.get("type") != "image_url":
        return part
    place = part.get("image_url")
    url = str(place.get("url") if isinstance(place, Mapping) else place)
    data = _DATA_URL.fullmatch(url)
    source = {"type": "base64", "media_type": data[1], "data": data[2]} if data else {"type": "url", "url": url}
    return {"type": "image", "source": source, "given": part}


def _content(blocks: Sequence[Block]) -> str | list[Any] | None:
    if not blocks:
        return None
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return str(blocks[0]["text"])
    return [block.get("given", block) for block in blocks]
