"""`palimpsest compact` and `palimpsest estimate` as processes, and with a model that writes the summary."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.messages.server import MessagesServer
from tests.unit.by_hand import talk, user
from tests.wire.program import Program, Programs

INSTALLED = Path(sys.executable).parent / "palimpsest"


async def palimpsest(programs: Programs, *words: str, content: object = None, **environment: str) -> Program:
    """The installed command, which has ended; it reads `content` from standard input."""
    program = await programs.execute([str(INSTALLED), *words], **environment)
    if content is not None:
        await program.says(json.dumps(content))
    await program.ends()
    return program


def document(program: Program) -> dict[str, Any]:
    assert program.process.returncode == 0, program.describe()
    found: dict[str, Any] = json.loads("\n".join(program.out))
    return found


async def test_a_transcript_is_compacted_and_estimated_and_no_model_is_asked(
    programs: Programs, model: MessagesServer
) -> None:
    compacted = document(await palimpsest(programs, "compact", "-", "--json", "--out", "o.json", content=talk(4)))
    assert (compacted["strategy"], compacted["removed"], compacted["reductionPercent"]) == ("monologue", 12, 50.0)
    estimated = document(await palimpsest(programs, "estimate", "o.json", "--json"))
    assert estimated["total"] == compacted["compactedTokens"]
    assert model.requests == []
    assert not programs.data.exists()


@pytest.mark.long
async def test_the_model_of_the_settings_writes_the_summary_if_it_is_to(
    programs: Programs, model: MessagesServer
) -> None:
    facts = [user("The code word is blau-wal."), *talk(1)[1:], user("What is the code word?")]
    program = await palimpsest(programs, "compact", "-", "--strategy", "reset", "--with-model", "--json", content=facts)
    first = document(program)["messages"][0]["content"]
    assert "blau-wal" in first[1]["text"]
    assert first[-1]["text"] == "What is the code word?"
    (record,) = model.requests
    assert record.request.is_summary
    assert "Ответ 0" in record.request.all_text


@pytest.mark.long
async def test_what_is_too_large_for_the_model_that_summarises_is_said(programs: Programs) -> None:
    large = [user("word " * 9_000), *talk(1)[1:], user("and now?")]
    program = await palimpsest(programs, "compact", "-", "--strategy", "reset", "--with-model", content=large)
    assert (program.process.returncode, program.out) == (1, [])
    (line,) = program.err
    assert "does not fit into" in line
    assert "--summary FILE" in line


async def test_a_model_that_refuses_us_is_one_line(programs: Programs) -> None:
    wrong = {"ANTHROPIC_API_KEY": "wrong"}
    program = await palimpsest(
        programs, "compact", "-", "--strategy", "reset", "--with-model", content=talk(2), **wrong
    )
    assert (program.process.returncode, program.out) == (1, [])
    (line,) = program.err
    assert "ANTHROPIC_API_KEY" in line


@pytest.mark.long
async def test_a_strategy_in_the_folder_is_found(programs: Programs) -> None:
    programs.folder.mkdir(exist_ok=True)
    (programs.folder / "of_mine.py").write_text(
        "from bot.compaction.strategies.monologue import Monologue, MonologueOptions\n"
        "def make():\n    return Monologue(MonologueOptions(min_segments_to_keep=2), 'mine')\n"
    )
    program = await palimpsest(programs, "compact", "-", "--json", "--strategy", "of_mine:make", content=talk(4))
    found = document(program)
    assert (found["strategy"], found["removed"]) == ("mine", 8)


async def test_tiered_compares_by_embeddings_that_come_with_the_program(programs: Programs) -> None:
    program = await palimpsest(
        programs, "compact", "-", "--strategy", "tiered", "--limit", "1800", "--json", content=talk(8)
    )
    found = document(program)
    assert found["compactedTokens"] <= 1800 < found["originalTokens"]
    assert program.logged("embeddings_missing") == []
