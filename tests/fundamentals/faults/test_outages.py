"""PostgreSQL or Redis away for a while and back: everything waits, goes on, and says so. The wire between is real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text
from structlog.testing import capture_logs

from bot.agent.agent import Agent
from bot.agent.assembly import Assembly
from bot.agent.store_outage import AWAY
from bot.app.main import services_of
from bot.app.resources import open_resources
from bot.errors import StoreUnavailable
from bot.history import EntryKind
from bot.messages import Address, text_block
from bot.runtime.amounts import Amount
from bot.runtime.settings import load_settings
from bot.store import agents
from bot.store.money import budgets
from bot.store.money.budgets import Budget, Scope, Usual
from bot.store.money.limits import Limits
from bot.store.operators import parked
from tests.conftest import OpenHouse
from tests.house import PATIENCE, House, Room
from tests.servers.messages.server import MessagesServer
from tests.servers.proxy import Proxy

ADDRESS = Address("room", "1")
_LAST_WORDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0"
DIES = b"E" + (len(_LAST_WORDS) + 4).to_bytes(4, "big") + _LAST_WORDS
"""What a client of PostgreSQL gets when the server is killed, also where it asked for nothing."""


@pytest.fixture
async def postgres(postgres_book: str) -> AsyncIterator[Proxy]:
    """The wire to PostgreSQL."""
    async with Proxy(f"{make_url(postgres_book).query['host']}/.s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
async def redis(external_valkey: str) -> AsyncIterator[Proxy]:
    """The wire to Redis."""
    async with Proxy(external_valkey.removeprefix("unix://")) as proxy:
        yield proxy


@pytest.fixture
def book(postgres: Proxy, redis: Proxy, postgres_book: str) -> dict[str, Any]:
    """Settings of the stores, behind the wires."""
    name = make_url(postgres_book).database
    return {
        "database_url": f"postgresql://postgres@{postgres.address}/{name}",
        "redis_url": f"redis://{redis.address}/0",
    }


async def test_a_process_that_starts_while_postgresql_is_away_waits_for_it(
    book: Mapping[str, Any], postgres: Proxy, tmp_path: Path
) -> None:
    postgres.cut()
    async with AsyncExitStack() as stack:
        settings = load_settings(data_dir=tmp_path, anthropic_api_key="test-key", **book)
        opening = asyncio.create_task(stack.enter_async_context(open_resources(settings)))
        async with asyncio.timeout(PATIENCE):
            await postgres.refused.wait()
        postgres.restore()
        resources = await asyncio.wait_for(opening, PATIENCE)
        await resources.database.ping()


@pytest.mark.parametrize("to", [b"pg_advisory_xact_lock", b"alembic_version"])
async def test_a_process_that_starts_while_postgresql_dies_between_two_statements_waits_for_it(
    book: Mapping[str, Any], postgres: Proxy, tmp_path: Path, to: bytes
) -> None:
    postgres.add_to_answer(to, DIES)
    settings = load_settings(data_dir=tmp_path, anthropic_api_key="test-key", **book)
    with capture_logs() as logs:
        async with open_resources(settings) as resources:
            await resources.database.ping()
    assert "store_unavailable" in [line["event"] for line in logs]


async def test_a_start_during_which_postgresql_is_away_is_no_failed_one(
    book: Mapping[str, Any], postgres: Proxy, tmp_path: Path
) -> None:
    settings = load_settings(data_dir=tmp_path, anthropic_api_key="test-key", **book)
    async with open_resources(settings) as resources:
        async with resources.database.write() as tx:
            await agents.ensure(tx, ADDRESS, now=1.0)
            row = await agents.claim(tx, ADDRESS.agent_id)
        assert row
        postgres.cut()
        living = asyncio.create_task(Agent(services_of(resources), row).run())
        async with asyncio.timeout(PATIENCE):
            await postgres.refused.wait()
        postgres.restore()
        with pytest.RaisesGroup(StoreUnavailable):
            await asyncio.wait_for(living, PATIENCE)
        async with resources.database.read() as tx:
            counted = await tx.execute(text("SELECT starts FROM agents"))
        assert counted.scalar_one() == 0


async def test_a_request_for_which_postgresql_dies_while_something_is_reserved_waits_for_it(
    house: OpenHouse, room: Room, model: MessagesServer, postgres: Proxy
) -> None:
    async with house(budget={"day": "50"}):
        postgres.add_to_answer(b"pg_advisory_xact_lock(7237611)", DIES)
        with capture_logs() as logs:
            await room.asks("hello")
        events = [line["event"] for line in logs]
    assert "store_unavailable" in events
    assert "turn_resumed" not in events, "it costs the turn none of its tries"
    assert len(model.requests) == 1


async def test_while_postgresql_is_away_what_was_known_of_budgets_counts(
    book: Mapping[str, Any], postgres: Proxy, tmp_path: Path
) -> None:
    settings = load_settings(data_dir=tmp_path, anthropic_api_key="test-key", **book)
    async with open_resources(settings) as resources:
        limits = Limits(resources.database, Usual())
        async with resources.database.write() as tx:
            await budgets.choose(tx, Budget(Scope.CHAT, Amount(1), "", ADDRESS.agent_id), now=1.0)
        assert await limits.are_any()
        postgres.cut()
        limits.look_again()
        assert await limits.are_any()
        postgres.restore()


async def _summary_under_way(room: Room, model: MessagesServer) -> None:
    """Return when a summary has been asked for, which does not come until the model is released."""
    for number in range(12):
        await room.asks(f"message {number}")
    model.hang(lambda request: request.is_summary)
    await room.says("/compact")
    await model.wait_for(lambda server: any(record.request.is_summary for record in server.requests))


async def _said(logs: Sequence[Mapping[str, Any]], event: str, *, times: int = 1) -> None:
    async with asyncio.timeout(PATIENCE):
        while len([line for line in logs if line["event"] == event]) < times:  # noqa: ASYNC110  # a log rings no bell
            await asyncio.sleep(0.02)


async def _asks_without_an_answer(room: Room, model: MessagesServer) -> None:
    model.hang()
    await room.says("hello")
    await model.wait_for(lambda server: server.requests)


async def test_an_answer_that_comes_while_the_database_is_away_is_written_when_it_is_back(
    house: OpenHouse, room: Room, model: MessagesServer, postgres: Proxy
) -> None:
    async with house():
        with capture_logs() as logs:
            await _asks_without_an_answer(room, model)
            postgres.cut()
            model.release()
            await _said(logs, "step_waits")
            assert room.is_typing()
            postgres.restore()
            await room.until(room.replies)
        assert len(model.requests) == 1, "the model is not asked again"


async def test_an_answer_that_comes_while_the_database_does_not_answer_is_written_when_it_does(
    house: OpenHouse, room: Room, model: MessagesServer, postgres: Proxy
) -> None:
    async with house():
        await _asks_without_an_answer(room, model)
        postgres.blackhole()
        model.release()
        await model.wait_for(lambda server: server.requests[0].outcome == "completed")
        assert not room.replies()
        postgres.restore()
        await room.until(room.replies)
        assert len(model.requests) == 1


async def test_a_message_is_not_taken_while_the_database_is_away_and_answered_when_it_comes_again(
    house: OpenHouse, room: Room, postgres: Proxy
) -> None:
    async with house():
        await room.asks("hello")
        postgres.cut()
        with pytest.raises(StoreUnavailable):
            await room.says("are you there?", key="message:1:again")
        postgres.restore()
        await room.says("are you there?", key="message:1:again")
        await room.until(lambda: len(room.replies()) == 2)


async def test_a_compaction_goes_on_when_the_database_is_back(
    house: OpenHouse, room: Room, model: MessagesServer, postgres: Proxy
) -> None:
    async with house():
        await _summary_under_way(room, model)
        with capture_logs() as logs:
            postgres.cut()
            await _said(logs, "errand_waits")
            postgres.restore()
            model.release()
            await room.until(lambda: "Compacted:" in room.notices()[-1])


async def test_what_is_said_while_redis_is_away_is_answered_when_it_is_back(
    house: OpenHouse, room: Room, redis: Proxy
) -> None:
    async with house():
        await room.asks("hello")
        with capture_logs() as logs:
            redis.cut()
            await _said(logs, "redis_lost")
            await room.says("are you there?")
            redis.restore()
            await room.until(lambda: len(room.replies()) == 2)


async def test_a_summary_is_not_lost_with_redis(
    house: OpenHouse, room: Room, model: MessagesServer, redis: Proxy
) -> None:
    async with house():
        await _summary_under_way(room, model)
        with capture_logs() as logs:
            redis.cut()
            await _said(logs, "worker_lost_redis")
            model.release()
            redis.restore()
            await room.until(lambda: "Compacted:" in room.notices()[-1])
        assert len([record for record in model.requests if record.request.is_summary]) == 1


async def test_a_step_that_was_committed_although_the_answer_got_lost_is_not_written_twice(
    house: OpenHouse, room: Room
) -> None:
    async with house(("gateway",)) as running:
        await room.says("hello")
        agent = await _agent(running)
        context = agent.context
        written = 0

        async def write() -> None:
            nonlocal written
            written += 1
            async with context.step() as step:
                await step.append("assistant", [text_block("yes")], EntryKind.REPLY, turn="t")
            raise StoreUnavailable("the connection was lost in the commit")

        await agent.outage.see_written("t", 0, "", write)
        assert written == 1
        async with running.resources.database.read() as tx:
            rows = await tx.execute(text("SELECT count(*) FROM entries WHERE turn_id = 't'"))
        assert rows.scalar_one() == 1
        assert context.history.last_seq == context.next_seq - 1


async def test_a_compaction_whose_first_commit_was_not_answered_is_seen_through(
    house: OpenHouse, room: Room, postgres: Proxy
) -> None:
    async with house():
        for number in range(3):
            await room.asks(f"message {number}. " + "So it goes on and on. " * 40)
        postgres.lose_answer(b"COMMIT", after=b"INSERT INTO compactions")
        await room.says("/compact")
        await room.until(lambda: any("Compacted:" in text for text in room.notices()))
        await room.asks("and now? " + "So it goes on and on. " * 40)
        await room.says("/compact")
        await room.until(lambda: len([text for text in room.notices() if "ompacted" in text]) == 2)


async def test_a_postgresql_that_dies_between_two_statements_is_waited_for(
    house: OpenHouse, room: Room, postgres: Proxy
) -> None:
    async with house():
        await room.asks("hello")
        for words in (b"FROM inbox", b"UPDATE agents", b"INSERT INTO entries", b"FROM outbox"):
            postgres.add_to_answer(words, DIES)
            await _asks_until_stored(room)


async def _asks_until_stored(room: Room) -> None:
    """As platforms do, which bring a message again."""
    try:
        await room.asks("are you there?")
    except StoreUnavailable:
        await room.asks("are you there?")


async def test_a_command_whose_commit_was_not_answered_is_known_to_the_next_turn(
    house: OpenHouse, room: Room, model: MessagesServer, postgres: Proxy
) -> None:
    async with house():
        await room.asks("remember the heron")
        postgres.lose_answer(b"COMMIT", after=b"INSERT INTO layers")
        await room.says("/new")
        await room.until(lambda: any("A fresh start" in text for text in room.notices()))
        await room.asks("what do you remember?")
        assert "heron" not in model.requests[-1].request.all_text
        await room.says("/undo")
        await room.until(lambda: len(room.notices()) == 2)
        await room.asks("and now?")
        assert "heron" in model.requests[-1].request.all_text


async def test_a_postgresql_that_is_silent_for_longer_than_a_statement_may_take_is_waited_for(
    house: OpenHouse, room: Room, postgres: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.servers.postgres._ANSWER_SECONDS", 1)
    async with house():
        await room.asks("hello")
        with capture_logs() as logs:
            postgres.blackhole()
            saying = asyncio.create_task(room.says("are you there?"))
            await asyncio.wait({saying}, timeout=4)
            postgres.restore()
            if saying.done() and saying.exception():  # a platform brings it again
                assert isinstance(saying.exception(), StoreUnavailable)
                await room.says("are you there?")
            await saying if not saying.done() else None
            await room.until(lambda: len(room.replies()) == 2)
        assert not [line for line in logs if line["log_level"] in ("error", "critical")], logs


async def test_a_host_that_stands_still_in_a_transaction_holds_nobody_up_for_long(
    house: OpenHouse, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.servers.postgres._REST_SECONDS", 1)
    async with house() as running:
        await room.asks("hello")

        async def stand_still() -> None:
            async with running.resources.database.write() as tx:
                await tx.execute(text("UPDATE agents SET touched_at = touched_at"))
                await asyncio.wait_for(room.says("is anybody there?"), 0.9)  # it is stored at once
                await room.until(lambda: len(room.replies()) == 2)

        with pytest.raises(StoreUnavailable):
            await stand_still()


async def test_what_takes_its_time_in_a_transaction_may_say_so(
    house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.servers.postgres._REST_SECONDS", 1)
    async with house(("gateway",)) as running:
        for open_ in (running.resources.database.write, running.resources.database.read):
            async with open_(long=True) as tx:
                await tx.execute(text("SELECT 1"))
                await asyncio.sleep(1.5)
                await tx.execute(text("SELECT 1"))


async def test_whoever_waits_for_postgresql_goes_on_as_soon_as_it_is_back(
    house: OpenHouse, room: Room, postgres: Proxy
) -> None:
    async with house(("gateway",)) as running:
        database, [gateway] = running.resources.database, running.gateways
        await room.says("hello")
        assert await gateway.check() is None
        postgres.cut()
        with pytest.raises(StoreUnavailable, match=f"DATABASE_URL: {postgres.address}/"):
            await database.ping()
        waiting = [asyncio.create_task(database.until_back(600)) for _ in range(5)]
        assert await gateway.check() == "waits for the database", "and the platform is not to blame"
        postgres.refused.clear()
        async with asyncio.timeout(PATIENCE):
            await postgres.refused.wait()
        assert not any(task.done() for task in waiting)
        postgres.restore()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*waiting)
        assert await gateway.check() is None


async def test_whoever_has_something_for_a_database_without_room_tries_again_soon(
    house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.database._LONGEST_REST", 0.6)
    async with house(("gateway",)) as running:
        database = running.resources.database
        async with _no_room(running, "skipped_updates"):
            with pytest.raises(StoreUnavailable):
                async with database.write() as tx:
                    await tx.execute(text("INSERT INTO skipped_updates VALUES (1, 'room', '{}', '', 0)"))
            async with asyncio.timeout(PATIENCE):
                await database.until_back(600)


@asynccontextmanager
async def _no_room(running: House, *tables: str) -> AsyncIterator[None]:
    """What a PostgreSQL says whose disk is full, to whoever writes into these tables."""
    database = running.resources.database
    async with database.write() as tx:
        raising = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'"
        await tx.execute(text(f"CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raising}; END $$"))
        for table in tables:
            await tx.execute(text(f"CREATE TRIGGER no BEFORE INSERT ON {table} EXECUTE FUNCTION no()"))
    yield
    async with database.write() as tx:
        await tx.execute(text("DROP FUNCTION no() CASCADE"))


async def test_turns_for_whose_answers_a_database_has_no_room_keep_them_until_there_is(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    chats = ["1", "2", "3", "4"]
    async with house() as running:
        await room.asks("hello")
        model.hang(times=None)
        for chat in chats:
            await room.says("are you there?", chat=chat)
        await model.wait_for(lambda server: server.running == len(chats))
        with capture_logs() as logs:
            async with _no_room(running, "entries"):
                model.release()
                await _said(logs, "step_waits", times=len(chats))
            await room.until(lambda: sum(len(room.replies(chat)) for chat in chats) == 1 + len(chats))
        assert len(model.requests) == 1 + len(chats), "the model is not asked again"
        assert not [line for line in logs if line["log_level"] == "error"]
        async with running.resources.database.read() as tx:
            assert await parked.listed(tx) == []


@pytest.mark.parametrize("files", [{}, {"notes.txt": b"hello"}], ids=["command", "file"])
async def test_a_database_without_room_costs_what_waits_none_of_its_tries(
    house: OpenHouse, room: Room, files: Mapping[str, bytes]
) -> None:
    said = "what is in it?" if files else "/status"
    async with house() as running:
        await room.asks("hello")
        with capture_logs() as logs:
            async with _no_room(running, "turns" if files else "outbox"):
                await room.says(said, files=files)
                await _said(logs, "store_unavailable", times=4)
            await room.until(lambda: len(room.replies()) == 2 if files else len(room.notices()) == 1)
        assert not [line for line in logs if line["log_level"] == "error"]
        async with running.resources.database.read() as tx:
            assert await parked.listed(tx) == []


async def test_a_message_for_which_a_database_has_no_room_is_not_taken_and_comes_again(
    house: OpenHouse, room: Room
) -> None:
    async with house() as running:
        async with _no_room(running, "inbox", "skipped_updates"):
            with pytest.raises(StoreUnavailable, match="make room on the disk"):
                await room.says("are you there?", key="message:1:again")
        await room.says("are you there?", key="message:1:again")
        await room.until(room.replies)


async def test_a_database_that_only_reads_for_a_while_ends_no_process(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running:
        await room.asks("hello")
        model.hang(times=None)
        await room.says("are you there?")
        await model.wait_for(lambda server: server.running == 1)
        with capture_logs() as logs:
            await _reads_only(running, yes=True)
            model.release()
            await _said(logs, "step_waits")
            with pytest.raises(StoreUnavailable, match="only reads"):
                await room.says("and now?", key="message:1:again")
            await _reads_only(running, yes=False)
            await room.says("and now?", key="message:1:again")
            await room.until(lambda: len(room.replies()) == 3)
        assert not [line for line in logs if line["log_level"] == "error"]


async def _reads_only(running: House, *, yes: bool) -> None:
    """As after a failover: the old connections are gone, and the server that takes the new ones is a standby."""
    database = running.resources.database
    async with database.glance() as tx:
        name = (await tx.execute(text("SELECT current_database()"))).scalar_one()
        await tx.execute(text("SET default_transaction_read_only = off"))
        await tx.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = {'on' if yes else 'off'}"))
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        await tx.execute(text(others + "AND pid <> pg_backend_pid()"))
        await tx.execute(text("SET default_transaction_read_only = on" if yes else "SELECT 1"))


async def test_whoever_waits_long_for_the_database_is_told_below_what_was_written(house: OpenHouse, room: Room) -> None:
    async with house(("gateway",)) as running:
        await room.says("hello")
        agent = await _agent(running)
        context = agent.context
        async with context.step() as step:
            slot = await step.open_slot()
        room.shown["1"] = {}
        async with agent.outage.telling(slot, "So far so good", after=0):
            await room.until(
                lambda: any(AWAY in m.text and "So far" in m.text for m in room.shown.get("1", {}).values())
            )


async def _agent(running: House) -> Assembly:
    async with running.resources.database.write() as tx:
        row = await agents.claim(tx, ADDRESS.agent_id)
    assert row
    agent = Assembly(services_of(running.resources), row)
    await agent.context.load()
    return agent
