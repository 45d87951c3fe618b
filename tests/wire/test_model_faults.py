"""A model that cannot be had at all: each cause in one clear sentence, and no message is lost."""

from __future__ import annotations

import asyncio
import socket

from tests.servers.messages import MessagesServer
from tests.wire.program import KEY, Programs


async def test_a_wrong_key_and_a_missing_model_are_named_and_what_was_said_is_not_lost(
    programs: Programs, model: MessagesServer
) -> None:
    model.known_models = frozenset({"claude-sonnet-5"})
    said = "The door code is 88."
    wrong_key, wrong_model = await asyncio.gather(
        programs.chat(said, ANTHROPIC_API_KEY="wrong-key-of-the-tests"),
        # On a DATA_DIR of its own: an agent may live in any process on it, with that one's settings.
        programs.chat(said, MODEL="claude-nought", DATA_DIR=str(programs.folder / "elsewhere")),
    )
    assert len(model.requests) == 2
    assert len(wrong_key.out) == 1
    assert "ANTHROPIC_API_KEY" in wrong_key.out[0]
    assert "wrong-key" not in wrong_key.out[0]
    assert len(wrong_model.out) == 1
    assert "'claude-nought'" in wrong_model.out[0]
    assert "MODEL" in wrong_model.out[0]
    again = await programs.chat("What is the door code?")
    assert again.out == ["The door code is 88."]


async def test_a_server_that_is_down_is_tried_again_and_then_named(programs: Programs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    chat = await programs.start("chat", ANTHROPIC_BASE_URL=f"http://127.0.0.1:{port}")
    assert "cannot be reached" in await chat.asks("The door code is 88.")
    answering = asyncio.create_task(chat.asks("What is the door code?"))
    async with MessagesServer(window=3_000, key=KEY, port=port):
        assert await answering == "The door code is 88."
        assert await chat.ends() == 0
    assert len(chat.out) == 2
