"""Every page over a book with many conversations, in each kind of database."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import delete, select, update

from bot.history import Usage
from bot.messages import Address
from bot.page.figures import DAY, HOUR, Week
from bot.store import Database, agents, outbox, schema, turns
from bot.store.operators import conversations, overview, pages
from bot.store.search import finding
from bot.store.turns import TurnState
from tests.bench.page.__main__ import paths_of
from tests.bench.page.book import Size, write
from tests.conftest import OpenHouse
from tests.fundamentals.compaction.memory_book import until
from tests.house import Room
from tests.page.conftest import Read, browser_of, press, visiting
from tests.servers.messages.server import MessagesServer

ADA = Address("room", "ada")


@pytest.fixture
async def many(book: dict[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """A book in each kind of database, with all sorts of conversations."""
    database = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "many")
    await database.open()
    await write(database, Size(agents=8, entries=160, compactions=16), now=time.time())
    yield database
    await database.close()


async def test_every_page_answers_over_a_book_with_many_conversations(page: Any, many: Database) -> None:
    async with browser_of(page(on=many)) as client:
        for path in await paths_of(many):
            answer = await client.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            if "json" not in path:
                assert len(Read(answer.text).all("h1")) == 1
        for path in ("/conversations/a%00b", "/compactions/a%00b", "/conversations/%ff", "/nowhere"):
            assert (await client.get(path)).status_code == 404
        for path in ("/?q=a%00b", "/compactions?agent=a%00b", "/search?q=a%00b%ff", "/parked?retried=%00"):
            assert (await client.get(path)).status_code == 200


async def test_what_the_overview_and_the_search_say_is_in_the_book(many: Database) -> None:
    async with many.read() as tx:
        assert await conversations.count(tx) == 8
        everybody = await conversations.listed(tx, order="fill")
        fullest = everybody[0]
        assert fullest.meter
        assert sum((await overview.levels(tx)).values()) == 8
        assert (await overview.day(tx, 0)).answered.output > 0
        stretch = await pages.said(tx, fullest.agent_id, "all", most=10)
        word = next(word for word in stretch.entries[-1].text.split() if len(word) > 5).strip(".")
        assert all(
            word.casefold() in one.entry.blocks[0]["text"].casefold() for one in await finding.said(tx, word, most=5)
        )
        assert await finding.said(tx, word, most=5)


async def test_the_bars_add_up_to_what_is_in_the_book_and_an_hour_that_is_over_is_read_once(many: Database) -> None:
    now, week = time.time(), Week()
    begin = (now // HOUR - 167) * HOUR
    async with many.read() as tx:
        bars = await week.until(tx, now)
        whole = await overview.day(tx, begin)
    assert len(bars) == 28
    assert sum(sum(bar.turns.values()) for bar in bars) == sum(whole.turns.values()) > 0
    assert sum(bar.runs for bar in bars) == sum(whole.runs.values())
    assert sum(bar.ahead for bar in bars) == sum(n for (why, _), n in whole.runs.items() if why == "ahead") > 0
    assert sum(bar.answered.output for bar in bars) == whole.answered.output
    assert sum(usage.output for bar in bars for usage in bar.spent.values()) == sum(
        usage.output for usage in whole.spent.values()
    )
    assert sorted(pause for bar in bars for pause in bar.pauses) == sorted(whole.pauses)
    assert len({sum(bar.turns.values()) for bar in bars}) > 1, "each hour in its place"
    async with many.write() as tx:
        await tx.execute(delete(schema.turns).where(schema.turns.c.started_at < now - 3 * HOUR))
    async with many.read() as tx:
        again = await week.until(tx, now)
        assert again[:-1] == bars[:-1]
        assert (await Week().until(tx, now))[0].turns == {}


async def test_the_figures_are_those_of_the_last_24_hours_also_just_after_midnight(page: Any, many: Database) -> None:
    midnight = time.time() // DAY * DAY + 30 * DAY
    async with many.write() as tx:
        await agents.ensure(tx, ADA, now=1)
        for name, at in (("before", midnight - 1_200), ("long", midnight - DAY - 1_200)):
            slot = await outbox.open_slot(tx, ADA, now=at)
            await turns.begin(tx, name, ADA.agent_id, slot, now=at)
            await turns.end(tx, name, TurnState.DONE, Usage(), now=at + 1)
    many.clock = lambda: midnight + 600
    async with browser_of(page(on=many)) as client:
        shown = Read((await client.get("/")).text)
        assert (await client.get("/overview.json")).json()["last_24_hours"]["turns"] == {"done": 1}
    assert "Last 24 hours" in shown.text
    assert "Answers1 0 failed · 0 stopped · 2 in 7 days" in shown.text.replace("Answers10", "Answers1 0")
    assert [svg["class"] for svg in shown.all("svg") if svg.get("class") == "spark"] == ["spark"]
    assert [bar["class"] for bar in shown.all("rect") if bar.get("class") == "late"] == ["late"]


async def test_a_price_that_is_not_known_is_said_once_and_not_in_every_row(page: Any, many: Database) -> None:
    async with many.write() as tx:
        await tx.execute(update(schema.compactions).values(model="llama"))
    async with browser_of(page(on=many)) as client:
        every = Read((await client.get("/compactions")).text)
        overview_ = Read((await client.get("/")).text)
    assert every.text.count("No price is known of llama") == 1
    assert "not known" not in every.text
    assert [header for header in every.text.split() if header == "Cost"] == []
    assert "not known" not in overview_.text.replace("whose price is not known", "")


async def test_an_undo_that_waits_for_its_agent_cannot_be_given_again(page: Any, many: Database) -> None:
    async with many.read() as tx:
        found = await tx.execute(select(schema.layers).where(schema.layers.c.run_id.is_not(None)).limit(1))
        layer = found.mappings().one()
    places = (f"/conversations/{layer['agent_id']}", f"/compactions/{layer['run_id']}")

    async def states(client: httpx2.AsyncClient) -> list[str]:
        shown = [(await client.get(place)).text for place in places]
        return [state for text in shown for state in re.findall(r"<button([^>]*)>Undo</button>", text)]

    async with browser_of(page(on=many)) as client:
        before = await states(client)
        assert set(before) == {""}
        answer = await press(
            client, await client.get(places[0]), f"{places[0]}/commands", command="undo", argument="", key="a" * 32
        )
        assert answer.status_code == 303
        assert await states(client) == [" disabled"] * len(before)


async def test_why_a_compaction_ran_is_said_in_words(page: Any, many: Database) -> None:
    async with browser_of(page(on=many)) as client:
        for path in ("/", "/compactions", "/compactions?within=7d"):
            text = Read((await client.get(path)).text).text
            assert "By trigger" not in text
            assert any(words in text for words in ("ahead of time", "before an answer", "asked for", "after a refusal"))
        lately = Read((await client.get("/compactions?within=24h")).text)
        earlier = Read((await client.get("/compactions")).text)
    assert len(lately.all("tr")) < len(earlier.all("tr"))


async def test_what_stood_in_place_of_an_answer_is_among_what_the_program_said(many: Database) -> None:
    address = Address("room", "unlucky")
    async with many.write() as tx:
        await agents.ensure(tx, address, now=1)
        await outbox.say(tx, address, "a notice", now=2)
        for name, state in (("answered", TurnState.DONE), ("refused", TurnState.FAILED)):
            slot = await outbox.open_slot(tx, address, now=3)
            await turns.begin(tx, name, address.agent_id, slot, now=3)
            await outbox.change(tx, slot, f"{name}, it says")
            await turns.end(tx, name, state, Usage(), now=4)
        said = await pages.notices(tx, address, most=10)
    assert [notice.text for notice in said] == ["refused, it says", "a notice"]


async def test_the_overview_says_why_answers_fail_and_that_they_work_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running, visiting(running) as client:
        model.fail(401, "authentication_error", "invalid x-api-key", times=None)
        for chat in ("1", "2"):
            await room.says("Are you there?", chat=chat)
        await until_told(client, "2 answers failed in the last 24 hours, and none was answered since: 2 × wrong key.")
        model.clear_faults()
        await room.asks("And now?", chat="3")
        await until_told(client, "2 answers failed in the last 24 hours: 2 × wrong key.")


async def test_the_overview_says_that_a_limit_is_above_what_the_models_server_takes(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"emergency_context_limit": 16_000}) as running, visiting(running) as client:
        await room.asks("word " * 4_000)
        takes = "claude-sonnet-5 takes no more than 3,000 tokens, as its server said when it refused more"
        await until_told(client, f"{takes}: AGENTS__EMERGENCY_CONTEXT_LIMIT=16000 is above that.")


async def until_told(client: httpx2.AsyncClient, sentence: str) -> None:
    """What people see comes before the end of a turn is committed."""

    async def is_told() -> bool:
        problems = (await client.get("/overview.json")).json()["problems"]
        return any(problem["sentence"] == sentence for problem in problems)

    await until(is_told)
