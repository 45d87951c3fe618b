"""Requests for summaries as parts of a section, and back from there. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.compaction.trace import Body, Section
from bot.messages import Block, Message, text_block
from bot.store.runs import SummaryRequest

CUT_OFF = "No reply: the run, or the worker that asked, ended before one came."
_REQUEST = re.compile(r"### Request \d+ \((?P<mode>.*)\)")
_ROLE = re.compile(r"\*\*(?P<role>\w+)(?P<plain>:?)\*\*")
_SYSTEM, _TOOLS, _MESSAGES, _REPLY, _ERROR = "System prompt:", "Tools:", "Messages:", "Reply:", "Error:"


def told(asked: Sequence[SummaryRequest], tools: Sequence[Mapping[str, Any]]) -> list[str | Body]:
    """What stands in a section of these requests. ``tools``: those of the conversation."""
    parts: list[str | Body] = []
    for number, request in enumerate(asked, 1):
        parts += ["", f"### Request {number} ({request.mode})", ""]
        parts += [_SYSTEM, "", Body(request.system), ""]
        if request.mode == "conversation" and tools:
            parts += [_TOOLS, "", Body(tools_text(tools), "json"), ""]
        parts += [_MESSAGES, ""]
        for message in request.messages:
            parts += _message(message)
        if request.is_cut_off:
            parts += [CUT_OFF]
        elif request.error:
            parts += [_ERROR, "", Body(request.error)]
        else:
            parts += [_REPLY, "", Body(request.reply or "")]
    return parts


def tools_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Tools as a section has them. Books refer to its lines: what is changed here has to be read there, too."""
    return json.dumps(tools, ensure_ascii=False, indent=1)


def block_text(block: Mapping[str, Any]) -> str:
    """A block that is no text as a section has it; a line. Books refer to it, as to that of tools."""
    return json.dumps(block, ensure_ascii=False)


def _message(message: Message) -> list[str | Body]:
    role, content = message["role"], message["content"]
    if isinstance(content, str):
        return [f"**{role}:**", "", Body(content), ""]
    parts: list[str | Body] = [f"**{role}**", ""]
    for block in content:
        parts += [_body(block), ""]
    return parts


def _body(block: Block) -> Body:
    is_text = set(block) == {"type", "text"} and block["type"] == "text" and isinstance(block["text"], str)
    return Body(block["text"]) if is_text else Body(block_text(block), "json")


def asked_in(section: Section) -> tuple[SummaryRequest, ...]:
    """The requests that a section tells of."""
    starts = [at for at, part in enumerate(section) if isinstance(part, str) and _REQUEST.fullmatch(part)]
    return tuple(_request(section[at:end]) for at, end in zip(starts, [*starts, len(section)][1:], strict=True))


def _request(parts: Section) -> SummaryRequest:
    heading = _REQUEST.fullmatch(str(parts[0]))
    assert heading
    named: dict[str, str] = {}
    messages: list[Message] = []
    label = ""
    for part in parts[1:]:
        if isinstance(part, Body):
            if label != _MESSAGES:
                named[label] = part.text
            elif isinstance(content := messages[-1]["content"], list):
                content.append(_block(part))
            else:
                messages[-1]["content"] = part.text
        elif label == _MESSAGES and (role := _ROLE.fullmatch(part)):
            messages.append({"role": role["role"], "content": "" if role["plain"] else []})  # type: ignore[typeddict-item]
        elif part:
            label = part
    return SummaryRequest(
        heading["mode"], named.get(_SYSTEM, ""), tuple(messages), named.get(_REPLY), named.get(_ERROR)
    )


def _block(body: Body) -> Block:
    """What is no JSON any more, since a secret was taken out of it, is shown as it is."""
    if body.language != "json":
        return text_block(body.text)
    try:
        found = json.loads(body.text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else text_block(body.text)
