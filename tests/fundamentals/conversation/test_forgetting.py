"""A conversation taken along, forgotten, and brought back: what is gone is gone, and what came back goes on."""

from __future__ import annotations

import asyncio
import io
import json
import re
from typing import Any
from zipfile import ZipFile

import pytest
from sqlalchemy import text

from bot.app.archive import importing
from bot.app.archive.exporting import export
from bot.app.archive.forgetting import Forgetting, Forgotten
from bot.app.cli.book import bus_of
from bot.messages import Address, AgentId, Quote
from bot.runtime.settings import Settings
from bot.store import inbox, outbox, work
from bot.store.book import database_of
from tests.conftest import MakeSettings, OpenHouse
from tests.fundamentals.compaction.memory_book import until
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply, ToolCall

HERE = Address("room", "1").agent_id
SAID, REPLIED, NAMED, SENT, WRITTEN, KNOWN, SUMMED, FOCUS, PERSON = (
    "quokka-said", "quokka-replied", "quokka-named", "quokka-sent", "quokka-written", "quokka-known", "quokka-summed",
    "quokka-focus", "quokka-person",
)  # fmt: skip
MARK = "quokka-"
OTHER = "wombat-said"
MADE_ANEW = {"id", "slot", "status_slot"}
"""What is numbered by the book."""


def brain(request: MessagesRequest) -> Reply:
    """Writes a file when it is asked to, and has a word of its own for each kind of thing."""
    if request.is_summary:
        return Reply(f"{SUMMED}: they talked about {SAID} and {NAMED}.")
    if OTHER in request.all_text:
        return Reply(f"{OTHER}, indeed.")
    if "write it down" in " ".join(request.last_user_texts) and WRITTEN not in request.all_text:
        return Reply("", [ToolCall("write_file", {"path": "plans/note.txt", "content": WRITTEN})])
    return Reply(f"{REPLIED} {'and so on ' * 40}")


async def talk(house: House, room: Room) -> None:
    """Everything that leaves a trace, in chat 1; and a little in chat 2."""
    await room.asks(f"My word is {SAID}. Write it down.", chat="1")
    before = len(room.replies())
    await room.says("look", files={f"{NAMED}.txt": SENT.encode()}, person_name=PERSON)
    await room.until(lambda: len(room.replies()) > before)
    for number in range(4):
        await room.asks(f"{SAID} again, line {number}: {'long talk of nothing ' * 12}")
    await room.commands(f"/memory add {KNOWN} is a marsupial")
    await room.commands(f"/compact {FOCUS}")
    await room.until(lambda: any("Compacted:" in notice for notice in room.notices()))
    await everything_is_delivered(house)
    await room.asks(f"write it down, {SAID}")
    await room.asks(OTHER, chat="2")
    await everything_is_delivered(house)


async def everything_is_delivered(house: House) -> None:
    """And written down: nothing of this conversation is under way."""

    async def is_quiet() -> bool:
        async with house.resources.database.read() as tx:
            left = await outbox.undelivered(tx, HERE) + await inbox.unanswered(tx, Address("room", "1"))
            return not left and not await work.has_work(tx, HERE, now=0.0)

    await until(is_quiet)


class Operator:
    """Somebody at the command line, with a connection of their own to the same stores."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def exports(self, agent_id: AgentId = HERE) -> bytes:
        target, database = io.BytesIO(), database_of(self.settings)
        try:
            await export(database, self.settings.data_dir / "agents" / agent_id, agent_id, target)
        finally:
            await database.close()
        return target.getvalue()

    async def imports(self, data: bytes) -> None:
        database = database_of(self.settings)
        try:
            with ZipFile(io.BytesIO(data)) as packed:
                archive = importing.opened(packed)
                importing.check(archive)
                await importing.bring_in(database, self.settings.data_dir, archive)
        finally:
            await database.close()

    async def forgets(self, agent_id: AgentId = HERE) -> Forgotten:
        return await self._forgets(agent_id=agent_id)

    async def forgets_person(self, person: str) -> Forgotten:
        return await self._forgets(person=person)

    async def _forgets(self, agent_id: AgentId | None = None, person: str = "") -> Forgotten:
        database = database_of(self.settings)
        try:
            async with bus_of(self.settings, database) as bus:
                work = Forgetting(self.settings, database, bus)
                await (work.conversation(agent_id) if agent_id else work.person("room", person))
                await work.scrub()
                return work.done
        finally:
            await database.close()

    async def finds(self, words: str) -> list[str]:
        """Where these words stand: files below DATA_DIR, and tables."""
        pattern = re.compile(re.escape(words.encode()), re.IGNORECASE)
        found = [
            str(path.relative_to(self.settings.data_dir))
            for path in sorted(self.settings.data_dir.rglob("*"))
            if pattern.search(str(path).encode()) or (path.is_file() and pattern.search(path.read_bytes()))
        ]
        return found + [f"table {name}" for name in await self._tables_with(words)]

    async def _tables_with(self, words: str) -> list[str]:
        database = database_of(self.settings)
        try:
            async with database.read() as tx:
                if tx.dialect.name == "sqlite":
                    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'entry_words%'"
                else:
                    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
                names = [row[0] for row in await tx.execute(text(query))]
                return [
                    name
                    for name in names
                    if any(words in str(row).lower() for row in await tx.execute(text(f"SELECT * FROM {name}")))
                ]
        finally:
            await database.close()


def rows_of(data: bytes) -> dict[str, list[dict[str, Any]]]:
    """What an archive holds, table by table, without what the book numbers; files by their content."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        tables = {name: [plain(json.loads(row)) for row in archive.read(name).splitlines()]
                  for name in names if name.startswith("tables/")}  # fmt: skip
        files = {name: [{"content": archive.read(name)}] for name in names if name.startswith("files/")}
        manifest = json.loads(archive.read("manifest.json"))
    del manifest["exported_at"]
    return {**tables, **files, "manifest": [manifest]}


def plain(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("line"):
        row["line"].pop("slot")
    numbered = MADE_ANEW if isinstance(row.get("id"), int) else MADE_ANEW - {"id"}
    return {name: value for name, value in row.items() if name not in numbered}


@pytest.fixture
def model(model: MessagesServer) -> MessagesServer:
    model.brain, model.window = brain, 6_000
    return model


async def test_what_was_forgotten_is_nowhere_and_comes_back_as_it_was(
    house: OpenHouse, room: Room, settings: MakeSettings, model: MessagesServer
) -> None:
    operator = Operator(settings())
    async with house() as opened:
        await talk(opened, room)
        before = (await opened.history()).view()
        kept = await operator.exports()
        for word in (SAID, REPLIED, NAMED, SENT, WRITTEN, KNOWN, SUMMED, FOCUS, PERSON):
            assert await operator.finds(word), f"{word} was never written"

        done = await operator.forgets()
        assert done.conversations == [HERE]
        assert done.rows["entries"] == len(rows_of(kept)["tables/entries.jsonl"])
        assert await operator.finds(MARK) == []
        assert await operator.finds(OTHER), "the other conversation stays"
        cut_off = opened.folder().with_name(".forgotten-0")
        cut_off.mkdir()
        (cut_off / "rest.txt").write_text(SAID)
        again = await operator.forgets()
        assert not again.anything
        assert await operator.finds(MARK) == [], "what a crash in the middle of it left"

        await operator.imports(kept)
        assert rows_of(await operator.exports()) == rows_of(kept)
        assert (await opened.history()).view() == before
        found = await room.commands(f"/recall {SAID}")
        assert SAID in found
        assert KNOWN in await room.commands("/memory")
        await room.asks("and now?")
        assert SUMMED in model.requests[-1].request.all_text
        assert "Took the last compaction back" in await room.commands("/undo")


async def test_a_running_agent_writes_nothing_back_and_the_next_message_begins_anew(
    house: OpenHouse, room: Room, settings: MakeSettings, model: MessagesServer
) -> None:
    operator = Operator(settings())
    async with house() as opened:
        await room.asks(f"{SAID} is my word", chat="1")
        model.hang()
        await room.says(f"{SAID}, write it down")
        await model.wait_for(lambda server: server.running)
        done, _ = await asyncio.gather(operator.forgets(), room.says("Perhaps I am the last, perhaps the first."))
        assert done.rows["turns"] >= 2
        model.brain = lambda _: Reply("Hello again.")
        model.release()
        await room.says("Hello there, it is me.")
        await room.until(lambda: room.replies()[-1] == "Hello again.")
        await everything_is_delivered(opened)
        assert "Hello there" in str((await opened.history()).view())
        assert await operator.finds(MARK) == []


async def group_talk(room: Room) -> None:
    """Ada and Bob in one chat, and Ada alone in another."""
    for number in range(3):
        await says(room, "bob", f"Bob's word is wombat-{number}. {'Long talk of nothing. ' * 12}")
        await says(room, "ada", f"Ada's word is quokka-{number}. {'Long talk of nothing. ' * 12}")
    await says(room, "ada", "look", files={f"{NAMED}.txt": SENT.encode()})
    await room.says(f"/memory add {KNOWN} is a marsupial", person="ada", speaker="Ada")
    await room.until(lambda: any(KNOWN in notice for notice in room.notices()))
    await room.says(f"/compact {FOCUS}", person="ada", speaker="Ada")
    await room.until(lambda: any("Compacted:" in notice for notice in room.notices()))
    await says(room, "bob", "wombat-later")
    quote = Quote(f"> Ada: Ada's word is {SAID}, she told me.", person="ada")
    await says(room, "bob", "wombat-asked", quote=quote)
    await room.asks(f"{SAID} in private", chat="ada")


async def says(room: Room, person: str, words: str, **more: Any) -> None:
    before = len(room.replies())
    await room.says(words, person=person, speaker=person.title(), person_name=person.title(), **more)
    await room.until(lambda: len(room.replies()) > before)


async def test_what_one_person_said_goes_and_what_others_said_stays(
    house: OpenHouse, room: Room, settings: MakeSettings, model: MessagesServer
) -> None:
    operator = Operator(settings())
    model.brain = lambda request: Reply("quokka-summed wombat-summed" if request.is_summary else "Noted.")
    async with house() as opened:
        await group_talk(room)
        await everything_is_delivered(opened)
        entries = len((await opened.history()).entries)
        done = await operator.forgets_person("ada")
        assert done.conversations == [Address("room", "ada").agent_id]
        assert done.shared == [HERE]
        assert await operator.finds(MARK) == []
        page = await opened.history()
        assert page.stack == ()
        shown = str(page.view())
        for word in ("wombat-0", "wombat-2", "wombat-later", "> [removed]\\n\\nBob: wombat-asked"):
            assert word in shown
        assert len(page.entries) >= entries
        again = await operator.forgets_person("ada")
        assert not again.anything
        before = len(room.replies())
        await says(room, "bob", "And now?")
        assert len(room.replies()) == before + 1
        assert not model.refused
