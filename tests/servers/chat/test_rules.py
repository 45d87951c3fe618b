"""What the model server refuses on its second wire, in OpenAI's words."""

from typing import Any

import httpx2
import pytest

from tests.servers.asking import PIXEL, assistant, user
from tests.servers.messages.server import MessagesServer


def call(id_: str = "c1", name: str = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made), **more}


def result(id_: str = "c1", content: Any = "a mat") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def tool(name: str = "look", **more: Any) -> dict[str, Any]:
    function = {"name": name, "parameters": {"type": "object", "properties": {}}, **more}
    return {"type": "function", "function": function}


async def refused(server: MessagesServer, messages: Any, **more: Any) -> dict[str, Any]:
    """The error that such a request meets; empty where it is taken."""
    headers = {"authorization": f"Bearer {server.key}"}
    body = {"model": server.manner.model, "messages": messages, **more}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers=headers) as http:
        answer = await http.post("/chat/completions", json=body)
    if answer.status_code == 200:
        return {}
    said: Any = answer.json()
    said = said[0] if isinstance(said, list) else said
    error = said.get("error", said)
    return dict(error) if isinstance(error, dict) else {"message": error}


ASKED = user("Where?")
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}

TAKEN: dict[str, Any] = {
    "a question": [ASKED],
    "a system message": [{"role": "system", "content": "Be."}, ASKED],
    "a developer's": [{"role": "developer", "content": "Be."}, ASKED],
    "a result": [ASKED, calls(call()), result()],
    "two results in another order": [ASKED, calls(call("a"), call("b")), result("b"), result("a")],
    "words beside a call": [ASKED, calls(call(), content="I look."), result()],
    "a result in parts": [ASKED, calls(call()), result(content=[{"type": "text", "text": "a mat"}])],
    "an empty result": [ASKED, calls(call()), result(content="")],
    "an empty text": [user("")],
    "people twice": [ASKED, ASKED],
    "a picture": [user([PICTURE])],
    "an id that was used before": [ASKED, calls(call()), result(), calls(call()), result()],
    "arguments that are no JSON": [ASKED, calls(call(arguments="{at")), result()],
    "the model last": [ASKED, assistant("Here.")],
}
REFUSED: dict[str, tuple[Any, str]] = {
    "no message": ([], "Invalid 'messages': empty array."),
    "messages as text": ("hi", "Invalid type for 'messages': expected an array of objects, but got a string instead."),
    "another role": ([{"role": "model", "content": "a"}], "Invalid value: 'model'. Supported values are: 'system',"),
    "nothing": ([user(None)], "Invalid value for 'content': expected a string, got null."),
    "the model with nothing": ([ASKED, assistant(None)], "Invalid value for 'content': expected a string, got null."),
    "no part": ([user([])], "Invalid 'messages[0].content': empty array."),
    "a part of another kind": ([user([{"type": "tool_result"}])], "Invalid value: 'tool_result'."),
    "a field of another wire": ([{**ASKED, "cache_control": {}}], "Unknown parameter: 'messages[0].cache_control'."),
    "reasoning": ([ASKED, assistant("a") | {"reasoning_content": "b"}], "Unknown parameter"),
    "a result without a call": ([ASKED, result()], "messages with role 'tool' must be a response to a preceeding"),
    "a result of another call": ([ASKED, calls(call()), result("c2")], "'tool_call_id' of 'c2' not found"),
    "a call without a result": ([ASKED, calls(call()), ASKED], "did not have response messages: c1"),
    "a call at the end": ([ASKED, calls(call())], "did not have response messages: c1"),
    "one of two results": ([ASKED, calls(call("a"), call("b")), result("a")], "did not have response messages: b"),
    "a result too late": ([ASKED, calls(call()), ASKED, result()], "did not have response messages: c1"),
    "two results": ([ASKED, calls(call()), result(), result()], "Duplicate value for 'tool_call_id' of 'c1'"),
    "two calls of an id": ([ASKED, calls(call(), call()), result()], "Duplicate value for 'tool_call_id' of 'c1'"),
    "a result without an id": ([ASKED, calls(call()), {"role": "tool", "content": "a"}], "'tool_call_id'"),
    "a result that is nothing": ([ASKED, calls(call()), result(content=None)], "Invalid value for 'content'"),
    "a picture in a result": ([ASKED, calls(call()), result(content=[PICTURE])], "only allowed for messages with role"),
    "a picture of the system": ([{"role": "system", "content": [PICTURE]}, ASKED], "only allowed for messages with"),
    "no calls": ([ASKED, calls(content="a")], "Invalid 'messages[1].tool_calls': empty array."),
    "a long id": (
        [ASKED, calls(call("c" * 41)), result("c" * 41)],
        "maximum length 40, but got a string with length 41",
    ),
    "a long name": (
        [ASKED, calls(call(name="n" * 65)), result()],
        "maximum length 64, but got a string with length 65",
    ),
    "a name with a dot": ([ASKED, calls(call(name="a.b")), result()], "string does not match pattern"),
    "arguments as an object": ([ASKED, calls(call(arguments={})), result()], "expected a string, but got an object"),
    "a call without a type": ([ASKED, calls(call() | {"type": None}), result()], "Missing required parameter"),
    "a picture that is none": (
        [user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}])],
        "You uploaded an unsupported image.",
    ),
    "a picture as bare base64": (
        [user([{"type": "image_url", "image_url": {"url": "aGk="}}])],
        "without the 'data:' prefix",
    ),
    "a file without a name": ([user([{"type": "file", "file": {"file_data": "data:a/b;base64,aGk="}}])], "filename"),
    "a file of another kind": (
        [user([{"type": "file", "file": {"filename": "a", "file_data": "data:a/b;base64,aGk="}}])],
        "application/pdf",
    ),
}
FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "system": ({"system": "Be."}, "Unknown parameter: 'system'."),
    "the old limit": ({"max_tokens": 9}, "'max_tokens' is not supported with this model. Use 'max_completion_tokens'"),
    "no answer at all": ({"max_completion_tokens": 0}, "Expected a value >= 1, but got 0 instead."),
    "too long an answer": ({"max_completion_tokens": 9_999}, "This model supports at most 8192 completion tokens"),
    "usage without a stream": ({"stream_options": {"include_usage": True}}, "only allowed when 'stream' is enabled"),
    "no tool": ({"tools": []}, "Invalid 'tools': empty array."),
    "a choice without tools": ({"tool_choice": "auto"}, "'tool_choice' is only allowed when 'tools' are specified"),
    "a choice of none": ({"tools": [tool()], "tool_choice": "any"}, "Supported values are: 'none', 'auto', and"),
    "an unknown choice": (
        {"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "see"}}},
        "Tool choice 'see' not found",
    ),
    "parallel without tools": ({"parallel_tool_calls": False}, "only allowed when 'tools' are specified"),
    "effort with tools": (
        {"tools": [tool()], "reasoning_effort": "low"},
        "Function tools with reasoning_effort are not",
    ),
    "a tool of another wire": ({"tools": [{"name": "look", "input_schema": {}}]}, "Supported values are: 'function'"),
    "a tool's long name": ({"tools": [tool("n" * 65)]}, "maximum length 64"),
    "a tool's name": ({"tools": [tool("a.b")]}, "string does not match pattern"),
    "a long description": ({"tools": [tool(description="d" * 1025)]}, "maximum length 1024"),
    "too many tools": ({"tools": [tool(f"t{n}") for n in range(129)]}, "maximum length 128, but got an array with"),
    "a schema of no object": ({"tools": [tool(parameters={"type": "string"})]}, "got 'type: \"string\"'"),
    "a schema that is none": ({"tools": [tool(parameters={"type": "object", "required": 1})]}, "Invalid schema for"),
    "an array of nothing": (
        {"tools": [tool(parameters={"type": "object", "properties": {"a": {"type": "array"}}})]},
        "array schema missing items",
    ),
}


@pytest.mark.parametrize("messages", TAKEN.values(), ids=TAKEN)
async def test_what_the_real_one_takes_is_taken(server: MessagesServer, messages: Any) -> None:
    assert not await refused(server, messages)


@pytest.mark.parametrize(("messages", "why"), REFUSED.values(), ids=REFUSED)
async def test_messages_are_refused(server: MessagesServer, messages: Any, why: str) -> None:
    error = await refused(server, messages)
    assert why in error["message"]
    assert error["type"] == "invalid_request_error"
    assert server.refused


@pytest.mark.parametrize(("more", "why"), FIELDS.values(), ids=FIELDS)
async def test_fields_are_refused(server: MessagesServer, more: dict[str, Any], why: str) -> None:
    assert why in (await refused(server, [ASKED], **more))["message"]


@pytest.mark.parametrize(("effort", "is_taken"), [({}, False), ({"reasoning_effort": "none"}, True)])
async def test_models_that_always_reason_take_tools_only_if_they_are_told_not_to(
    server: MessagesServer, effort: dict[str, Any], is_taken: bool
) -> None:
    error = await refused(server, [ASKED], model="gpt-6-sol", tools=[tool()], **effort)
    assert (not error) == is_taken


async def test_what_is_no_json_is_refused(server: MessagesServer) -> None:
    headers = {"authorization": "Bearer test-key", "content-type": "application/json"}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers=headers) as http:
        answer = await http.post("/chat/completions", content=b"{")
    assert (answer.status_code, server.requests[0].outcome) == (400, "refused")
