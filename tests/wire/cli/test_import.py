"""`palimpsest import`: what was said with other programs, by the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.messages import Address, AgentId
from bot.store import Database, histories
from tests.exports import generator, shapes
from tests.wire.command_line import ADA, CommandLine, talked
from tests.wire.program import Programs

LISBON = AgentId("terminal-trip-to-lisbon")


@pytest.fixture
async def palimpsest(tmp_path: Path) -> AsyncIterator[CommandLine]:
    """One conversation, with Ada."""
    data = tmp_path / "data"
    database = Database.in_folder(data)
    await database.open()
    await talked(database, ADA, "hello", "there")
    yield CommandLine(data, database, {"DATA_DIR": str(data)})
    await database.close()


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Two conversations of ChatGPT, in an archive."""
    talks = [*shapes.chatgpt(), *shapes.chatgpt("Sourdough\x1b[31m", "beefed", more=2)]
    return shapes.put_zip(tmp_path / "export.zip", {"conversations.json": talks})


async def last(palimpsest: CommandLine, agent_id: AgentId) -> int:
    async with palimpsest.database.read() as tx:
        return await histories.last_seq(tx, agent_id)


async def test_what_is_in_a_file_is_listed_and_nothing_is_written(palimpsest: CommandLine, export: Path) -> None:
    listed = await palimpsest("import", str(export), "--list")
    assert listed.lines == [
        "title           messages  from        to          id",
        "Trip to Lisbon         6  2023-11-14  2023-11-14  c0ffee",
        "Sourdough[31m         10  2023-11-14  2023-11-14  beefed",
        "ChatGPT: 2 conversations, 16 messages.",
    ]
    found = (await palimpsest("import", str(export), "--list", "--json", "--only", "C0FFEE")).json
    assert [one["title"] for one in found["conversations"]] == ["Trip to Lisbon"]
    tried = await palimpsest("import", str(export), "--dry-run")
    assert tried.lines[-1] == "ChatGPT: 16 messages of 2 conversations would be brought over."
    assert await last(palimpsest, LISBON) == 0


async def test_a_conversation_in_which_nothing_stands_is_not_counted(palimpsest: CommandLine, tmp_path: Path) -> None:
    empty = {"title": "Nothing", "create_time": shapes.AT, "conversation_id": "00", "mapping": {}, "current_node": None}
    export = shapes.put_json(tmp_path / "conversations.json", [*shapes.chatgpt(), empty])
    listed = await palimpsest("import", str(export), "--list")
    assert listed.lines[-1] == "ChatGPT: 1 conversation (1 empty one besides), 6 messages."
    done = await palimpsest("import", str(export))
    assert done.lines[-2] == "ChatGPT: 6 messages of 1 conversation brought over."
    again = await palimpsest("import", str(export))
    assert again.lines[-1] == "ChatGPT: 0 messages of 1 conversation brought over; 6 messages were there already."


async def test_one_is_brought_over_and_twice_is_once(palimpsest: CommandLine, export: Path) -> None:
    done = await palimpsest("import", str(export), "--only", "trip to lisbon")
    assert done.lines == [
        "terminal-trip-to-lisbon  6 messages  Trip to Lisbon",
        "ChatGPT: 6 messages of 1 conversation brought over.",
        "`palimpsest chat --agent trip-to-lisbon` goes on with it.",
    ]
    before = await last(palimpsest, LISBON)
    twice = await palimpsest("import", str(export))
    assert twice.lines[-2] == "ChatGPT: 10 messages of 2 conversations brought over; 6 messages were there already."
    assert await last(palimpsest, LISBON) == before
    web = await palimpsest("import", str(export), "--into", "web", "--json")
    assert [one["agent"] for one in web.json["conversations"]] == ["web-trip-to-lisbon", "web-sourdough-31m"]


async def test_into_a_conversation_that_is_there_or_begins_with_it(palimpsest: CommandLine, export: Path) -> None:
    there = await palimpsest("import", str(export), "--into", ADA.agent_id)
    assert {row.split()[0] for row in there.lines[:2]} == {ADA.agent_id}
    new = await palimpsest("import", str(export), "--into", "terminal-old", "--json")
    assert {one["agent"] for one in new.json["conversations"]} == {"terminal-old"}
    async with palimpsest.database.read() as tx:
        layers = await histories.load_layers(tx, Address("terminal", "old").agent_id)
    assert [layer.kind for layer in layers] == ["imported", "imported"]


WRONG = {
    "a format that is none": (["--format", "gpt"], 2, "'gpt' is no format"),
    "no such conversation": (["--only", "Trip to Mars"], 1, "There is no conversation 'Trip to Mars' in it"),
    "into nowhere": (["--into", "telegram-5"], 1, "There is no conversation telegram-5"),
    "into no name": (["--into", "terminal-Ä"], 2, "is no conversation"),
    "another's": (["--format", "telegram"], 1, "holds nothing that Telegram exports"),
}


@pytest.mark.parametrize(("words", "code", "told"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_said_in_one_line(
    palimpsest: CommandLine, export: Path, words: list[str], code: int, told: str
) -> None:
    answer = await palimpsest("import", str(export), *words)
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert await last(palimpsest, LISBON) == 0


async def test_of_a_file_that_breaks_off_nothing_is_brought(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([*shapes.chatgpt(), *shapes.chatgpt("Second", "beef")])[:-50])
    answer = await palimpsest("import", str(path))
    assert answer.code == 1
    assert answer.err.strip().endswith("breaks off in the middle: nothing was imported. Download or export it again.")
    assert await last(palimpsest, LISBON) == 0


async def test_an_archive_of_this_program_is_brought_back(palimpsest: CommandLine, tmp_path: Path) -> None:
    own = tmp_path / "ada.zip"
    await palimpsest("agents", "export", ADA.agent_id, "--out", str(own))
    assert (await palimpsest("import", str(own), "--list")).code == 2
    await palimpsest("agents", "forget", ADA.agent_id, "--yes")
    assert (await palimpsest("import", str(own))).lines[0].startswith(f"{ADA.agent_id} is back")


async def test_with_words_counted_by_other_processes(programs: Programs, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    written = generator.write("openclaw", path, 2_200_000)
    command = [sys.executable, "-m", "bot.app.cli.main", "import", str(path), "--json"]
    program = await programs.execute(command, DATABASE_URL="", REDIS_URL="")
    await program.ends()
    (found,) = json.loads("\n".join(program.out))["conversations"]
    assert (found["new"], found["known"]) == (written.messages, 0)
