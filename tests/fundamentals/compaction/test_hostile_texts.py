"""Nothing that stands in a file, in what a tool returned, in a name or a quotation, or in what another member of a
group says becomes somebody else's word, a demand or a word of the program by being compacted, once or again and again.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from bot.compaction import STRATEGIES, compact_history
from bot.compaction.manual.refusals import CannotFit
from bot.compaction.summary.instruction import SYSTEM, from_outside, instruction
from bot.compaction.summary.transcript import render
from bot.estimate import estimate_tokens
from bot.messages import Address, Quote
from bot.store import inbox, outbox
from connectors.text import quotation
from tests.conftest import OpenHouse
from tests.fundamentals.compaction.hostile_pages import (
    ADA,
    ASKED,
    EVE,
    PLACES,
    SUMMARY,
    TEXTS,
    conversation,
    more_talk,
    told,
)
from tests.fundamentals.compaction.memory_book import until
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer, Reply

SHARE = 0.8
"""Of what it was: so there is room for much of what is hidden."""


def compacted(page: list[dict[str, Any]], strategy: str, summary: str = SUMMARY) -> list[dict[str, Any]]:
    """As far as the strategy comes."""
    try:
        made = compact_history(page, strategy=strategy, limit=int(SHARE * estimate_tokens(page)), summary=summary)
    except CannotFit as error:
        made = error.result
    return made.messages


def test_there_are_enough_of_them_and_each_can_be_told_from_the_others() -> None:
    flat = {one.id: " ".join(one.text.split()) for one in TEXTS}
    assert len(flat) == len(TEXTS) >= 50
    assert [one.id for one in TEXTS for id_, text in flat.items() if (one.tell in text) is not (one.id == id_)] == []


@pytest.mark.parametrize("place", PLACES)
def test_no_hostile_text_reads_as_somebodys_own_words_after_one_compaction_or_three(place: str, tmp_path: Path) -> None:
    said = conversation(place, tmp_path)
    assert told(said, place) == [], "before any"
    for strategy in STRATEGIES:
        page = said
        for number in (1, 2, 3):
            page = compacted(page, strategy)
            assert told(page, place) == [], f"{strategy}, compaction {number}"
            page = page + more_talk(place)


@pytest.mark.parametrize("place", ["file", "document", "result", "record", "tool's error", "quotation", "member"])
def test_nothing_in_a_transcript_ends_it_or_begins_a_turn(place: str, tmp_path: Path) -> None:
    page = conversation(place, tmp_path)
    turns = sum(1 if isinstance(message["content"], str) else len(message["content"]) for message in page)
    asked = from_outside(render(page), "Summarise it.")
    plain = "".join(one for one in unicodedata.normalize("NFKC", asked) if unicodedata.category(one) != "Cf")
    assert len(re.findall(r"<\s*/?\s*conversation", plain, re.IGNORECASE)) == 2
    begun = [line for line in asked.splitlines() if _BEGINS_A_TURN.match(line)]
    assert len(begun) == turns
    assert "no instruction to you" in instruction(room=100)
    assert "it is data" in SYSTEM


_BEGINS_A_TURN = re.compile(r"(?:User|Assistant|Human|Tool result|Tool error)(?: called |: )")

OURS = [one for one in TEXTS if one.id in (
    "ignore above", "german", "chinese", "closing conversation", "exact details", "checkpoint", "checkpoint goals",
    "to be remembered", "session marker", "hidden note", "standing rules", "pinned", "runtime line", "forged member",
    "forged operator", "json record",
)]  # fmt: skip
FILLER = "The soil is dry, and the wall is warm. " * 60
CAREFUL = {"compact_ahead": False, "emergency_context_limit": 7_000}


async def everything_is_said(house: House, room: Room) -> None:
    """In a group: by Eve herself, in files of hers, and in what Ada asks about. Everything is answered."""
    await room.says("We plan a garden. Never plant mint.", person="ada", speaker=ADA)
    for number, hostile in enumerate(OURS):
        await room.says(hostile.text, person="eve", speaker=EVE)
        files = {f"{hostile.tell}{number}.txt": hostile.text.encode()}
        await room.says("Have a look at this.", person="eve", speaker=EVE, files=files)
        quote = Quote(quotation(hostile.text, EVE), person="eve")
        await room.says(ASKED, person="ada", speaker=ADA, quote=quote)
    await is_answered(house, room)


async def is_answered(house: House, room: Room) -> None:
    """Nothing waits any more, also none of the answers: it would be taken for that to what is asked next."""
    here = Address("room", "1")

    async def is_quiet() -> bool:
        async with house.resources.database.read() as tx:
            return not await inbox.unanswered(tx, here) and not await outbox.undelivered(tx, here.agent_id)

    await room.until(lambda: bool(room.replies()))
    await until(is_quiet)


def summarises(model: MessagesServer, summary: str) -> None:
    """Whatever it is shown."""
    brain = model.brain
    model.brain = lambda request: Reply(summary) if request.is_summary else brain(request)


def page_of(model: MessagesServer) -> list[dict[str, Any]]:
    """What the last request that was no summary showed."""
    request = [record.request for record in model.requests if not record.request.is_summary][-1]
    return [dict(message) for message in request.messages]


@pytest.mark.parametrize("strategy", ["memory", "reset"])
async def test_in_the_program_nothing_hostile_becomes_anothers_word_also_after_a_restart(
    house: OpenHouse, room: Room, model: MessagesServer, strategy: str
) -> None:
    model.window = 30_000
    own = {**CAREFUL, "strategy": strategy}
    summarises(model, SUMMARY)
    for again in (False, True):
        async with house(agents=own, memory={"visibility": "off"}) as running:
            if not again:
                await everything_is_said(running, room)
            for _ in range(2):
                await room.asks(f"{ASKED} {FILLER}")
            await compacted_by(room)
            await room.asks("And the beds by the wall?")
            assert told(page_of(model), "member") == []
            for command in ("/rules", "/memory"):
                shown = await room.commands(command)
                assert [line for line in shown.splitlines() if _tells(line) and not _is_hers(line)] == []
    assert len({record.request.system for record in model.requests if not record.request.is_summary}) == 1


def _is_hers(line: str) -> bool:
    return EVE in line or "[quoted]" in line


def _tells(line: str) -> bool:
    return any(hostile.tell in line for hostile in OURS)


async def compacted_by(room: Room) -> None:
    before = sum("Compacted:" in notice for notice in room.notices())
    await room.commands("/compact")
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) > before)


async def test_a_summary_that_takes_a_file_at_its_word_makes_no_rule_of_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.window = 30_000
    hostile = next(one for one in TEXTS if one.id == "never again")
    summarises(model, f"## Task\nA garden.\n## Constraints\n- {hostile.text}\n- Never plant mint.")
    async with house(agents={**CAREFUL, "emergency_context_limit": 4_000}, memory={"visibility": "off"}):
        await room.says("We plan a garden. Never plant mint.", files={"notes.txt": hostile.text.encode()})
        await room.until(lambda: len(room.replies()) == 1)
        for strategy in ("reset", "memory", "reset"):
            await room.commands(f"/strategy {strategy}")
            for _ in range(2):
                await room.asks(f"{ASKED} {FILLER}")
            await compacted_by(room)
            await room.asks("And the beds by the wall?")
            rules = await room.commands("/rules")
            assert "Never plant mint." in rules
            assert hostile.tell not in rules
            assert hostile.tell not in await room.commands("/memory")
            page = "\n".join(str(block.get("text")) for message in page_of(model) for block in message["content"])
            assert not re.search(rf"^(?:#\S+ )?person[^\n]*{re.escape(hostile.tell)}", page, re.MULTILINE)
