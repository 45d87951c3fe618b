"""Several installations on one Redis, with numbers of their own or the same: none hears, shows or holds up another."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from sqlalchemy import text

from bot.app.main import gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.events import Written
from bot.bus.redis_names import SHARED_LEASES, SHARED_RINGS
from bot.bus.redis_server import state_of
from bot.messages import Address
from bot.runtime.settings import Settings
from bot.store import Database, installation
from bot.store.book import bell_of, database_of
from tests.conftest import new_database
from tests.house import PATIENCE, Room, open_house, settings_for
from tests.servers.messages.server import MessagesServer

HERE = Address("room", "1")


@asynccontextmanager
async def another_process(settings: Settings, room: Room | None = None) -> AsyncIterator[Resources]:
    """Of the installation that these settings name: its agents and its worker, and with a room its gateway."""
    async with open_resources(settings, listen=(room.name,) if room else (), clear_leases=False) as resources:
        roles = inner_roles(resources, ("agents", "worker"))
        roles += [gateway_for(resources, room, "connector:room").run()] if room else []
        work = [asyncio.create_task(item) for item in roles]
        yield resources
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


@pytest.mark.parametrize("numbers", [("?db=0", "?db=1"), ("", "")], ids=["two numbers", "one number"])
async def test_an_installation_shows_no_text_of_another_and_answers_beside_it(
    model: MessagesServer, tmp_path: Path, external_valkey: str, numbers: tuple[str, str]
) -> None:
    ours = settings_for(model, tmp_path / "ours", redis_url=external_valkey + numbers[0])
    theirs = settings_for(model, tmp_path / "theirs", redis_url=external_valkey + numbers[1])
    room, other_room = Room(), Room()
    model.delta_delay = 0.05
    async with (
        open_house(ours, room, ("gateway",)) as running,
        another_process(ours) as at_home,
        another_process(theirs, other_room) as others,
    ):
        await asyncio.gather(room.says("My dog is Rex."), other_room.says("My cat is Tom."))
        for slot in range(1, 4):  # slots are counted from 1 in each book
            others.bus.live(Written(HERE, slot, "what only they may read"))
        await asyncio.gather(room.until(room.replies), other_room.until(other_room.replies))
        await asyncio.gather(room.asks("What is my dog?"), other_room.asks("What is my cat?"))
        assert room.replies()[-1] == "The dog is Rex."
        assert other_room.replies()[-1] == "The cat is Tom."
        seen = [text for message in room.shown["1"].values() for text in message.texts]
        assert not [text for text in seen if "only they" in text]
        assert room.typing["1"], "what another process of ours tells is shown"
        assert running.resources.bus.names == at_home.bus.names


async def test_a_live_text_reaches_no_slot_of_another_conversation(
    model: MessagesServer, tmp_path: Path, external_valkey: str
) -> None:
    """An event finds its row by its number and its address, not by the number alone."""
    settings, room = settings_for(model, tmp_path / "ours", redis_url=external_valkey), Room()
    model.hang(lambda _: True)
    async with open_house(settings, room, ("gateway",)) as running, another_process(settings) as at_home:
        await room.says("hello", chat="1")
        await room.until(lambda: room.is_typing("1"))
        slot = await _open_slot(running.resources.database)
        async with running.resources.bus.bell(topics.DELIVERED) as bell:
            at_home.bus.live(Written(Address("room", "1", "a thread"), slot, "of another thread"))
            at_home.bus.live(Written(Address("room", "2"), slot, "of another chat"))
            await bell.wait(0.1)
            at_home.bus.live(Written(HERE, slot, "of this one"))
            await room.until(lambda: room.shown.get("1"))
        shown = [text for chat in room.shown.values() for message in chat.values() for text in message.texts]
        assert set(shown) == {"of this one"}
        model.release()


async def _open_slot(database: Database) -> int:
    async with asyncio.timeout(PATIENCE):
        while True:
            async with database.read() as tx:
                slot = (await tx.execute(text("SELECT max(id) FROM outbox WHERE state = 'open'"))).scalar()
            if slot:
                return int(slot)
            await asyncio.sleep(0.02)


async def test_processes_on_one_book_agree_on_its_name_and_a_copy_of_it_has_another(tmp_path: Path) -> None:
    names = [await _name_of(tmp_path / "data") for _ in range(2)]
    assert names[0] == names[1]
    assert len(names[0]) == 16
    with sqlite3.connect(tmp_path / "data" / "palimpsest.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    assert await _name_of(tmp_path / "copy") != names[0]
    (tmp_path / "data").rename(tmp_path / "moved")
    assert await _name_of(tmp_path / "moved") == names[0]


async def _name_of(folder: Path) -> str:
    database = Database.in_folder(folder)
    await database.open()
    try:
        return await bell_of(database)
    finally:
        await database.close()


async def test_a_copy_of_a_postgresql_database_has_another_name(postgres_url: str, tmp_path: Path) -> None:
    async with (
        new_database(postgres_url) as url,
        new_database(postgres_url) as copy,
        _postgres(url, tmp_path) as one,
        _postgres(url, tmp_path) as another,
        _postgres(copy, tmp_path) as it,
    ):
        async with one.write() as tx:
            known = await installation.id_of(tx)
        async with it.write() as tx:  # copied with everything else
            await tx.execute(text("INSERT INTO installation VALUES (1, :id)"), {"id": known})
        assert await bell_of(one) == await bell_of(another) != await bell_of(it)


@asynccontextmanager
async def _postgres(url: str, folder: Path) -> AsyncIterator[Database]:
    database = database_of(Settings(_env_file=None, data_dir=folder, database_url=SecretStr(url)))
    await database.open()
    yield database
    await database.close()


async def test_what_a_process_of_the_version_before_has_is_left_to_it_until_it_ends(external_valkey: str) -> None:
    bus = Bus(external_valkey, "test")
    path = bus.redis.connection_pool.connection_kwargs["path"]
    async with Redis(unix_socket_path=path) as redis:
        await redis.set(f"{SHARED_LEASES}agent:room-1", "held by an older process", px=60_000)
        lease = bus.lease("agent:room-1", 3.0)
        assert not await lease.take()
        assert 50 < await lease.left() <= 60
        assert await bus.is_held("agent:room-1")
        await redis.delete(f"{SHARED_LEASES}agent:room-1")
        assert await lease.take()
        await redis.set(f"{SHARED_LEASES}agent:room-2", "garbage, for ever")
        assert await bus.lease("agent:room-2", 3.0).take()
    await bus.close()


async def test_who_else_uses_a_redis_can_be_asked(external_valkey: str) -> None:
    ours, theirs = Bus(external_valkey, "ours"), Bus(external_valkey, "theirs")
    hearing = [asyncio.create_task(bus.run()) for bus in (ours, theirs)]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(ours.connected(), theirs.connected())
    found = await state_of(ours)
    assert (found.others, found.before) == (1, 0)
    async with ours.redis.pubsub() as older:
        await older.subscribe(SHARED_RINGS)
        await older.get_message(timeout=1)
        assert (await state_of(ours)).before == 1
    for task in hearing:
        task.cancel()
    await asyncio.gather(*hearing, return_exceptions=True)
    await asyncio.gather(ours.close(), theirs.close())
