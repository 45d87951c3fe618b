"""The model server on its second wire, seen by the real client."""

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.servers.asking import PIXEL, ask, user
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall

MODEL = "gpt-test"
TOOLS: Any = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


async def complete(client: openai.AsyncOpenAI, messages: Any, **more: Any) -> Any:
    return await client.chat.completions.create(model=MODEL, messages=messages, **more)


async def stream(client: openai.AsyncOpenAI, messages: Any, **more: Any) -> list[Any]:
    more.setdefault("stream_options", {"include_usage": True})
    events: Any = await client.chat.completions.create(model=MODEL, messages=messages, stream=True, **more)
    return [chunk async for chunk in events]


def said(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def test_a_streamed_answer_is_the_same_as_a_whole_one(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.brain = lambda _: Reply("I look. " * 9, [ToolCall("look", {"at": "ä" * 50}, "a"), ToolCall("look", id="b")])
    whole = await complete(chat, [user("look")], tools=TOOLS)
    async with chat.chat.completions.stream(
        model=MODEL, messages=[user("look")], tools=TOOLS, stream_options={"include_usage": True}
    ) as events:
        streamed = await events.get_final_completion()
    one, other = whole.choices[0], streamed.choices[0]
    assert one.message.content == other.message.content == "I look. " * 9
    calls = [[(c.id, c.function.name, c.function.arguments) for c in m.message.tool_calls or ()] for m in (one, other)]
    assert calls[0] == calls[1] == [("a", "look", f'{{"at": "{"ä" * 50}"}}'), ("b", "look", "{}")]
    assert one.finish_reason == other.finish_reason == "tool_calls"
    assert whole.usage.completion_tokens == streamed.usage.completion_tokens > 0  # type: ignore[union-attr]
    assert [record.outcome for record in server.requests] == ["completed", "completed"]


async def test_a_text_comes_in_several_deltas(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.brain = lambda _: Reply("123456789012")
    chunks = await stream(chat, [user("hi")])
    assert [c.choices[0].delta.content for c in chunks[1:-2]] == ["12", "34", "56", "78", "90", "12"]
    assert (chunks[0].choices[0].delta.role, chunks[-2].choices[0].finish_reason) == ("assistant", "stop")
    assert (chunks[-1].choices, chunks[-1].usage.prompt_tokens) == ([], server.requests[0].request.tokens)


async def test_usage_comes_only_where_it_is_asked_for(chat: openai.AsyncOpenAI) -> None:
    assert not [c for c in await stream(chat, [user("hi")], stream_options=None) if c.usage]


async def test_one_brain_reads_both_wires_alike(
    server: MessagesServer, client: anthropic.AsyncAnthropic, chat: openai.AsyncOpenAI
) -> None:
    read: list[MessagesRequest] = []

    def brain(request: MessagesRequest) -> Reply:
        read.append(request)
        return Reply("Yes.")

    server.brain = brain
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a mat"}
    tool: Any = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    blocks = [{"type": "text", "text": "Be."}]
    await ask(
        client,
        [
            {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
            {"role": "user", "content": [result, {"type": "text", "text": "And?"}]},
        ],
        system=blocks,
        tools=[tool],
    )
    function: Any = {"name": "look", "arguments": '{"at": 1}'}
    await chat.chat.completions.create(
        model="claude-test",
        messages=[
            {"role": "system", "content": "Be."},
            {"role": "user", "content": "Where?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a mat"},
            {"role": "user", "content": "And?"},
        ],
        tools=[
            {
                "type": "function",
                "function": {"name": "look", "description": "Looks.", "parameters": tool["input_schema"]},
            }
        ],
        max_completion_tokens=500,
    )
    assert [request.wire for request in read] == ["messages", "chat"]
    assert read[0].body == read[1].body
    assert read[0].tokens == read[1].tokens == server.requests[1].usage.prompt_tokens
    assert server.requests[1].request.sent


async def test_pictures_and_files_are_read_and_counted(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    await complete(chat, [user([{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": url}}])])
    (message,) = server.requests[0].request.messages
    assert [block["type"] for block in message["content"]] == ["text", "image"]
    assert message["content"][1]["source"]["media_type"] == "image/png"


async def test_a_long_answer_is_cut(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.brain = lambda _: Reply("x" * 1000)
    whole = await complete(chat, [user("a")], max_completion_tokens=10)
    assert whole.choices[0].finish_reason == "length"
    server.window = 30
    assert (await complete(chat, [user("a")])).choices[0].finish_reason == "length"


async def test_a_refusal_is_a_filter(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.brain = lambda _: Reply("", stop_reason="refusal")
    assert (await complete(chat, [user("a")])).choices[0].finish_reason == "content_filter"


async def test_what_was_sent_before_is_read_from_the_cache(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    history = [user("hello " * 1000)]
    first = await complete(chat, history)
    second = await complete(chat, [*history, {"role": "assistant", "content": "Yes."}, user("again")])
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    cached = second.usage.prompt_tokens_details.cached_tokens
    assert cached == first.usage.prompt_tokens - first.usage.prompt_tokens % 128 > 1024
    assert server.cache_read_tokens == cached
    short = [user("hello")]
    assert [(await complete(chat, short)).usage.prompt_tokens_details.cached_tokens for _ in range(2)] == [0, 0]


async def test_a_failure_comes_once_in_the_form_of_this_wire(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.fail(529, "overloaded_error", "Overloaded", retry_after=0.25)
    with pytest.raises(openai.InternalServerError) as caught:
        await complete(chat, [user("a")])
    assert caught.value.response.headers["retry-after"] == "0.25"
    assert caught.value.body == {"message": "Overloaded", "type": "overloaded_error", "param": None, "code": None}
    await complete(chat, [user("a")])
    assert [record.outcome for record in server.requests] == ["failed", "completed"]


@pytest.mark.parametrize("after", [None, 0, 2, 99])
async def test_a_hang_goes_on_until_it_is_released(
    server: MessagesServer, chat: openai.AsyncOpenAI, after: int | None
) -> None:
    server.hang(after=after)
    asking = asyncio.create_task(stream(chat, [user("a")]))
    await server.wait_for(lambda s: s.running and s.requests[0].deltas == min(after or 0, 6))
    server.release()
    assert said(await asking).startswith("Noted (1).")


@pytest.mark.parametrize("after", [None, 2])
async def test_a_client_that_hangs_up_is_noticed_at_once(
    server: MessagesServer, chat: openai.AsyncOpenAI, after: int | None
) -> None:
    server.hang(after=after)
    asking = asyncio.create_task(stream(chat, [user("a")]))
    await server.wait_for(lambda s: s.running and s.requests[0].deltas == (after or 0))
    asking.cancel()
    await server.wait_for(lambda s: s.hangups == 1, timeout=0.5)
    assert (server.requests[0].outcome, server.running) == ("hung_up", 0)


async def test_a_cut_stream_is_an_error_of_the_transport(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.cut_stream(after=2)
    with pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        await stream(chat, [user("a")])
    assert server.requests[0].outcome == "cut"
    assert said(await stream(chat, [user("a")]))


async def test_an_error_within_a_stream_reaches_the_client(server: MessagesServer, chat: openai.AsyncOpenAI) -> None:
    server.error_in_stream("server_error", "Overloaded", after=2)
    with pytest.raises(openai.APIError, match="Overloaded"):
        await stream(chat, [user("a")])
    assert (server.requests[0].outcome, server.requests[0].deltas) == ("failed", 2)


async def test_garbage_comes_as_it_was_given(server: MessagesServer) -> None:
    server.garbage(b"<html>gateway</html>")
    headers = {"authorization": f"Bearer {server.key}"}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers=headers) as http:
        request = {"model": MODEL, "messages": [user("hi")], "stream": True}
        first, second = [await http.post("/chat/completions", json=request) for _ in range(2)]
    assert (first.status_code, first.content) == (200, b"<html>gateway</html>")
    assert second.content.endswith(b"data: [DONE]\n\n")


async def test_a_conversation_of_both_wires_has_one_list_of_requests(
    server: MessagesServer, client: anthropic.AsyncAnthropic, chat: openai.AsyncOpenAI
) -> None:
    await ask(client, [user("the key is under the mat.")])
    answer = await complete(chat, [user("the key is red."), user("What is the key?")])
    assert answer.choices[0].message.content == "The key is red."
    assert [record.request.wire for record in server.requests] == ["messages", "chat"]
