"""A head and a page of our history as the body of a Chat Completions request, as this endpoint takes it. Pure.

::

    text, tool_use, text, tool_use    {"role": "assistant", "content": "text text", "tool_calls": [...]}
    tool_result, tool_result, text    {"role": "tool", ...}, {"role": "tool", ...}, {"role": "user", ...}

What this form has no place for is put into words: that a tool failed, where a picture is from that stands behind the
result, what a provider's own tools did. Thoughts go, but those of this place and model, where it wants them back.
https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.files.blocks import is_media, unseen
from bot.history import REASONING, THINKING, valid_request
from bot.history.entry_text import text_to_read
from bot.history.server_tools import as_texts, continued, is_server_tool
from bot.messages import Block, Message, text_of, tool_calls
from bot.model.base import Head
from bot.model.foreign import matching, named, only
from bot.runtime.providers import Quirks

Json = dict[str, Any]

LONGEST_NAME = 64
EFFORT = "reasoning_effort"
ANSWER_FIELDS = ("max_completion_tokens", "max_tokens")
_NOT_TAKEN = re.compile(
    r"unsupported|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)"
    r"|not (?:be )?(?:supported|permitted|allowed|recogni[sz]ed|known)",
    re.IGNORECASE,
)
"""What is said of a parameter that is not known: by OpenAI ("Unsupported parameter: 'max_tokens' … Use …", "Unknown
parameter", "Unrecognized request argument"), by Groq ("property … is unsupported"), by pydantic, and so by Mistral and
servers in FastAPI ("Extra inputs are not permitted")."""
_TOO_LARGE = re.compile(r"too (?:large|small|high|long|low)|at (?:most|least)|maximum|minimum", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_LEAST_ANSWER = 256
"""What is less is no length that an answer could have, but another number in the sentence."""
_NONE_WITH_TOOLS = re.compile(rf"tools with {EFFORT} are not supported")
"""https://github.com/openai/openai-openapi/issues/541"""
_NAME = "[a-zA-Z_][a-zA-Z0-9_-]{0,63}"
"""Gemini's names begin with a letter or an underscore; elsewhere any of these may begin one."""
_ID = "[a-zA-Z0-9_-]{1,40}"
"""OpenAI takes 40 characters."""
FAILED = "[The tool failed.]"
EMPTY = "(empty)"
BETWEEN = "(The results are here.)"
"""Said by the assistant where an endpoint takes nothing of a person right behind a result."""
_TEXTS = frozenset({"text", "content"})
_AT_ONCE = "extra_content"
_CHUNKS = "thinking_chunks"


@dataclass(frozen=True)
class ChatRequest:
    """``body``: as it is sent, but for whether it is streamed. ``names``: ours, of the tools that are called
    otherwise there."""

    body: Json
    names: Mapping[str, str]


def chat_request(
    head: Head, messages: Sequence[Message], quirks: Quirks, *, place: str, may_call: bool = True
) -> ChatRequest:
    """The request. ``place``: the endpoint's, as in the book; ``may_call=False``: it is to answer without tools."""
    names: dict[str, str] = {}
    tools = [tool for tool in head.tools if not is_server_tool(tool)]
    body: Json = {"model": head.model, "messages": _Page(head.model, quirks, place, names).written(head, messages)}
    body[quirks.answer_field] = head.max_tokens
    if tools and (may_call or quirks.tool_choice_none):
        body["tools"] = [_tool(tool, names) for tool in tools]
        if not may_call:
            body["tool_choice"] = "none"
        if quirks.effort_with_tools and re.match(quirks.effort_models, head.model):
            body[EFFORT] = quirks.effort_with_tools
    return ChatRequest(body, names)


def other_effort(now: str, said: str) -> str | None:
    """The effort that a model is to be told where this one was refused in these words, empty for none at all; None
    where they say nothing of it."""
    if _NONE_WITH_TOOLS.search(said):
        return "none" if now != "none" else None
    return "" if now and EFFORT in said else None


def other_answer_field(now: str, said: str) -> str | None:
    """The parameter for the longest answer that a model is to be sent, where this one was refused in these words; None
    where they say nothing of it, or that it was too large."""
    if not re.search(rf"\b{now}\b", said) or not _NOT_TAKEN.search(said) or _TOO_LARGE.search(said):
        return None
    return next(name for name in ANSWER_FIELDS if name != now)


def longest_answer(asked: int, said: str) -> int | None:
    """The tokens of the longest answer that a model gives, where it refused to be asked for so many in these words;
    None where they say nothing of it."""
    if not any(re.search(rf"\b{name}\b", said) for name in ANSWER_FIELDS) or not _TOO_LARGE.search(said):
        return None
    stated = (int(number.replace(",", "")) for number in _NUMBER.findall(said))
    return max((number for number in stated if _LEAST_ANSWER <= number < asked), default=None)


def takes_no_options(said: str) -> bool:
    """Whether these words of a refusal say that the parameter is not known by which a stream tells its usage."""
    return "stream_options" in said and bool(_NOT_TAKEN.search(said))


def keeps_reasoning(quirks: Quirks, *, calls: bool) -> bool:
    """Whether the thoughts of an answer are sent back later, so that they are worth keeping."""
    return quirks.reasoning_back == "always" or (calls and quirks.reasoning_back != "never")


def is_lasting(quirks: Quirks) -> bool:
    """Whether they are sent with every later request."""
    return quirks.reasoning_back in ("always", "calls_always")


def _wire_name(own: str, names: dict[str, str]) -> str:
    name = named(own, _NAME, LONGEST_NAME)
    if name != own:
        names[name] = own
    return name


def _tool(tool: Mapping[str, Any], names: dict[str, str]) -> Json:
    function = {"name": _wire_name(tool["name"], names), "parameters": tool["input_schema"]}
    if described := tool.get("description"):
        function["description"] = described
    return {"type": "function", "function": function}


class _Page:
    """Writes the messages of one request. ``names`` gets those of the tools that are called otherwise."""

    def __init__(self, model: str, quirks: Quirks, place: str, names: dict[str, str]) -> None:
        self._model = model
        self._quirks = quirks
        self._place = place
        self._names = names
        self._messages: list[Json] = []
        self._called: dict[str, str] = {}
        """The calls of the last answer, by their id: what was called."""

    def written(self, head: Head, messages: Sequence[Message]) -> list[Json]:
        """All of them."""
        if prompt := head.prompt:
            self._messages.append({"role": self._quirks.system_role, "content": prompt})
        page = continued(valid_request(as_texts(only(messages, self._keeps))))
        asked = [index for index, message in enumerate(page) if message["role"] == "user" and _is_said(message)]
        opened = asked[-1] if asked else -1
        for index, message in enumerate(page):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                self._answer(blocks, is_open=index > opened)
            else:
                self._hear(blocks)
        return self._messages

    def _keeps(self, block: Block) -> bool:
        if block.get("type") == REASONING:
            return self._is_own(block)
        return block.get("type") not in THINKING

    def _is_own(self, block: Block) -> bool:
        whose = (block.get("place"), block.get("model"), block.get("field"))
        return whose == (self._place, self._model, self._quirks.reasoning) and self._quirks.reasoning_back != "never"

    def _answer(self, blocks: Sequence[Block], *, is_open: bool) -> None:
        calls = tool_calls(blocks)
        self._called = {call["id"]: call["name"] for call in calls}
        text = _words(block for block in blocks if block.get("type") not in ("tool_use", REASONING))
        if not text and not calls:
            return
        message: Json = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [self._call(call) for call in calls]
        if is_open or self._quirks.reasoning_back in ("always", "calls_always" if calls else ""):
            self._think(message, [block["value"] for block in blocks if block.get("type") == REASONING])
        self._messages.append(message)

    def _call(self, call: Block) -> Json:
        arguments = json.dumps(call.get("input") or {}, ensure_ascii=False)
        function = {"name": _wire_name(call["name"], self._names), "arguments": arguments}
        return {"id": self._id(call["id"]), "type": "function", "function": function}

    def _think(self, message: Json, thoughts: Sequence[Any]) -> None:
        """Put back what the endpoint thought for this message, or what stands there for somebody else's calls."""
        quirks, calls = self._quirks, message.get("tool_calls") or []
        field, stand_in = quirks.reasoning, quirks.reasoning_stand_in if calls else ""
        if field == _AT_ONCE:
            given = {self._id(own): value for thought in thoughts for own, value in thought.items()}
            for call in calls:
                if value := given.get(call["id"]):
                    call[field] = value
            if stand_in and field not in calls[0]:
                calls[0][field] = {"google": {"thought_signature": stand_in}}
        elif field == _CHUNKS:
            said = [{"type": "text", "text": message["content"]}] if message["content"] else []
            message["content"] = [*(part for thought in thoughts for part in thought), *said] or None
        elif all(isinstance(thought, str) for thought in thoughts):
            if thought := "\n\n".join(thoughts) or stand_in:
                message[field] = thought
        else:
            message[field] = [detail for thought in thoughts for detail in thought]

    def _hear(self, blocks: Sequence[Block]) -> None:
        """What tools came to, then what people said."""
        said: list[Block] = []
        behind: list[Json] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._messages.append(self._result(block, behind))
            else:
                said.append(block)
        parts = [*behind, *_joined(map(self._part, said))]
        if not parts:
            return
        if self._quirks.alternates and self._messages and self._messages[-1]["role"] == "tool":
            self._messages.append({"role": "assistant", "content": BETWEEN})
        if self._messages and self._messages[-1]["role"] == "user":  # what stood between them has no words here
            parts = [*_as_parts(self._messages.pop()["content"]), *parts]
        self._messages.append({"role": "user", "content": _content(parts)})

    def _result(self, block: Block, behind: list[Json]) -> Json:
        """What a tool came to. ``behind`` gets what cannot stand in it."""
        content = block.get("content") or ""
        inside = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        call = self._id(block["tool_use_id"])
        parts: list[Json] = []
        for item in inside:
            part = self._part(item)
            if part["type"] != "text" and not self._quirks.tool_pictures:
                kind = item["type"]
                name = self._called.get(block["tool_use_id"], "a tool")
                behind += [_text(f"[The {kind} that is part of the result of {name}, call {call}]"), part]
                part = _text(f"[{kind}: it follows behind the results]")
            parts.append(part)
        if block.get("is_error"):
            parts.insert(0, _text(FAILED))
        return {"role": "tool", "tool_call_id": call, "content": _content(_joined(parts)) or EMPTY}

    def _part(self, block: Block) -> Json:
        """A block as a part of a content; of one that the endpoint does not take, what it says."""
        if block.get("type") == "text":
            return _text(block["text"])
        if not is_media(block):
            return _text(text_to_read([block]))
        source: Mapping[str, Any] = block["source"]
        kind, given = block["type"], source.get("type")
        if kind == "document" and given in _TEXTS:
            return _text(_document(block))
        if kind == "image" and self._quirks.images and given in ("base64", "url"):
            return {"type": "image_url", "image_url": {"url": source["url"] if given == "url" else _data_url(source)}}
        if kind == "document" and self._quirks.documents and given == "base64":
            name = str(block.get("title") or "document.pdf")
            return {"type": "file", "file": {"filename": name, "file_data": _data_url(source)}}
        return _text(unseen(block))

    def _id(self, own: str) -> str:
        return matching(own, self._quirks.call_ids or _ID)


def _is_said(message: Message) -> bool:
    """Whether anything in it is not what a tool came to."""
    content = message["content"]
    return isinstance(content, str) or any(block.get("type") != "tool_result" for block in content)


def _document(block: Block) -> str:
    """A document that is text, with its name before it."""
    source = block["source"]
    data = source.get("data") or source.get("content") or ""
    words = data if isinstance(data, str) else text_of(data)
    return "\n".join(part for part in (f"[document: {block['title']}]" if block.get("title") else "", words) if part)


def _data_url(source: Mapping[str, Any]) -> str:
    return f"data:{source['media_type']};base64,{source['data']}"


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def _words(blocks: Any) -> str:
    said = (block["text"] if block.get("type") == "text" else text_to_read([block]) for block in blocks)
    return "\n\n".join(text for text in said if text.strip())


def _joined(parts: Any) -> list[Json]:
    """Texts beside each other as one: some endpoints put them together without anything between them."""
    joined: list[Json] = []
    for part in parts:
        if part["type"] != "text":
            joined.append(part)
        elif not part["text"].strip():
            continue
        elif joined and joined[-1]["type"] == "text":
            joined[-1] = _text(f"{joined[-1]['text']}\n\n{part['text']}")
        else:
            joined.append(part)
    return joined


def _as_parts(content: str | list[Json]) -> list[Json]:
    return [_text(content)] if isinstance(content, str) else content


def _content(parts: Sequence[Json]) -> str | list[Json]:
    """A text where it is one: every endpoint takes that."""
    joined = _joined(parts)
    if len(joined) == 1 and joined[0]["type"] == "text":
        return str(joined[0]["text"])
    return joined or ""
