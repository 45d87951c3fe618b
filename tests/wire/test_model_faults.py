"""A model that cannot answer: each cause in one clear sentence, and no message is lost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from tests.servers.messages import MessagesRequest, MessagesServer
from tests.wire.program import KEY, Programs


def _says(text: str) -> Callable[[MessagesRequest], bool]:
    def when(request: MessagesRequest) -> bool:
        return request.last_user_text == text

    return when


async def test_a_wrong_key_is_named_and_what_was_said_is_not_lost(programs: Programs, model: MessagesServer) -> None:
    chat = await programs.chat("The door code is 88.", ANTHROPIC_API_KEY="wrong-key-of-the-tests")
    (told,) = chat.out
    assert "ANTHROPIC_API_KEY" in told
    assert "wrong-key" not in told
    assert len(model.requests) == 1
    again = await programs.chat("What is the door code?")
    assert again.out == ["The door code is 88."]


async def test_a_model_that_does_not_exist_is_named(programs: Programs, model: MessagesServer) -> None:
    model.known_models = frozenset({"claude-sonnet-5"})
    chat = await programs.chat("The door code is 88.", MODEL="claude-nought")
    (told,) = chat.out
    assert "'claude-nought'" in told
    assert "MODEL" in told
    assert (await programs.chat("What is the door code?")).out == ["The door code is 88."]


async def test_a_server_that_is_down_is_tried_again_and_then_named(programs: Programs, model: MessagesServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    chat = await programs.start("chat", ANTHROPIC_BASE_URL=f"http://127.0.0.1:{port}")
    assert "cannot be reached" in await chat.asks("The door code is 88.")
    answering = asyncio.create_task(chat.asks("What is the door code?"))
    async with MessagesServer(window=3_000, key=KEY, port=port):
        assert await answering == "The door code is 88."
        assert await chat.ends() == 0
    assert len(chat.out) == 2


async def test_rate_limits_overload_and_cut_streams_are_waited_out_without_a_word(
    programs: Programs, model: MessagesServer
) -> None:
    lines = ["Rate limited.", "Overloaded.", "Overloaded in the stream.", "Cut off.", "Cut off at once."]
    whens = {line: _says(line) for line in lines}
    model.fail(429, "rate_limit_error", "Slow down.", retry_after=1, when=whens[lines[0]])
    model.fail(529, "overloaded_error", "Overloaded", times=2, when=whens[lines[1]])
    model.error_in_stream("overloaded_error", "Overloaded", 2, when=whens[lines[2]])
    model.cut_stream(whens[lines[3]], after=3)
    model.cut_stream(whens[lines[4]], after=0)
    chat = await programs.chat(*lines)
    answered = [record for record in model.requests if record.outcome == "completed"]
    assert chat.out == [record.reply.text for record in answered if record.reply]
    assert len(chat.out) == 5
    assert len(model.requests) == 11
    limited, again = model.requests[:2]
    assert limited.ended is not None
    assert again.started - limited.started >= 1.0
    messages = model.requests[-1].request.messages
    assert [message["content"][0]["text"] for message in messages if message["role"] == "user"] == lines


async def test_a_failed_turn_in_the_middle_leaves_its_message_in_view(
    programs: Programs, model: MessagesServer
) -> None:
    model.fail(400, "invalid_request_error", "messages: something is wrong", when=_says("The door code is 88."))
    chat = await programs.chat("Hello.", "The door code is 88.", "What is the door code?")
    assert "something is wrong" in chat.out[1]
    assert chat.out[2] == "The door code is 88."
