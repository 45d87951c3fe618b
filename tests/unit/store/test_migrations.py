"""A book of the version before operators could look into it keeps everything, and learns who said what."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, inspect, text

from bot.errors import ConfigurationError
from bot.messages import AgentId
from bot.store import Database, histories, runs
from bot.store.database import _alembic
from bot.store.operators import traces
from tests.conftest import BOOKS
from tests.unit.one_run import PLAN, a_meter, meter_json

HERE = AgentId("room-1")
RUN = {
    "id": "run1", "agent_id": HERE, "trigger": "auto", "strategy": "reset", "focus": "", "state": "done",
    "turn_id": "t1", "status_slot": 5, "stack": "[]", "plan": json.dumps(PLAN.as_json()), "head": "hash", "model": "m",
    "limit_tokens": 1_000, "job_id": "j", "jobs": 1, "heartbeat_at": 1.0, "meter_before": json.dumps(meter_json(900)),
    "meter_after": json.dumps(meter_json(90)), "reason": "", "started_at": 1.0, "enqueued_at": 1.0, "finished_at": 2.0,
    "trace": "## section", "traced": True,
    "result": json.dumps({"outcome": "summary", "summary": "s", "reason": "", "usage": {"input": 7, "output": 3},
                          "inference": []}),
}  # fmt: skip
INBOX = {
    "agent_id": HERE, "connector": "room", "kind": "message", "position": 1, "person_name": "", "text": "hi",
    "received_at": 1.0, "state": "done",
}  # fmt: skip


@pytest.fixture(params=BOOKS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    embedded = request.param == "embedded"
    return f"sqlite:///{tmp_path}/book.db" if embedded else str(request.getfixturevalue("postgres_database"))


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    """Either book, as version 0007 left it: three turns, of one person, of two, and of one whose message is gone."""
    opened = Database(url)
    async with opened.write() as tx:
        await tx.run_sync(_migrate, "0007")
        for key, person, turn in (("1", "ada", "t1"), ("2", "ada", "t2"), ("3", "bob", "t2")):
            await tx.execute(*_insert("inbox", {**INBOX, "key": key, "person": person, "turn_id": turn}))
        for seq, kind, turn in (
            (1, "said", "t1"),
            (2, "file", "t1"),
            (3, "reply", "t1"),
            (4, "said", "t2"),
            (5, "said", "t3"),
        ):
            role = "assistant" if kind == "reply" else "user"
            blocks = json.dumps([{"type": "text", "text": f"entry {seq}"}])
            await tx.execute(*_insert("entries", {
                "agent_id": HERE, "seq": seq, "role": role, "blocks": blocks, "kind": kind, "audience": "everyone",
                "tokens": 1, "turn_id": turn, "interrupted": False, "created_at": 1.0,
            }))  # fmt: skip
        await tx.execute(*_insert("compactions", RUN))
        await tx.execute(*_insert("compactions", {**RUN, "id": "run2", "state": "aborted", "result": None}))
    await opened.open()
    yield opened
    await opened.close()


def _migrate(connection: Connection, revision: str) -> None:
    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _insert(table: str, values: dict[str, Any]) -> Any:
    names = ", ".join(f'"{name}"' for name in values)
    places = ", ".join(f":{name}" for name in values)
    return text(f"INSERT INTO {table} ({names}) VALUES ({places})"), values


async def test_everything_is_there_and_what_one_person_said_is_known_to_be_theirs(database: Database) -> None:
    async with database.read() as tx:
        entries = (await histories.load(tx, HERE)).entries
        run, other = await runs.get(tx, "run1"), await runs.get(tx, "run2")
        briefs = {one.id: one for one in await traces.listed(tx)}
    assert [(entry.seq, entry.person, entry.blocks[0]["text"]) for entry in entries] == [
        (1, "ada", "entry 1"), (2, "ada", "entry 2"), (3, "", "entry 3"), (4, "", "entry 4"), (5, "", "entry 5"),
    ]  # fmt: skip
    assert run
    assert (run.plan, run.trace, run.meter_after) == (json.loads(RUN["plan"]), "## section", a_meter(90))  # type: ignore[arg-type]
    assert run.result
    assert run.result.summary == "s"
    assert other
    assert other.result is None
    usage = briefs["run1"].usage
    assert usage
    assert (usage.input, usage.output, briefs["run2"].usage) == (7, 3, None)


@pytest.mark.parametrize(
    "version", ["", "ae1027a6acf", "0001"], ids=["by no tool", "by another's migrations", "by others that count alike"]
)
async def test_a_database_of_another_program_is_left_as_it_is(url: str, version: str) -> None:
    opened = Database(url)
    async with opened.write() as tx:
        await tx.execute(text("CREATE TABLE customers (id INTEGER)"))
        await tx.execute(text("CREATE TABLE people (id INTEGER)"))
        if version:
            await tx.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
            await tx.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": version})
    with pytest.raises(ConfigurationError, match="another program's: it has tables customers, people, and nothing"):
        await opened.open()
    async with opened.read() as tx:
        there = set(await tx.run_sync(lambda connection: inspect(connection).get_table_names()))
    assert there - {"alembic_version"} == {"customers", "people"}
    await opened.close()


async def test_a_database_that_has_only_what_was_there_before_any_program_is_taken(url: str) -> None:
    opened = Database(url)
    async with opened.write() as tx:
        await tx.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
    await opened.open()
    await opened.close()
