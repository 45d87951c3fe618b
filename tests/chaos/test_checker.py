"""The checker finds what is broken: a sound conversation is spoiled in one place after the other."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.app.platforms import platforms
from tests.chaos.brain import AnsweringBrain
from tests.chaos.checker import Excuses, told_faults
from tests.chaos.harness import House
from tests.chaos.leftovers import log_errors
from tests.chaos.people import People
from tests.chaos.plan import Wish
from tests.dialogs.program import running
from tests.house import settings_for
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer

WISHES: tuple[Wish, ...] = ("", "read", "long", "")
SPOILT = {
    "UPDATE inbox SET state = 'waiting' WHERE id = 1": "inbox row 1",
    "UPDATE inbox SET turn_id = NULL WHERE id = 1": "inbox row 1",
    "UPDATE inbox SET text = replace(text, '«1»', '') WHERE id = 1": "nothing is stored of the messages [1]",
    "UPDATE inbox SET text = '«2»' WHERE id = 1": "stored twice: [2]",
    "UPDATE turns SET state = 'failed'": "is failed",
    "UPDATE turns SET state = 'aborted'": "is aborted",
    "UPDATE outbox SET delivered = 0 WHERE id = 1": "outbox row 1",
    "UPDATE outbox SET refs = '[]' WHERE id = 1": "people see a message that no outbox row knows",
    "UPDATE outbox SET refs = '[\"1\"]' WHERE id = 1": "is not there",
    "UPDATE outbox SET text = '⟦7⟧' WHERE id = 1": "should stand",
    "UPDATE outbox SET text = 'Compacting' WHERE text LIKE '%Compacted%'": "is stale",
    "DELETE FROM entries WHERE seq = 1": "have gaps",
    "UPDATE entries SET kind = 'note' WHERE seq = 1": "does not hold each message once",
    "DELETE FROM entries WHERE kind = 'result'": "has 0 results",
    "UPDATE layers SET run_id = 'x'": "has 0 layers",
    "UPDATE compactions SET state = 'failed'": "did not succeed",
    "UPDATE compactions SET id = 'x'": "does not stand in the trace once",
    "UPDATE turns SET slot = 1": "turns reply in slot 1",
    "UPDATE inbox SET position = -position": "stands before one to an earlier message",
    "UPDATE inbox SET position = 0, id = -id": "stands before one to an earlier message",
}


@pytest.fixture
async def sound(tmp_path: Path) -> House:
    """A conversation with a tool and a compaction; nothing runs any more."""
    brain = AnsweringBrain()
    async with BotApiServer() as telegram, MessagesServer(window=6_000, brain=brain) as model:
        settings = settings_for(model, tmp_path, telegram_token=telegram.token, telegram_api_base=telegram.url)
        people = People(telegram, 1, group=False, chance=random.Random(1))
        house = House("embedded", tmp_path, brain, people)
        house.telegram, house.model = telegram, model
        async with running(settings, platforms(settings), lease="telegram"):
            for wish in WISHES:
                people.says(0, wish)
                await house.settled()
            people.commands(0, "/compact")
            await house.settled()
    await house.ledger.close()
    return house


async def test_it_finds_nothing_in_what_is_sound(sound: House) -> None:
    assert await told_faults(sound, Excuses()) == []


async def test_it_finds_whatever_is_spoilt(sound: House, tmp_path_factory: pytest.TempPathFactory) -> None:
    for spoiling, expected in SPOILT.items():
        copy = tmp_path_factory.mktemp("spoilt") / "data"
        shutil.copytree(sound.data_dir, copy, ignore=lambda *_: {"valkey"})
        with closing(sqlite3.connect(copy / "palimpsest.db")) as connection:
            assert connection.execute(spoiling).rowcount, spoiling
            connection.commit()
        spoilt = House("embedded", copy, sound.brain, sound.people)
        found = await told_faults(spoilt, Excuses())
        await spoilt.ledger.close()
        assert any(expected in fault for fault in found), f"{spoiling}: {found}"


async def test_the_order_of_what_has_one_position_is_not_that_in_which_a_database_gives_turns(
    sound: House,
) -> None:
    """What wakes an agent has the position of what came before it; a row that is changed may move in its table."""
    await sound.ledger.close()
    with closing(sqlite3.connect(sound.data_dir / "palimpsest.db")) as connection:
        connection.execute("UPDATE inbox SET position = 0")
        assert connection.execute("UPDATE turns SET rowid = -rowid").rowcount > 1
        connection.commit()
    assert await told_faults(sound, Excuses()) == []


async def test_it_finds_what_was_shown_in_another_chat_for_a_moment(sound: House) -> None:
    sound.telegram.messages(1001)[0].edits[:0] = ["⟦100001⟧ of somebody else"]
    assert any("which nobody said there" in fault for fault in await told_faults(sound, Excuses()))


def test_it_finds_errors_in_logs(sound: House) -> None:
    for line in ('{"event": "x", "level": "error"}', "Traceback (most recent call last):"):
        (sound.data_dir / "all.log").write_text(f'{{"level": "warning"}}\n{line}\n')
        assert log_errors(sound) == [f"all.log says: {line}"]
