"""Processes on one DATA_DIR: they share a Valkey, play one role or all, and end when they are told to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import aiohttp
import pytest
from redis.asyncio import Redis
from sqlalchemy import make_url

from bot.app.embedded.valkey import EmbeddedValkey
from tests.servers.messages.server import MessagesServer
from tests.servers.proxy import Proxy
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import PATIENCE, Program, Programs
from tests.wire.talk import Talk


async def _get(program: Program, path: str) -> tuple[int, dict[str, Any]]:
    address = json.loads(program.logged("http_listens")[0])["address"]
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as answer:
        return answer.status, await answer.json()


def _valkeys_last_words(programs: Programs) -> str:
    return (programs.data / "valkey" / "valkey.log").read_text()


@pytest.mark.long
async def test_each_agent_is_a_conversation_that_goes_on_where_it_was(programs: Programs) -> None:
    first = await programs.start("chat", "--agent", "work")
    assert (await first.asks("The colour is blue.")).startswith("Noted (")
    second = await programs.start("chat", "--agent", "work")
    home = await programs.start("chat", "--agent", "home")
    assert await home.asks("What is the colour?") == "I do not know the colour."
    assert await second.ends() == 1
    assert len(second.err) == 1
    assert "terminal-work is open in another terminal" in second.err[0]

    assert await first.ends() == 0
    assert programs.has_valkey()
    assert (await home.asks("The colour is green.")).startswith("Noted (")
    assert await home.ends() == 0
    assert not programs.has_valkey()

    again = await programs.chat("What is the colour?", agent="work")
    assert again.out == ["The colour is blue."]
    assert not programs.has_valkey()


@pytest.mark.long
async def test_a_chat_joins_a_program_that_serves_and_leaves_it_running(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    chat = await telegram_programs.chat("The colour is green.", "What is the colour?", "/compact")
    assert chat.out[1] == "The colour is green."
    assert chat.err
    assert await ada.asks("What is the colour?") == "The colour is blue."
    assert await served.stop() == 0
    assert not telegram_programs.has_valkey()


async def _compacts(ada: Talk) -> None:
    await ada.asks("The colour is blue.")
    await ada.says_much(600, lines=3)
    ada.says("/compact")
    await ada.reads("🗜 Compacted: ")
    assert await ada.asks("What is the colour?") == "The colour is blue."


async def test_the_roles_can_be_three_processes(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await asyncio.gather(*(telegram_programs.serve(role) for role in ("gateway", "agents", "worker")))
    ada = Talk(telegram, model, 1001)
    await _compacts(ada)
    gateway, agents, worker = served
    own = ({"telegram", "web"}, {"model", "mcp"}, {"model", "jobs"})
    assert worker.logged("summary_written")
    assert not agents.logged("summary_written")
    for program, parts in zip(served, own, strict=True):
        all_ok = dict.fromkeys({"database", "redis", "background", *parts}, "ok")
        assert await _get(program, "/healthz") == (200, {"status": "ok"})
        assert await _get(program, "/readyz") == (200, {"status": "ok", "parts": all_ok})
    status, overview = await _get(gateway, "/overview.json")
    assert (status, overview["last_24_hours"]["by_outcome"]) == (200, {"done": 1})
    assert await asyncio.gather(*(program.stop() for program in served)) == [0, 0, 0]
    assert not telegram_programs.has_valkey()


async def test_the_worker_can_be_arqs_own(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served, worker = await asyncio.gather(
        telegram_programs.serve("gateway", "agents"),
        telegram_programs.execute([sys.executable, "-m", "arq", "workers.main.WorkerSettings"]),
    )
    await _compacts(Talk(telegram, model, 1001))
    assert worker.logged("summary_written")
    await worker.stop()
    assert telegram_programs.has_valkey()
    assert await served.stop() == 0
    assert not telegram_programs.has_valkey()


@pytest.mark.long
async def test_a_signal_ends_it_by_the_deadline_with_many_conversations_alive_and_an_answer_that_never_comes(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve(SHUTDOWN_SECONDS="1")
    ada, *others = (Talk(telegram, model, 1001 + number) for number in range(6))
    await asyncio.gather(*(talk.asks("The colour is blue.") for talk in (ada, *others)))
    model.hang(ada.is_my_turn)
    ada.says("What is the colour?")
    await model.wait_for(lambda _: len(ada.turns) == 2)
    assert await served.stop(signal.SIGTERM, within=15.0) == 0
    assert not telegram_programs.has_valkey()
    assert "User requested shutdown" in _valkeys_last_words(telegram_programs)
    assert model.hangups == 1


@pytest.mark.long
async def test_ctrl_c_ends_a_chat_and_the_message_is_answered_the_next_time(
    programs: Programs, model: MessagesServer
) -> None:
    chat = await programs.start("chat")
    await chat.asks("The colour is blue.")
    model.hang()
    await chat.says("What is the colour?")
    await model.wait_for(lambda server: len(server.requests) == 2)
    assert await chat.stop(signal.SIGINT) == 130
    assert chat.err == []
    assert not programs.has_valkey()
    assert "User requested shutdown" in _valkeys_last_words(programs)
    model.release()
    again = await programs.start("chat")
    await again.wait_for(lambda program: program.out, timeout=30)
    assert again.out == ["The colour is blue."]
    assert await again.ends() == 0


async def test_a_valkey_that_is_killed_is_started_again_and_ctrl_c_ends_both(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    pid = telegram_programs.valkey.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert await ada.asks("What is the colour?") == "The colour is blue."
    await _compacts(ada)
    assert await served.stop(signal.SIGINT) == 0
    assert not telegram_programs.has_valkey()


@pytest.mark.parametrize("garbage", [b"hello", b"\xff\x00", b'[{"kind": "dance"}]'])
async def test_garbage_on_every_channel_silences_no_process(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer, garbage: bytes
) -> None:
    gateway, agents = [await telegram_programs.serve(*roles) for roles in (("gateway",), ("agents", "worker"))]
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    async with Redis(unix_socket_path=str(EmbeddedValkey(telegram_programs.data).socket_path)) as redis:
        for channel in await redis.pubsub_channels():
            assert await redis.publish(channel, garbage)
        leases = [key async for key in redis.scan_iter(match="palimpsest:*:lease:*")]
        assert len(leases) == 3  # of the conversation, and of two connectors
        await asyncio.sleep(3.5)  # as long as a lease that nobody renews
        assert await redis.exists(*leases) == 3
    assert await ada.asks("What is the colour?") == "The colour is blue."
    for program in (gateway, agents):
        assert (await _get(program, "/readyz"))[0] == 200
        assert len(program.logged("redis_garbage")) <= 2
    assert gateway.logged("redis_garbage")


async def _until_ready(program: Program) -> None:
    """On a busy machine a part may not have answered yet when it is looked at first."""
    async with asyncio.timeout(PATIENCE):
        while (await _get(program, "/readyz"))[0] != 200:  # noqa: ASYNC110  # it is another process
            await asyncio.sleep(0.05)


async def test_readyz_names_the_part_that_is_gone_and_sees_it_come_back(programs: Programs) -> None:
    valkey = EmbeddedValkey(programs.folder / "elsewhere")
    await valkey.start()
    try:
        served = await programs.serve("agents", REDIS_URL=valkey.url)
        await _until_ready(served)
        await valkey.stop()
        status, said = await _get(served, "/readyz")
        assert status == 503
        assert said["parts"]["database"] == "ok"
        assert "Redis cannot be reached" in said["parts"]["redis"]
        assert (await _get(served, "/healthz"))[0] == 200
        await valkey.start()
        await _until_ready(served)
        assert await served.stop() == 0
    finally:
        await valkey.stop()


async def test_readyz_names_the_database_that_is_away_and_no_platform_takes_the_blame(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer, postgres_book: str
) -> None:
    book = make_url(postgres_book)
    async with Proxy(f"{book.query['host']}/.s.PGSQL.5432") as postgres:
        where = f"{postgres.address}/{book.database}"
        served = await telegram_programs.serve(DATABASE_URL=f"postgresql://postgres:sesame@{where}")
        ada = Talk(telegram, model, 1001)
        assert (await _get(served, "/readyz"))[0] == 200
        postgres.cut()
        ada.says("The colour is blue.")
        await served.wait_for(lambda it: it.logged("receiving_waits"), PATIENCE)
        status, said = await _get(served, "/readyz")
        parts = said["parts"]
        assert status == 503
        assert f"(DATABASE_URL: {where})" in parts["database"]
        assert (parts["telegram"], parts["web"]) == ("waits for the database",) * 2
        assert "sesame" not in str(said)
        postgres.restore()
        assert await ada.asks("What is the colour?") == "The colour is blue."
        status, said = await _get(served, "/readyz")
        assert (status, said["parts"]["telegram"]) == (200, "ok")
        assert await served.stop() == 0


async def test_a_gateway_without_a_key_starts_no_model_that_it_would_never_ask(telegram_programs: Programs) -> None:
    served = await telegram_programs.serve("gateway", ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    assert not (telegram_programs.data / "model").exists()
    assert not served.logged("local_model")
    assert await served.stop() == 0
