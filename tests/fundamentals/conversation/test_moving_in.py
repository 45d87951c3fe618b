"""What was said with other programs goes on here: kept whole, found word for word, and small in a model's view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from bot.app.archive import moving_in
from bot.app.archive.foreign import ForeignMessage, reader_of, source_at
from bot.app.archive.forgetting import Forgetting
from bot.app.archive.moving_in import Brought, Where
from bot.estimate import Family
from bot.history import History
from bot.history.entry_text import text_to_read
from bot.messages import Address, AgentId
from bot.store.search import recall
from tests.conftest import OpenHouse
from tests.exports import generator, shapes
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply

HERE = Where("room", Address("room", "1"))
"""Into the conversation in which the tests talk."""
EACH = Where("room")
"""Each into one of its own."""


async def bring(house: House, path: Path, where: Where = HERE, *, only: tuple[str, ...] = ()) -> list[Brought]:
    database, bus = house.resources.database, house.resources.bus
    with source_at(path) as source:
        reader, parts = reader_of(source)
        found = moving_in.only(reader.read(parts), only)
        bringing = moving_in.bring_in(found, database, bus, where, family=Family.NEWER, size=0)
        return [brought async for brought in bringing]


async def bring_some(house: House, path: Path, most: int) -> None:
    """The same, which breaks off."""

    def some(messages: Iterator[ForeignMessage]) -> Iterator[ForeignMessage]:
        yield from islice(messages, most)
        raise KeyError("cut off")

    with source_at(path) as source:
        reader, parts = reader_of(source)
        talks = ((talk, some(messages)) for talk, messages in reader.read(parts))
        bringing = moving_in.bring_in(
            talks, house.resources.database, house.resources.bus, HERE, family=Family.NEWER, size=0
        )
        async for _ in bringing:
            pass


async def found(house: House, query: str, agent_id: AgentId) -> list[str]:
    """What is found there, in view or not."""
    async with house.resources.database.read() as tx:
        hits = await recall.search(tx, agent_id, query, audience=recall.MODEL, most=10)
    return [hit.text for hit in hits]


async def page(house: House) -> str:
    history: History = await house.history()
    return "\n".join(text_to_read(entry.blocks) for entry in history.visible)


def of_lisbon(tmp_path: Path, more: int = 0) -> Path:
    return shapes.put_json(tmp_path / "conversations.json", shapes.chatgpt(more=more))


async def test_a_conversation_that_was_brought_over_is_gone_on_with(
    house: OpenHouse, room: Room, model: MessagesServer, tmp_path: Path
) -> None:
    path = of_lisbon(tmp_path, more=20)
    async with house() as running:
        [brought] = await bring(running, path, EACH)
        assert brought.agent_id == "room-trip-to-lisbon"
        asked: list[MessagesRequest] = []

        def brain(request: MessagesRequest) -> Reply:
            asked.append(request)
            return Reply("At nine.")

        model.brain = brain
        await room.asks("And castle 7?", chat="trip-to-lisbon")
        said = str(asked[-1].messages)
        assert "brought over from ChatGPT: “Trip to Lisbon”, 44 messages" in said
        assert "Castle 19 opens at nine." in said, "its end stays in view"
        assert "Castle 2 opens" not in said.partition("## ")[0]
        assert asked[-1].tokens < 1_800
        assert not model.refused
        assert any("line 28" in text for text in await found(running, "tram line 28", brought.agent_id))


async def test_into_a_conversation_that_goes_on_its_words_are_found_and_undo_takes_them_away(
    house: OpenHouse, room: Room, model: MessagesServer, tmp_path: Path
) -> None:
    path = of_lisbon(tmp_path)
    async with house() as running:
        await room.asks("I like herons.")
        [brought] = await bring(running, path)
        assert (brought.messages, brought.known) == (6, 0)
        await room.asks("Hello again.")
        assert "brought over from ChatGPT" in await page(running)
        assert "I like herons." in await page(running)
        assert await found(running, "tram of line 28", brought.agent_id)
        assert "3.10" in await room.commands("/recall tram")

        told = await room.commands("/undo")
        assert "away again" in told
        assert "brought over" not in await page(running)
        assert not await found(running, "tram of line 28", brought.agent_id)
        assert "3.10" not in await room.commands("/recall tram")
        assert "3.10" not in await room.commands("/recall 1-40")
        assert "nothing to undo" in await room.commands("/undo")

        [again] = await bring(running, path)
        assert (again.messages, again.known, again.back) == (0, 6, True)
        assert await found(running, "tram of line 28", brought.agent_id)
        await room.asks("And now?")
        assert "brought over from ChatGPT" in await page(running)
        assert not model.refused


async def test_twice_is_once_and_a_longer_export_adds_what_is_new(
    house: OpenHouse, room: Room, model: MessagesServer, tmp_path: Path
) -> None:
    async with house() as running:
        await bring(running, of_lisbon(tmp_path), EACH)
        [twice] = await bring(running, of_lisbon(tmp_path), EACH)
        assert (twice.messages, twice.known, twice.back) == (0, 6, False)
        [longer] = await bring(running, of_lisbon(tmp_path, more=3), EACH)
        assert (longer.agent_id, longer.messages, longer.known) == (twice.agent_id, 6, 6)
        hits = await found(running, "tram line 28", longer.agent_id)
        assert len([hit for hit in hits if "A tram of line 28" in hit]) == 1
        await room.asks("Go on.", chat="trip-to-lisbon")
        assert not model.refused


async def test_of_a_group_everybody_is_named_and_answers_quote(
    house: OpenHouse, model: MessagesServer, room: Room, tmp_path: Path
) -> None:
    path = shapes.put_json(tmp_path / "result.json", shapes.telegram_account())
    async with house() as running:
        brought = await bring(running, path, only=("hikers",))
        assert [one.conversation.title for one in brought] == ["Hikers"]
        [told] = [text for text in await found(running, "rains on Sunday", brought[0].agent_id) if "Sunday" in text]
        assert told == "> Ada: Look at the site (https://example.org)!\n\nBob: It rains on Sunday."
        async with running.resources.database.read() as tx:
            hits = await recall.search(tx, brought[0].agent_id, "Sunday", audience=recall.MODEL)
        assert (hits[0].at, hits[0].entry.person) == (shapes.AT + 3, "telegram:8")
        await room.asks("Hello.")
        assert not model.refused


async def test_one_person_of_a_group_that_was_brought_over_is_forgotten(
    house: OpenHouse, model: MessagesServer, room: Room, tmp_path: Path
) -> None:
    path = shapes.put_json(tmp_path / "result.json", shapes.telegram_group())
    async with house() as running:
        await bring(running, path)
        await room.asks("Hello.")
        resources = running.resources
        await Forgetting(resources.settings, resources.database, resources.bus).person("room", "telegram:8")
        assert not await found(running, "rains on Sunday", AgentId("room-1"))
        assert await found(running, "Look at the site", AgentId("room-1"))
        shown = await page(running)
        assert "Sunday" not in shown
        assert "Look at" not in shown, "the others' words do not come into view"
        await room.asks("And now?")
        assert not model.refused


async def test_what_was_cut_off_is_in_nobodys_sight_and_goes_on_from_there(
    house: OpenHouse, room: Room, model: MessagesServer, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    generator.write("openclaw", path, 3_000_000)
    async with house() as running:
        with pytest.raises(KeyError, match="cut off"):
            await bring_some(running, path, 4_000)
        history = await running.history()
        assert history.layers
        assert not history.visible
        first = first_sentence(path)
        assert not await found(running, first, AgentId("room-1"))
        [whole] = await bring(running, path)
        assert whole.messages > 0
        assert whole.known > 0
        assert await found(running, first, whole.agent_id)
        await room.asks("Hello.")
        assert not model.refused


def first_sentence(path: Path) -> str:
    """Of a generated session."""
    with path.open() as file:
        file.readline()
        text = json.loads(file.readline())["message"]["content"][0]["text"]
    return str(text).partition(".")[0]


@pytest.mark.parametrize("form", generator.FORMS)
async def test_a_long_history_of_each_is_brought_over_and_found(
    data_dir: Path, room: Room, model: MessagesServer, tmp_path: Path, form: str
) -> None:
    path = tmp_path / generator.FILES[form]
    written = generator.write(form, path, 300_000, every=30)
    async with open_house(settings_for(model, data_dir), room) as running:
        brought = await bring(running, path, EACH)
        assert sum(one.messages for one in brought) == written.messages
        agents = {one.conversation.title: one.agent_id for one in brought}
        only = next(iter(agents.values()))
        for title, sentence in written.sentences:
            assert any(sentence in text for text in await found(running, sentence, agents.get(title, only))), sentence
        await room.asks("Hello.", chat=only.removeprefix("room-"))
        assert not model.refused
