"""`palimpsest doctor` as a process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.app.doctor.report import as_text
from bot.runtime.checks import Finding, ok
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import KEY, Program, Programs


@pytest.fixture
async def programs(tmp_path: Path, telegram: BotApiServer) -> AsyncIterator[Programs]:
    """Processes with Telegram and a model server that wants a key."""
    async with MessagesServer(key=KEY) as server:
        started = Programs(tmp_path, server, telegram)
        yield started
        await started.close()


async def _doctor(programs: Programs, *options: str, **environment: str) -> Program:
    program = await programs.start("doctor", *options, **environment)
    await program.ends()
    return program


async def test_nothing_is_wrong_and_nothing_is_left_behind(programs: Programs) -> None:
    program = await _doctor(programs, ACCESS="pairing")
    assert program.process.returncode == 0, program.describe()
    assert program.err == []
    assert [line for line in program.out if line.startswith(("!", "✗"))] == []
    assert len([line for line in program.out if line.startswith("✓")]) >= 9
    assert not programs.data.exists()


async def test_a_problem_is_exit_code_1_and_json_is_one_document(programs: Programs, telegram: BotApiServer) -> None:
    token = "4200:a-wrong-token-of-no-bot-0123456789"
    program = await _doctor(programs, "--json", TELEGRAM_TOKEN=token, TELEGRAM_TOKN="x")
    assert program.process.returncode == 1
    assert program.err == []
    document = json.loads("\n".join(program.out))
    assert document["state"] == "problem"
    states = {(finding["part"], finding["state"]) for finding in document["findings"]}
    assert {("telegram", "problem"), ("settings", "warning"), ("model", "ok")} <= states
    assert token not in str(program.out)
    assert KEY not in str(program.out)


async def test_a_setting_that_cannot_be_read_is_a_finding_too(programs: Programs) -> None:
    program = await _doctor(programs, AGENTS__WARNING="much")
    assert program.process.returncode == 1
    assert program.out[0].startswith("✗ settings  AGENTS__WARNING")


async def test_what_would_stop_the_program_is_a_problem_and_each_is_told_once(programs: Programs) -> None:
    program = await _doctor(
        programs, AGENTS__STRATGY="x", AGENTS__CRITICAL="0.5", MCP_CONFIG="/nope", ALLOW="telegrm:1"
    )
    assert program.process.returncode == 1
    problems = [line for line in program.out if line.startswith("✗")]
    assert len(problems) == 4, program.describe()
    for name in ("AGENTS__STRATGY", "AGENTS__CRITICAL=0.5", "MCP_CONFIG=/no", "ALLOW has telegrm:1"):
        assert [line for line in problems if name in line], name


@pytest.mark.long
async def test_names_in_the_env_file_are_looked_at(programs: Programs) -> None:
    programs.folder.mkdir(exist_ok=True)
    (programs.folder / ".env").write_text("DISCORD_TOKN=abc\n")
    program = await _doctor(programs)
    assert program.process.returncode == 0
    assert any("DISCORD_TOKN" in line for line in program.out)


@pytest.mark.long
async def test_a_running_program_is_found_and_not_disturbed(programs: Programs, telegram: BotApiServer) -> None:
    served = await programs.serve(ACCESS="pairing")
    address = json.loads(served.logged("http_listens")[0])["address"]
    program = await _doctor(programs, "--probe", HTTP_BIND=address, ACCESS="pairing")
    assert program.process.returncode == 0, program.describe()
    text = "\n".join(program.out)
    for sentence in ("receives its updates", f"A running program answers on HTTP_BIND={address}", " runs."):
        assert sentence in text
    assert telegram.polls == 1
    assert programs.has_valkey()
    assert await served.stop() == 0


def test_on_a_screen_they_are_wrapped_at_words_and_an_address_stays_whole() -> None:
    address = "http://127.0.0.1:8080/a/rather/long/path/of/a/page"
    findings = [Finding("page", "problem", f"Look for it at {address} now.", "Make room there, and try it again.")]
    assert as_text(findings, columns=34).splitlines() == [
        "✗ page  Look for it at",
        f"        {address}",
        "        now.",
        "        → Make room there, and try",
        "          it again.",
    ]


def test_findings_are_a_line_each_with_what_to_do_below() -> None:
    findings = [ok("model", "It is there."), Finding("data folder", "problem", "It is\x1b[31m full.", "Make room.")]
    assert as_text(findings).splitlines() == [
        "✓ model        It is there.",
        "✗ data folder  It is [31m full.",
        "               → Make room.",
    ]
