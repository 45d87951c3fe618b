"""Many messages while calls fail in every way, and who stands in has a small window: each gets its one answer."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest
import structlog

from bot.history import EntryKind
from bot.messages import text_of
from bot.model import Link
from bot.model.anthropic import AnthropicModel
from bot.model.calls import Silence
from bot.page.figures import figures
from bot.store.operators import overview
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply

log = structlog.get_logger(__name__)

MESSAGES = 1_000 if os.environ.get("LONG") else 120
CHATS = 20
FAIL = 0.3
WIDE, SPARE = "claude-sonnet-5", "claude-haiku-4-5"
_NUMBER = re.compile(r"Message (\d+)\.")
FILLER = "The mill by the river turned all day, and nobody counted the sacks that were carried in. " * 20
WAYS = ("529", "429", "500", "key", "credit", "model", "unheard", "cut", "hang", "error", "garbage")


class Chance:
    """How the calls for each message go wrong: the same for each of its tries, so that no short patience helps."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.used: Counter[str] = Counter()

    def way(self, request: MessagesRequest) -> str:
        """Empty: it does not."""
        chance = random.Random(f"{self._seed} {_number(request) or request.all_text[-200:]}")
        return chance.choice(WAYS) if chance.random() < FAIL else ""

    def goes(self, request: MessagesRequest, way: str) -> bool:
        taken = self.way(request) == way
        self.used[way] += taken
        return taken


def _number(request: MessagesRequest) -> int:
    """Of the message that is to be answered; 0 for a summary."""
    found = _NUMBER.findall(request.last_user_text)
    return int(found[-1]) if found and "Write the summary" not in request.last_user_text else 0


def brain(request: MessagesRequest) -> Reply:
    if number := _number(request):
        return Reply(f"Answer {number}.")
    return Reply("A mill by a river was told of again and again, with numbers of messages; all of them are answered.")


def break_in_every_way(server: MessagesServer, chance: Chance) -> None:
    def going(way: str) -> object:
        return lambda request: chance.goes(request, way)

    def fails(way: str, status: int, kind: str, words: str, retry_after: float | None = None) -> None:
        server.fail(status, kind, words, retry_after=retry_after, times=None, when=going(way))  # type: ignore[arg-type]

    fails("529", 529, "overloaded_error", "Overloaded")
    fails("429", 429, "rate_limit_error", "Too many", 3_600.0)
    fails("500", 500, "api_error", "Internal server error")
    fails("key", 401, "authentication_error", "invalid x-api-key")
    fails("credit", 400, "invalid_request_error", "Your credit balance is too low to access the API.")
    fails("model", 404, "not_found_error", "model: claude-sonnet-5")
    server.cut_stream(going("unheard"), after=0, times=None)  # type: ignore[arg-type]
    server.cut_stream(going("cut"), after=3, times=None)  # type: ignore[arg-type]
    server.hang(going("hang"), after=2)  # type: ignore[arg-type]
    server.error_in_stream("overloaded_error", "Overloaded", 2, when=going("error"), times=None)  # type: ignore[arg-type]
    server.garbage(b"<html>Bad gateway</html>", when=going("garbage"), times=None)  # type: ignore[arg-type]


@pytest.mark.timeout(3_000)
async def test_each_message_gets_its_one_answer_and_the_page_says_whose(data_dir: Path) -> None:
    chance, room = Chance(7), Room(patience=600.0)
    async with MessagesServer(window=8_000, max_tokens=1_000, brain=brain) as spare:
        wide = await MessagesServer(window=200_000, brain=brain).__aenter__()
        break_in_every_way(wide, chance)
        settings = settings_for(
            wide, data_dir, model_patience=120 * 60, agents={"compact_ahead": False}, rate={"person": 0, "chat": 0}
        )
        first = AnthropicModel(api_key="test-key", base_url=wide.url, silence=Silence(2.0, 2.0))
        second = Link(AnthropicModel(api_key="test-key", base_url=spare.url), SPARE)
        async with open_house(settings, room, model=first, fallback=[second]) as house:
            clock = house.resources.chain.clock = Minutes()
            third = MESSAGES // 3
            began = time.monotonic()
            await said(room, clock, 0, third)
            await wide.__aexit__()
            await said(room, clock, third, third + MESSAGES // 10)  # nobody listens there
            again = MessagesServer(window=200_000, brain=brain, port=wide.port)
            break_in_every_way(again, chance)
            async with again:
                await said(room, clock, third + MESSAGES // 10, MESSAGES)
                seconds = time.monotonic() - began
            await check(house, room)
            async with house.resources.database.read() as tx:
                day = await overview.day(tx, 0)
        log.info("asked", messages=MESSAGES, seconds=round(seconds), failed=dict(chance.used), answers=dict(day.models))
        assert sum(day.models.values()) == MESSAGES
        assert set(day.models) == {WIDE, SPARE}, "both gave some"
        assert len(+chance.used) >= (len(WAYS) if MESSAGES >= 1_000 else 6)
        [figure] = [one for one in figures(day, [], WIDE) if one.label == "Answers by model"]
        assert all("%" in share for share in (figure.value, *figure.notes))
        refused = [one for one in (*spare.requests, *wide.requests, *again.requests) if one.outcome == "refused"]
        # A summary that is guessed too small is tried in a shorter form; nobody hears of that.
        too_long = [one for one in refused if not one.request.is_summary]
        assert not too_long, too_long[0]


class Minutes:
    """The clock of the chain: a minute goes by with each message, however fast the machine is, so that pauses end and
    both models are asked often."""

    def __init__(self) -> None:
        self.messages = 0

    def __call__(self) -> float:
        return 60.0 * self.messages


async def said(room: Room, clock: Minutes, begin: int, end: int) -> None:
    """These messages, in twenty conversations at once; each waits for its answer."""

    async def one(chat: int) -> None:
        for number in range(begin, end):
            if number % CHATS == chat:
                clock.messages += 1
                answer = await room.asks(f"{FILLER} Message {number + 1}.", chat=str(chat))
                assert answer.startswith(f"Answer {number + 1}."), answer

    await asyncio.gather(*(one(chat) for chat in range(CHATS)))


async def check(house: House, room: Room) -> None:
    for chat in range(CHATS):
        wanted = [number + 1 for number in range(MESSAGES) if number % CHATS == chat]
        replies = [reply for reply in room.replies(str(chat)) if reply.startswith("Answer")]
        assert [int(reply.split()[1].rstrip(".")) for reply in replies] == wanted
        entries = (await house.history(str(chat))).entries
        said = [text_of(entry.blocks) for entry in entries if entry.kind is EntryKind.SAID]
        assert len(said) == len(set(said)), "nothing stands there twice"
