"""A model that cannot be had at all: each cause in one clear sentence, and no message is lost."""

from __future__ import annotations

import asyncio
import json
import socket

import aiohttp
import pytest

from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import KEY, PATIENCE, Program, Programs
from tests.wire.talk import Talk


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
    told = await chat.asks("The door code is 88.")
    assert "cannot be reached" in told
    assert "palimpsest doctor" in told, "who sits there runs it, and may have written its address wrongly"
    answering = asyncio.create_task(chat.asks("What is the door code?"))
    async with MessagesServer(window=3_000, key=KEY, port=port):
        assert await answering == "The door code is 88."
        assert await chat.ends() == 0
    assert len(chat.out) == 2


async def parts_of(program: Program) -> dict[str, str]:
    """What `/readyz` says of each part."""
    address = json.loads(program.logged("http_listens")[0])["address"]
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/readyz") as answer:
        assert answer.status == 200, "people are still heard, and are told"
        parts: dict[str, str] = (await answer.json())["parts"]
        return parts


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ((401, "authentication_error", "invalid x-api-key"), "wrong key"),
        ((400, "invalid_request_error", "Your credit balance is too low to access the API."), "no credit"),
        ((404, "not_found_error", "model: claude-sonnet-5"), "unknown model"),
        ((500, "api_error", "Internal server error"), "provider away"),
    ],
)
async def test_readyz_tells_why_there_is_no_answer_until_there_is_one_and_asks_nobody(
    telegram_programs: Programs,
    telegram: BotApiServer,
    model: MessagesServer,
    error: tuple[int, str, str],
    cause: str,
) -> None:
    program = await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    assert (await parts_of(program))["model"] == "ok"
    model.fail(*error, times=None)
    ada.says("The door code is 88.")
    await program.wait_for(lambda it: it.logged("turn_failed"), PATIENCE)
    asked = len(model.requests)
    told = (await parts_of(program))["model"]
    assert told.startswith(f"{cause} (claude-")
    assert KEY not in told
    assert len(model.requests) == asked, "whoever looks costs nothing"
    model.clear_faults()
    assert await ada.asks("What is the door code?") == "The door code is 88."
    assert (await parts_of(program))["model"] == "ok"
