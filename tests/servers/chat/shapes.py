"""How an answer is cut into chunks: what is seen in the wild, as a table.

https://github.com/openai/openai-openapi (CreateChatCompletionStreamResponse), the providers' pages in `manners`, and
the source of the servers that are named beside each shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.servers.messages.stream import Answer, split
from tests.servers.messages.wire import Json, ToolCall

CREATED = 1_763_000_000
"""Seconds since 1970."""
FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@dataclass(frozen=True)
class Shape:
    """The way of one stream. Unless said otherwise it is OpenAI's own.

    - ``first``: the chunk before all others has the role and an empty text, the role alone, or there is none;
      ``filter`` is Azure's, without any choice, and OpenAI's behind it
    - ``nulls``: every delta has all its fields, most of them null
    - ``arguments``: of a call come in pieces, call after call; with the pieces of several calls between each other; or
      whole, one call a chunk; or all calls in one chunk
    - ``heads``: id and name come once; with every piece; or as empty strings with every later piece
    - ``index``: of calls is counted, is 0 for each, or is missing
    - ``ids``: are given, are empty, or are the name of the tool
    - ``no_arguments``: what a call without any has
    - ``usage``: in a chunk of its own behind the finish, in that of the finish, in every chunk, or in none
    - ``finish``: with a chunk of its own, with the last delta, twice, as an empty string in every chunk before, or not
      at all
    - ``calls_finish``: the reason of an answer with calls
    """

    first: Literal["empty", "role", "none", "filter"] = "empty"
    nulls: bool = False
    arguments: Literal["pieces", "interleaved", "whole", "together"] = "pieces"
    heads: Literal["once", "repeated", "emptied"] = "once"
    index: Literal["counted", "zero", "missing"] = "counted"
    ids: Literal["given", "empty", "name"] = "given"
    no_arguments: str = "{}"
    usage: Literal["last", "finish", "every", "none"] = "last"
    finish: Literal["apart", "with_last", "twice", "empty_before", "missing"] = "apart"
    calls_finish: str = "tool_calls"
    comment: str = ""
    """A line of the stream that is no event, between its chunks."""
    prefix: str = "data: "
    newline: str = "\n"
    done: bool = True


SHAPES: Mapping[str, Shape] = {
    "openai": Shape(),
    "azure": Shape(first="filter"),
    "role_only": Shape(first="role"),
    "no_role": Shape(first="none"),
    "nulls": Shape(nulls=True),
    "interleaved": Shape(arguments="interleaved"),
    "whole_calls": Shape(arguments="whole"),
    "all_calls_at_once": Shape(arguments="together"),
    "names_repeated": Shape(heads="repeated"),
    "heads_emptied": Shape(heads="emptied"),  # DashScope, some of vLLM's parsers
    "index_zero": Shape(index="zero", arguments="whole"),  # Gemini, Ollama before 0.5
    "no_index": Shape(index="missing", arguments="whole"),  # Gemini through some proxies
    "empty_ids": Shape(ids="empty", arguments="whole"),  # Gemini at first
    "ids_are_names": Shape(ids="name", arguments="whole"),  # proxies before providers that know no ids
    "no_arguments_empty": Shape(no_arguments=""),
    "usage_with_finish": Shape(usage="finish", finish="with_last"),  # Mistral, Groq, DeepSeek
    "usage_everywhere": Shape(usage="every"),  # Gemini, vLLM's continuous_usage_stats
    "no_usage": Shape(usage="none"),
    "finish_with_last_delta": Shape(finish="with_last"),
    "finish_twice": Shape(finish="twice"),
    "finish_empty_before": Shape(finish="empty_before"),
    "no_finish": Shape(finish="missing"),
    "calls_finish_stop": Shape(calls_finish="stop"),  # Gemini, some of vLLM's parsers
    "function_call": Shape(calls_finish="function_call"),
    "comments": Shape(comment=": keep-alive"),
    "crlf": Shape(newline="\r\n"),
    "no_space": Shape(prefix="data:"),
    "no_done": Shape(done=False),
}


@dataclass(frozen=True)
class Extras:
    """What a provider puts into an answer besides. ``signature``: of the thoughts before calls."""

    reasoning: str = ""
    reasoning_field: str = ""
    signature: str = ""
    chunk: Mapping[str, Any] | None = None
    usage: Json | None = None
    """As the provider reports it; nothing where it was not asked for."""


def arguments_of(call: ToolCall, shape: Shape) -> str:
    """A call's arguments, as JSON."""
    return json.dumps(dict(call.input), ensure_ascii=False)[: call.cut] if call.input else shape.no_arguments


def calls_of(answer: Answer, shape: Shape, extras: Extras) -> list[dict[str, Any]]:
    """The calls as they stand in a whole message."""
    calls = []
    for number, call in enumerate(answer.tool_calls):
        id_ = {"given": call.id, "empty": "", "name": call.name}[shape.ids]
        function = {"name": call.name, "arguments": arguments_of(call, shape)}
        one: dict[str, Any] = {"id": id_, "type": "function", "function": function}
        if extras.signature and number == 0:  # only the first of parallel calls has one
            one["extra_content"] = {"google": {"thought_signature": extras.signature}}
        calls.append(one)
    return calls


def finish_of(answer: Answer, shape: Shape) -> str:
    """In the words of Chat Completions."""
    return shape.calls_finish if answer.stop_reason == "tool_use" else FINISH.get(answer.stop_reason, "stop")


def reasoning_of(extras: Extras, text: str) -> dict[str, Any]:
    """A piece of reasoning, in the provider's field."""
    if extras.reasoning_field == "reasoning_details":
        detail = {"type": "reasoning.text", "text": text, "format": "unknown", "index": 0}
        return {"reasoning": text, "reasoning_details": [detail]}
    return {extras.reasoning_field: text}


def deltas(answer: Answer, shape: Shape, extras: Extras, pieces: int) -> Iterator[dict[str, Any]]:
    """What the answer says, piece by piece."""
    for text in split(extras.reasoning, pieces) if extras.reasoning else ():
        yield reasoning_of(extras, text)
    said = "".join([*(str(b["text"]) for b in answer.blocks if b["type"] == "text"), answer.text])
    for text in split(said, pieces) if said else ():
        yield {"content": text}
    calls = calls_of(answer, shape, extras)
    if shape.arguments == "together" and calls:
        yield {"tool_calls": [_placed(number, call, shape) for number, call in enumerate(calls)]}
        return
    yield from ({"tool_calls": [piece]} for piece in _pieces(calls, shape, pieces))


def _placed(number: int, call: Json, shape: Shape) -> dict[str, Any]:
    index = {"counted": {"index": number}, "zero": {"index": 0}, "missing": {}}[shape.index]
    return {**index, **call}


def _pieces(calls: Sequence[dict[str, Any]], shape: Shape, pieces: int) -> Iterator[dict[str, Any]]:
    cut = [list(_pieces_of(number, call, shape, pieces)) for number, call in enumerate(calls)]
    if shape.arguments != "interleaved":
        yield from (piece for one in cut for piece in one)
        return
    for at in range(max(map(len, cut), default=0)):
        yield from (one[at] for one in cut if at < len(one))


def _pieces_of(number: int, call: dict[str, Any], shape: Shape, pieces: int) -> Iterator[dict[str, Any]]:
    if shape.arguments == "whole":
        yield _placed(number, call, shape)
        return
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    yield _placed(number, {**call, "function": {"name": name, "arguments": ""}}, shape)
    for part in split(arguments, pieces) if arguments else ():
        piece: dict[str, Any] = {"function": {"arguments": part}}
        if shape.heads == "repeated":
            piece = {"id": call["id"], "type": "function", "function": {"name": name, "arguments": part}}
        elif shape.heads == "emptied":
            piece = {"id": "", "type": "function", "function": {"name": None, "arguments": part}}
        yield _placed(number, piece, shape)


def chunks(answer: Answer, shape: Shape, extras: Extras, pieces: int) -> Iterator[dict[str, Any]]:
    """The stream, each part of the answer in up to so many pieces."""
    usage = extras.usage
    envelope = {"id": answer.id, "object": "chat.completion.chunk", "created": CREATED, "model": answer.model}
    envelope.update(extras.chunk or {})
    reason = finish_of(answer, shape)
    early = "" if shape.finish == "empty_before" else None
    body = list(_with_first(deltas(answer, shape, extras, pieces), shape))
    if shape.first == "filter":
        yield {**envelope, "id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    with_last = shape.finish == "with_last" and bool(body)
    for at, delta in enumerate(body):
        is_last = with_last and at == len(body) - 1
        chunk = {**envelope, "choices": [_choice(_filled(delta, shape), reason if is_last else early)]}
        yield _counted(chunk, shape, usage, is_finish=is_last)
    for _ in range(0 if with_last else {"missing": 0, "twice": 2}.get(shape.finish, 1)):
        yield _counted({**envelope, "choices": [_choice({}, reason)]}, shape, usage, is_finish=True)
    if usage is not None and shape.usage == "last":
        yield {**envelope, "choices": [], "usage": usage}


def _with_first(rest: Iterator[dict[str, Any]], shape: Shape) -> Iterator[dict[str, Any]]:
    if shape.first in ("empty", "filter"):
        yield {"role": "assistant", "content": "", "refusal": None}
    elif shape.first == "role":
        yield {"role": "assistant"}
    yield from rest


def _filled(delta: dict[str, Any], shape: Shape) -> dict[str, Any]:
    empty = {"role": None, "content": None, "refusal": None, "function_call": None, "tool_calls": None}
    return {**empty, **delta} if shape.nulls else delta


def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _counted(chunk: dict[str, Any], shape: Shape, usage: Json | None, *, is_finish: bool) -> dict[str, Any]:
    if usage is None or shape.usage == "none":
        return chunk
    if shape.usage == "every" or (shape.usage == "finish" and is_finish):
        return {**chunk, "usage": usage}
    return {**chunk, "usage": None} if shape.usage == "last" else chunk
