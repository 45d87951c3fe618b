"""The model server, seen by the real client."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.servers.asking import MODEL, TOOLS, ask, assistant, said, stream, user
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall, Usage


async def test_a_streamed_reply_is_the_same_as_a_whole_one(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.brain = lambda _: Reply("I look. " * 9, [ToolCall("look", {"at": "ä" * 50}), ToolCall("look")])
    whole = await ask(client, [user("look")], tools=TOOLS)
    streamed = await stream(client, [user("look")], tools=TOOLS)
    strip = {"id"}
    assert [b.model_dump(exclude=strip) for b in whole.content] == [
        b.model_dump(exclude=strip | {"parsed_output"}) for b in streamed.content
    ]
    assert whole.stop_reason == streamed.stop_reason == "tool_use"
    assert whole.usage.output_tokens == streamed.usage.output_tokens > 0
    assert [record.outcome for record in server.requests] == ["completed", "completed"]


async def test_a_text_comes_in_several_deltas(server: MessagesServer, client: anthropic.AsyncAnthropic) -> None:
    server.brain = lambda _: Reply("123456789012")
    events = await client.messages.create(model=MODEL, max_tokens=9, messages=[user("hi")], stream=True)
    kinds = [event.type async for event in events]
    assert kinds.count("content_block_delta") == 6
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"


async def test_a_fact_is_known_as_long_as_it_can_be_read(client: anthropic.AsyncAnthropic) -> None:
    told = [user("Hello. My dog's name is Rex 3.5. Is the cat is grey?"), assistant("Noted.")]
    question = user("And now: what is my dog's name?")
    assert said(await ask(client, [*told, question])) == "The dog's name is Rex 3.5."
    assert said(await ask(client, [question])) == "I do not know the dog's name."


async def test_facts_survive_a_summary_of_a_summary(server: MessagesServer, client: anthropic.AsyncAnthropic) -> None:
    system = "You write summaries of conversations."
    transcript = json.dumps([user("the vault code is 8812."), assistant("Noted."), user("the sea is blue.")])
    first = said(await ask(client, [user(transcript)], system=system))
    second = said(await ask(client, [user(f"<summary>{first}</summary>\nthe sea is green.")], system=system))
    assert "The vault code is 8812." in second
    assert "The sea is green." in second
    assert "blue" not in second
    assert server.requests[0].request.is_summary


async def test_a_summary_is_also_recognised_by_its_instruction(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    instruction = user("Write the summary now. " + "A good summary keeps names and numbers. " * 6)
    messages = [user("the key is under the mat."), assistant("Noted."), instruction]
    text = said(await ask(client, messages))
    assert "Latest request: the key is under the mat." in text
    assert not server.refused


async def test_a_wrong_key_is_refused(server: MessagesServer) -> None:
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key="wrong", max_retries=0) as client:
        with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
            await ask(client, [user("a")])


async def test_tokens_are_counted_as_they_are_charged(server: MessagesServer, client: anthropic.AsyncAnthropic) -> None:
    counted = await client.messages.count_tokens(model=MODEL, messages=[user("hello")], system="be", tools=TOOLS)
    reply = await ask(client, [user("hello")], system="be", tools=TOOLS)
    assert counted.input_tokens == reply.usage.input_tokens == server.input_tokens_total
    assert server.counts[0].request.tokens == counted.input_tokens


async def test_a_model_says_how_much_it_takes(server: MessagesServer, client: anthropic.AsyncAnthropic) -> None:
    server.window = 3000
    model = await client.models.retrieve(MODEL)
    assert (model.id, model.max_input_tokens, model.max_tokens) == (MODEL, 3000, 8192)


async def test_a_long_reply_is_cut_at_max_tokens_and_at_the_end_of_the_window(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.brain = lambda _: Reply("x" * 1000)
    assert (await ask(client, [user("a")], max_tokens=10)).stop_reason == "max_tokens"
    server.window = 30
    assert (await ask(client, [user("a")])).stop_reason == "model_context_window_exceeded"


async def test_a_marked_prompt_is_read_from_the_cache_the_next_time(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    mark: Any = {"type": "ephemeral"}
    history = [user("hello " * 50)]
    first = await ask(client, history, cache_control=mark)
    history += [assistant(said(first)), user("again")]
    second = await ask(client, history, cache_control=mark)
    assert first.usage.cache_read_input_tokens == 0
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.input_tokens == 0
    third = await ask(client, history)
    assert (third.usage.cache_read_input_tokens, third.usage.input_tokens) == (
        0,
        server.count({"messages": history}),
    )
    assert server.cache_read_tokens == second.usage.cache_read_input_tokens


async def test_a_marked_system_prompt_stays_cached_when_the_messages_change(
    client: anthropic.AsyncAnthropic,
) -> None:
    system: Any = [{"type": "text", "text": "be " * 90, "cache_control": {"type": "ephemeral"}}]
    await ask(client, [user("one")], system=system)
    usage = (await ask(client, [user("two")], system=system)).usage
    assert usage.cache_read_input_tokens == 82
    assert usage.input_tokens == 5


async def test_an_injected_failure_comes_once_and_says_when_to_retry(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.fail(429, "rate_limit_error", "slow down", retry_after=0.25)
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(client, [user("a")])
    assert caught.value.response.headers["retry-after"] == "0.25"
    await ask(client, [user("a")])
    assert [record.outcome for record in server.requests] == ["failed", "completed"]


@pytest.mark.parametrize("after", [None, 0, 2, 99])
async def test_a_hang_goes_on_until_it_is_released(
    server: MessagesServer, client: anthropic.AsyncAnthropic, after: int | None
) -> None:
    server.hang(after=after)
    asking = asyncio.create_task(stream(client, [user("a")]))
    await server.wait_for(lambda s: s.running and s.requests[0].deltas == min(after or 0, 6))
    server.release()
    assert said(await asking).startswith("Noted (1).")


@pytest.mark.parametrize("after", [None, 2])
async def test_a_client_that_hangs_up_on_a_silent_server_is_noticed_at_once(
    server: MessagesServer, client: anthropic.AsyncAnthropic, after: int | None
) -> None:
    server.hang(after=after)
    asking = asyncio.create_task(stream(client, [user("a")]))
    await server.wait_for(lambda s: s.running and s.requests[0].deltas == (after or 0))
    asking.cancel()
    await server.wait_for(lambda s: s.hangups == 1, timeout=0.5)
    assert server.requests[0].outcome == "hung_up"
    assert server.running == 0


async def test_a_client_that_hangs_up_between_deltas_is_noticed(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.delta_delay = 30
    async with client.messages.stream(model=MODEL, max_tokens=500, messages=[user("a")]) as events:
        async for _ in events.text_stream:
            break
    await server.wait_for(lambda s: s.hangups == 1, timeout=0.5)


async def test_a_cut_stream_is_an_error_of_the_transport(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.cut_stream(after=2)
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        await stream(client, [user("a")])
    assert server.requests[0].outcome == "cut"
    assert said(await stream(client, [user("a")]))


async def test_an_error_within_a_stream_reaches_the_client(
    server: MessagesServer, client: anthropic.AsyncAnthropic
) -> None:
    server.error_in_stream("overloaded_error", "Overloaded", after=2)
    with pytest.raises(anthropic.APIStatusError) as caught:
        await stream(client, [user("a")])
    assert caught.value.type == "overloaded_error"
    assert server.requests[0].outcome == "failed"


async def test_a_brain_may_take_its_time(server: MessagesServer, client: anthropic.AsyncAnthropic) -> None:
    thought = asyncio.Event()

    async def brain(request: MessagesRequest) -> Reply:
        await thought.wait()
        return Reply(request.last_user_text[::-1])

    server.brain = brain
    asking = asyncio.create_task(ask(client, [user("abc")]))
    await server.wait_for(lambda s: s.running == 1)
    thought.set()
    assert said(await asking) == "cba"


async def test_a_wait_that_times_out_says_what_it_saw(server: MessagesServer) -> None:
    with pytest.raises(TimeoutError, match="0 requests"):
        await server.wait_for(lambda s: s.hangups, timeout=0.01)


async def test_the_journal_has_a_line_for_each_request(
    server: MessagesServer, client: anthropic.AsyncAnthropic, tmp_path: Path
) -> None:
    server.journal = tmp_path / "journal.jsonl"
    await ask(client, [user("a")])
    line = json.loads(server.journal.read_text())
    assert line["outcome"] == "completed"
    assert line["usage"] == vars(Usage(input_tokens=5, output_tokens=line["usage"]["output_tokens"]))


async def test_garbage_comes_as_it_was_given_and_only_so_often(server: MessagesServer) -> None:
    server.garbage(b"<html>gateway</html>")
    request = {"model": MODEL, "max_tokens": 9, "messages": [user("hi")], "stream": True}
    headers = {"x-api-key": str(server.key), "anthropic-version": "2023-06-01"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers) as http:
        first, second = [await http.post("/v1/messages", json=request) for _ in range(2)]
    assert (first.status_code, first.content) == (200, b"<html>gateway</html>")
    assert first.headers["content-type"].startswith("text/event-stream")
    assert b"message_stop" in second.content
