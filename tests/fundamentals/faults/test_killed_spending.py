"""Hosts that are killed while a model answers: each request is counted, none twice, and nothing stays reserved."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bot.history import Usage
from bot.store.money import ledger, spending
from bot.store.money.ledger import ESTIMATED, RESERVED, SETTLED
from bot.store.schema import ledger as rows
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

ROOT = Path(__file__).parents[3]


async def test_a_killed_request_is_counted_by_what_was_sent_and_the_answer_by_the_providers_figures(
    house: OpenHouse, room: Room, model: MessagesServer, book: dict[str, Any]
) -> None:
    limited = {**book, "budget": {"day": "50"}}
    async with house(("gateway",)) as running:
        model.hang(after=1)
        host = await _host(running, model, limited)
        try:
            await room.says("hello")
            await model.wait_for(lambda _: model.requests and model.requests[0].deltas)
            assert [state for state, _ in await _rows(running)] == [RESERVED]
            host.kill()
            await host.wait()
            model.release()
            host = await _host(running, model, limited)
            await room.until(room.replies)
        finally:
            with suppress(ProcessLookupError):
                host.kill()
            await host.wait()
        kept = dict(await _rows(running))
        async with running.resources.database.read() as tx:
            added = await spending.total(tx, spending.of_all(), "20000101", "29991231")
    told = model.requests[1].usage
    assert kept.keys() == {ESTIMATED, SETTLED}
    assert kept[SETTLED].context == told.prompt_tokens
    assert kept[SETTLED].output == told.output_tokens
    assert 0.7 < kept[ESTIMATED].context / model.requests[0].usage.prompt_tokens < 1.4
    assert (added.requests, added.estimated) == (2, 1)


async def _rows(running: House) -> list[tuple[str, Usage]]:
    async with running.resources.database.read() as tx:
        found = await tx.execute(select(rows).order_by(rows.c.at))
        return [(one.state, one.usage) for one in map(ledger.charge_of, found.mappings())]


async def _host(running: House, model: MessagesServer, book: dict[str, Any]) -> asyncio.subprocess.Process:
    host = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fundamentals.faults.killed_host",
        str(running.resources.settings.data_dir),
        model.url,
        json.dumps(book),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert host.stdout is not None
    async with asyncio.timeout(60):
        assert await host.stdout.readline() == b"works\n"
    return host
