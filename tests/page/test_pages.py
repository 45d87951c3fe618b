"""Each page over one conversation that a running program has compacted."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2
import pytest
import pytest_asyncio

from bot.app.main import ROLES
from bot.messages import Address
from bot.store import runs
from bot.store.schema import inbox
from tests.house import House, Room, open_house, settings_for
from tests.page.conftest import Read, press, visiting
from tests.servers.messages.server import MessagesServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

NASTY = '<script>alert("x")</script><img src=x onerror=alert(1)>\x1b[31mred ``` </pre> [a](javascript:alert(1)) ![i](http://x/y)'
NAME = 'Eve<b onmouseover="alert(1)">\u202e"'
LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
PAGE = "/conversations/room-1"


@dataclass
class Scene:
    """A program with one conversation that was compacted once, and a browser at its page."""

    house: House
    room: Room
    client: httpx2.AsyncClient
    run: str

    async def get(self, path: str) -> Read:
        """A page that is there."""
        answer = await self.client.get(path)
        assert answer.status_code == 200, answer.text
        return Read(answer.text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """One for all tests here: most of them only look."""
    room = Room()
    async with MessagesServer(window=3_000) as model:
        settings = settings_for(model, tmp_path_factory.mktemp("page"), agents={"compact_ahead": False})
        async with open_house(settings, room, ROLES) as house, visiting(house) as client:
            await room.says(
                f"Remember: the launch code is ZEBRA-4417. It is **valid always**. {NASTY}", person_name=NAME
            )
            await room.until(lambda: len(room.replies()) == 1)
            for number in range(8):
                await room.asks(LINE.format(number))
            await room.commands("/compact keep the code")
            await room.until(lambda: "Compacted:" in room.notices()[-1])
            await room.asks("And now?")
            async with house.resources.database.read() as tx:
                run = await runs.latest(tx, Address("room", "1").agent_id)
            assert run
            yield Scene(house, room, client, run.id)


async def test_the_overview_says_how_full_each_conversation_is_and_what_the_last_day_was_like(scene: Scene) -> None:
    page = await scene.get("/")
    assert "room-1" in page.text
    assert re.search(r"Last 24 hours.* Compactions ?(\d+) ?\1 done · \1 in 7 days", page.text), page.text
    assert re.search(r"\d+ % (ok|warning|critical)", page.text)
    assert f"/compactions/{scene.run}" in [link["href"] for link in page.all("a")]
    assert "Nothing is wrong right now." in page.text
    told = (await scene.client.get("/overview.json")).json()
    assert list(told["last_24_hours"]["by_trigger"]) == ["manual"]
    assert told["problems"] == []


async def test_a_conversation_is_drawn_with_a_mark_for_its_compaction_and_the_same_in_a_table(scene: Scene) -> None:
    page = await scene.get(f"{PAGE}?span=all")
    rings = [tag for tag in page.all("circle") if tag.get("class") == "cut"]
    assert len(rings) == 2, "the compaction's, and the legend's"
    assert {"limit", "at-warning", "at-critical"} <= {str(line.get("class")) for line in page.all("path")}
    assert "The context of room-1 over time" in page.text
    assert "compaction asked for, done" in page.text
    assert f"/compactions/{scene.run}" in [link["href"] for link in page.all("a")]


async def test_people_see_what_was_said_and_which_layer_hid_it_from_the_model(scene: Scene) -> None:
    people = await scene.get(f"{PAGE}?side=people")
    assert "hidden by layer 1" in people.text
    assert LINE.format(0) in people.text
    model = await scene.get(f"{PAGE}?side=model")
    assert LINE.format(0) not in model.text
    assert "inserted by layer 1" in model.text
    assert "And now?" in model.text


async def test_what_was_said_is_paged_from_the_newest_in_both_ways(scene: Scene) -> None:
    newest = await scene.get(f"{PAGE}?side=all")
    seqs = [
        int(str(item["id"]).removeprefix("entry-")) for item in newest.all("li") if "entry" in str(item.get("class"))
    ]
    assert seqs == sorted(seqs)
    earlier = await scene.get(f"{PAGE}?side=all&before={seqs[3]}")
    assert [item["id"] for item in earlier.all("li") if "entry" in str(item.get("class"))] == [
        f"entry-{seq}" for seq in seqs[:3]
    ]
    later = await scene.get(f"{PAGE}?side=all&after={seqs[-2]}")
    assert [item["id"] for item in later.all("li") if "entry" in str(item.get("class"))] == [f"entry-{seqs[-1]}"]


async def test_a_compaction_says_why_it_ran_and_what_became_of_each_entry(scene: Scene) -> None:
    page = await scene.get(f"/compactions/{scene.run}")
    assert "A person asked for it." in page.text
    assert "keep the code" in page.text
    assert "its layer 1 is on" in page.text
    assert re.search(r"kept \d+ hidden 1[68] replaced 0 inserted [23]", page.text), page.text
    assert re.search(r"Messages ?\d+ → [1-9]\d* messages \(\d+\.\d% fewer\)", page.text), page.text
    assert "ZEBRA-4417" in page.text
    assert "Request 1: conversation" in page.text
    assert "It is the first one that counts." in page.text


async def test_compactions_are_found_by_day_outcome_trigger_strategy_and_conversation(scene: Scene) -> None:
    for query, found in (
        ("", 1),
        ("&outcome=done&trigger=manual&strategy=reset", 1),
        ("&outcome=failed", 0),
        ("&trigger=auto", 0),
        ("&day=2001-01-01", 0),
        ("&strategy=memory", 0),
        ("&outcome=nonsense&day=nonsense&page=0&page=-1", 1),
    ):
        page = await scene.get(f"/compactions?agent=room-1{query}")
        links = [link for link in page.all("a") if str(link["href"]).startswith("/compactions/")]
        assert len(links) == found, query
    told = (await scene.client.get("/compactions.json?agent=room-1")).json()
    assert [run["outcome"] for run in told] == ["done"]
    assert told[0]["statistics"]["removed"] > 0
    assert re.search(r"\d+ → \d+ −\d+\.\d%", (await scene.get("/compactions?agent=room-1")).text)


async def test_search_finds_conversations_people_and_what_was_said_beneath_a_layer(scene: Scene) -> None:
    said = await scene.get("/search?q=launch+code")
    assert any("#entry-" in str(link["href"]) for link in said.all("a"))
    assert "ZEBRA-4417" in said.text
    assert "room-1" in (await scene.get("/search?q=oom-1")).text
    people = await scene.get("/search?q=Eve")
    assert "room:ada" in people.text
    for query in ("", "%", "_", "' OR 1=1 --", '"', "*", "NEAR(", "漢字", "🦊", "a" * 5_000, "%00"):
        await scene.get(f"/search?q={query}")


async def test_the_words_that_were_found_are_marked_in_the_snippet_and_where_one_lands(scene: Scene) -> None:
    found = await scene.client.get("/search?q=launch+codes+%26")
    assert "the <mark>launch</mark> <mark>code</mark> is ZEBRA-4417. It is valid always." in found.text
    link = next(str(link["href"]) for link in Read(found.text).all("a") if str(link["href"]).endswith("#entry-1"))
    landed = await scene.client.get(link)
    entry = landed.text.partition(f'id="{link.partition("#")[2]}"')[2].partition("</li>")[0]
    assert "the <mark>launch</mark> <mark>code</mark> is ZEBRA-4417. It is <strong>valid always</strong>." in entry
    people = await scene.client.get("/search?q=eve")
    assert "<bdi><mark>Eve</mark>" in people.text
    assert "<mark>oom-1</mark>" in (await scene.client.get("/search?q=oom-1")).text
    assert "<mark>" not in (await scene.client.get(link.replace("q=", "other="))).text


async def test_before_and_after_are_read_as_markdown(scene: Scene) -> None:
    sides = (await scene.client.get(f"/compactions/{scene.run}")).text.partition('id="sides"')[2]
    assert "It is <strong>valid always</strong>." in sides
    assert '<p class="heading">Where it stands</p>' in sides, "the summary, in place of it"
    assert "**valid" not in sides.partition('id="request-')[0]


async def test_nothing_that_people_write_is_markup_or_script_on_any_page(scene: Scene) -> None:
    for path in (
        "/",
        f"{PAGE}?side=all",
        f"/compactions/{scene.run}",
        "/search?q=launch",
        "/search?q=Eve",
        f"/?q={NAME}",
    ):
        page = await scene.get(path)
        assert all(str(tag.get("src")).startswith("/static/") for tag in page.all("script")), path
        assert not page.all("img"), path
        for _, attributes in page.tags:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], path
            assert "javascript:" not in str(attributes.get("href")), path
        assert not [letter for letter in page.text if letter in "\x1b\u202e\x00"], path


async def test_links_that_people_write_tell_nobody_where_they_were_clicked(scene: Scene) -> None:
    await scene.room.asks("See [this](https://example.org/a) and <https://example.org/b>", chat="links")
    page = await scene.get("/conversations/room-links")
    links = [link for link in page.all("a") if "example.org" in str(link["href"])]
    assert len(links) >= 2
    assert all(link["rel"] == "noopener noreferrer nofollow" for link in links)


async def test_no_secret_of_the_program_or_of_people_is_on_a_page(scene: Scene) -> None:
    key = "sk-ant-" + "a1b2c3d4" * 5
    await scene.room.asks(f"my key is {key} and yours is test-key", chat="keys")
    for path in ("/conversations/room-keys", "/search?q=yours"):
        page = await scene.get(path)
        assert key not in page.text
        assert "test-key" not in page.text
        assert "[redacted]" in page.text


async def test_a_command_of_the_page_goes_the_way_of_everybodys_and_the_chat_sees_what_came_of_it(
    scene: Scene,
) -> None:
    room = scene.room
    for number in range(6):
        await room.asks(LINE.format(number), chat="two")
    path = "/conversations/room-two"
    page = await scene.client.get(path)
    key = re.findall(r'name="key" value="([0-9a-f]+)"', page.text)[0]
    given = {"command": "compact", "argument": "the  towns", "key": key}
    for _ in range(2):  # pressed twice
        answer = await press(scene.client, page, f"{path}/commands", **given)
        assert answer.headers["location"].startswith(f"{path}?given=compact")
    await room.until(lambda: any("Compacted:" in text for text in room.notices("two")))
    assert len(room.notices("two")) == 1, "a form that is sent twice is one command"
    page = await scene.client.get(path)
    key = re.findall(r'name="key" value="([0-9a-f]+)"', page.text)[0]
    await press(scene.client, page, f"{path}/commands", command="undo", key=key)
    await room.until(lambda: "Took the last compaction back" in room.notices("two")[-1])
    async with scene.house.resources.database.read() as tx:
        rows = await tx.execute(inbox.select().where(inbox.c.key.startswith("page:")).order_by(inbox.c.id))
        assert [(row.text, row.person, row.kind) for row in rows] == [
            ("/compact the towns", "operator", "press"),
            ("/undo", "operator", "press"),
        ]
    shown = await scene.get(path)
    assert "taken off" in shown.text
    assert "Took the last compaction back" in shown.text


@pytest.mark.parametrize(
    "fields", [{"command": "pair", "key": "a" * 32}, {"command": "undo", "key": "x"}, {"command": "undo"}, {}]
)
async def test_only_the_commands_of_the_page_are_given(scene: Scene, fields: dict[str, str]) -> None:
    page = await scene.client.get(PAGE)
    assert (await press(scene.client, page, f"{PAGE}/commands", **fields)).status_code == 400


async def test_every_page_has_one_heading_landmarks_labels_and_tables_with_headers(scene: Scene) -> None:
    for path in (
        "/",
        PAGE,
        "/compactions",
        f"/compactions/{scene.run}",
        "/search?q=weather",
        "/parked",
        "/people",
        "/nowhere",
    ):
        page = Read((await scene.client.get(path)).text)
        assert len(page.all("h1")) == 1, path
        assert len(page.all("main")) == 1, path
        ids = [str(attributes["id"]) for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        for _, attributes in page.tags:
            for name in ("aria-labelledby", "aria-describedby"):
                assert set(str(attributes.get(name) or "").split()) <= set(ids), path
        labelled = {str(label.get("for")) for label in page.all("label")}
        fields = [field for field in page.all("input") if field.get("type") not in ("hidden", "date")]
        assert all(field.get("id") in labelled or field.get("name") == "agent" for field in fields), path
        assert all("scope" in header for header in page.all("th")), path


async def test_pinned_rules_are_read_word_for_word_beside_what_memory_knows(scene: Scene) -> None:
    assert "None. People pin them with /rules." in (await scene.get(PAGE)).text
    await scene.room.commands(f"/rules pin Never call before ten. {NASTY[:60]}")
    page = await scene.get(PAGE)
    assert 'Never call before ten. <script>alert("x")</script>' in page.text
    assert not [tag for tag in page.all("script") if not tag.get("src")]
    await scene.room.commands("/rules forget 1")
