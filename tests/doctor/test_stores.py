"""The database and Redis: looked at, and left as they were."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from bot.app.doctor.database import check_database
from bot.app.doctor.redis import check_redis, is_held
from bot.app.embedded.valkey import EmbeddedValkey
from bot.app.resources import bus_at
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop
from bot.store.book import database_of
from tests.doctor.conftest import MakeCase, bell_of_a_new_book, said, the_one


async def _change(settings: Settings, *statements: str) -> None:
    database = database_of(settings)
    await database.open()
    async with database.write() as tx:
        for statement in statements:
            await tx.execute(text(statement))
    await database.close()


async def test_no_database_yet_is_well_and_none_is_made(case: MakeCase, tmp_path: Path) -> None:
    (line,) = await said(check_database, case())
    assert line.startswith("ok: There is no SQLite file")
    assert not (tmp_path / "data").exists()


async def test_a_database_in_use_is_well(case: MakeCase) -> None:
    patient = case()
    await _change(patient.settings)
    (line,) = await said(check_database, patient)
    assert line.startswith("ok: SQLite 3.")
    assert "up to date" in line


async def test_an_older_database_is_said_to_be_upgraded(case: MakeCase) -> None:
    patient = case()
    await _change(patient.settings, "UPDATE alembic_version SET version_num = '0001'")
    (line,) = await said(check_database, patient)
    assert line.startswith("ok: ")
    assert "upgraded at the next start" in line


async def test_a_database_of_another_program_is_a_problem(case: MakeCase) -> None:
    patient = case()
    path = patient.settings.data_dir / "palimpsest.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as theirs:
        theirs.executescript("CREATE TABLE customers (id); CREATE TABLE orders (id);")
    found = await the_one(check_database, patient, "problem")
    assert "another program's: it has tables customers, orders." in found.sentence
    assert "DATABASE_URL" in found.advice


async def test_a_newer_database_is_a_problem(case: MakeCase) -> None:
    patient = case()
    await _change(patient.settings, "UPDATE alembic_version SET version_num = '9999'")
    assert "newer version" in (await the_one(check_database, patient, "problem")).sentence


async def test_a_file_that_is_no_database_is_a_problem(case: MakeCase, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "palimpsest.db").write_text("no database" * 100)
    assert "cannot be opened" in (await the_one(check_database, case(), "problem")).sentence


async def test_postgresql_is_asked_for_its_version_and_stays_empty(case: MakeCase, postgres_database: str) -> None:
    patient = case(database_url=postgres_database)
    (line,) = await said(check_database, patient)
    assert line.startswith("ok: PostgreSQL ")
    assert "is empty" in line
    assert "is empty" in (await said(check_database, patient))[0]


async def test_a_postgresql_that_does_not_answer_is_a_problem_without_its_password(
    case: MakeCase, unused_tcp_port: int
) -> None:
    patient = case(database_url=f"postgresql://ada:swordfish1@127.0.0.1:{unused_tcp_port}/talk")
    finding = await the_one(check_database, patient, "problem")
    assert f"127.0.0.1:{unused_tcp_port}/talk cannot be opened" in finding.sentence
    assert "password" in finding.advice
    assert "swordfish1" not in str(finding)


async def test_a_database_that_postgresql_does_not_have_is_a_problem(case: MakeCase, postgres_url: str) -> None:
    patient = case(database_url=postgres_url.replace("/postgres?", "/nobody?"))
    assert "nobody" in (await the_one(check_database, patient, "problem")).sentence


async def test_the_embedded_valkey_can_run_and_is_not_started(case: MakeCase, tmp_path: Path) -> None:
    (line,) = await said(check_redis, case())
    assert line.startswith("ok: The embedded Valkey 9.")
    assert not (tmp_path / "data").exists()


async def test_a_running_embedded_valkey_is_asked_and_left_running(case: MakeCase, tmp_path: Path) -> None:
    valkey = EmbeddedValkey(tmp_path / "data")
    await valkey.start()
    try:
        (line,) = await said(check_redis, case())
        assert line.endswith(" runs.")
        assert await valkey.find()
    finally:
        await valkey.stop()


async def test_a_redis_that_throws_keys_away_is_a_problem(case: MakeCase, external_valkey: str) -> None:
    async with Redis.from_url(external_valkey) as redis:
        await redis.config_set("maxmemory", "100mb")
        patient = case(redis_url=external_valkey)
        assert await said(check_redis, patient) == [f"ok: Redis {(await redis.info())['valkey_version']} answers."]
        await redis.config_set("maxmemory-policy", "allkeys-lru")
    finding = await the_one(check_redis, patient, "problem")
    assert "allkeys-lru" in finding.sentence
    assert "noeviction" in finding.advice


async def test_a_redis_that_keeps_nothing_costs_only_time(case: MakeCase, external_valkey: str) -> None:
    async with Redis.from_url(external_valkey) as redis:
        await redis.config_set("appendonly", "no")
    assert "a few seconds" in (await the_one(check_redis, case(redis_url=external_valkey), "warning")).advice


async def test_a_redis_that_does_not_answer_is_a_problem(case: MakeCase, unused_tcp_port: int) -> None:
    patient = case(redis_url=f"redis://:swordfish1@127.0.0.1:{unused_tcp_port}/0")
    finding = await the_one(check_redis, patient, "problem")
    assert "REDIS_URL" in finding.sentence
    assert "swordfish1" not in str(finding)


async def test_a_lease_is_seen_and_not_taken(case: MakeCase, external_valkey: str) -> None:
    patient = case(redis_url=external_valkey)
    assert await is_held(patient.settings, "connector:telegram") is False
    bus = bus_at(external_valkey, await bell_of_a_new_book(patient.settings))
    lease = bus.lease("connector:telegram", 60)
    assert await lease.take()
    assert await is_held(patient.settings, "connector:telegram") is True
    await lease.drop()
    await bus.close()
    assert await is_held(case().settings, "connector:telegram") is None


@pytest.fixture
async def unused_tcp_port() -> int:
    """A port where nobody listens."""
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_another_installation_on_the_same_redis_is_told_and_is_no_problem(
    case: MakeCase, external_valkey: str
) -> None:
    patient = case(redis_url=external_valkey)
    buses = [bus_at(external_valkey, await bell_of_a_new_book(patient.settings)), bus_at(external_valkey, "another")]
    hearing = [asyncio.create_task(bus.run()) for bus in buses]
    async with asyncio.timeout(10):
        await asyncio.gather(*(bus.connected() for bus in buses))
    finding = await the_one(check_redis, patient, "ok")
    assert finding.sentence.endswith("1 other installation uses it too, kept apart from this one.")
    await stop(*hearing)
    await asyncio.gather(*(bus.close() for bus in buses))
