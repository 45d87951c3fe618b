"""mcp.json and its servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bot.app.doctor.mcp import check_mcp
from tests.doctor.conftest import MakeCase, said, the_one
from tests.unit.mcp_servers import is_alive, program, started, until, write


def with_servers(case: MakeCase, folder: Path, servers: dict[str, Any], **more: Any) -> Any:
    return case(mcp_config=write(folder / "servers.json", servers), **more)


@pytest.fixture(autouse=True)
def _a_busy_machine_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are programs, and their start is no matter of these tests."""
    monkeypatch.setattr("bot.app.doctor.mcp._SECONDS", 60.0)


async def test_no_file_is_no_finding(case: MakeCase, tmp_path: Path) -> None:
    (line,) = await said(check_mcp, case())
    assert line == f"ok: There is no {tmp_path / 'data' / 'mcp.json'}: there are only the tools of our own."


async def test_a_file_without_servers_is_said_to_name_none(case: MakeCase, tmp_path: Path) -> None:
    (line,) = await said(check_mcp, with_servers(case, tmp_path, {}))
    assert line == f"ok: {tmp_path / 'servers.json'} names no servers: there are only the tools of our own."


async def test_a_file_that_was_named_has_to_be_there(case: MakeCase, tmp_path: Path) -> None:
    found = await the_one(check_mcp, case(mcp_config=tmp_path / "gone.json"), "problem")
    assert "there is no such file" in found.sentence


async def test_a_file_that_is_no_json_is_a_problem(case: MakeCase, tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text('{"mcpServers": {\n"a": }}')
    found = await the_one(check_mcp, case(mcp_config=tmp_path / "servers.json"), "problem")
    assert "is no JSON" in found.sentence
    assert "line 2" in found.sentence


async def test_each_server_is_started_asked_and_ended(case: MakeCase, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    time = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    entries = {"box": program("--starts", str(starts), allow=["echo"]), "time": time}
    assert await said(check_mcp, with_servers(case, tmp_path, entries)) == [
        "ok: box: 1 tool (echo).",
        "ok: time: 2 tools (convert_time, get_current_time).",
    ]
    await until(lambda: started(starts) and not any(is_alive(pid) for pid in started(starts)))


async def test_one_bad_server_does_not_hide_another(case: MakeCase, tmp_path: Path) -> None:
    entries = {
        "gone": {"command": "no-such-program"},
        "half": {"args": ["x"]},
        "box": program(allow=["echo"]),
        "off": {"command": "no-such-program", "disabled": True},
    }
    assert await said(check_mcp, with_servers(case, tmp_path, entries)) == [
        "problem: half: it needs a command, or a url.",
        "ok: box: 1 tool (echo).",
        "problem: gone: the command no-such-program is not found.",
    ]


async def test_what_a_server_last_said_stands_in_the_finding(case: MakeCase, tmp_path: Path) -> None:
    words = "import sys; sys.exit('no module named clock')"
    entries = {"box": {"command": sys.executable, "args": ["-c", words]}}
    found = await the_one(check_mcp, with_servers(case, tmp_path, entries), "problem")
    assert "it ended with exit code 1" in found.sentence
    assert "no module named clock" in found.sentence


async def test_a_server_that_says_nothing_is_given_up(
    case: MakeCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.doctor.mcp._SECONDS", 0.5)
    found = await the_one(check_mcp, with_servers(case, tmp_path, {"box": program("--silent")}), "problem")
    assert found.sentence.startswith("box: it does not answer within")


async def test_tools_that_cannot_be_offered_are_named(case: MakeCase, tmp_path: Path) -> None:
    found = await the_one(check_mcp, with_servers(case, tmp_path, {"box": program("--strange")}), "warning")
    assert "4 tools; left out: a tool without a name" in found.sentence


async def test_no_secret_of_the_file_is_in_a_finding(case: MakeCase, tmp_path: Path) -> None:
    words = "import os, sys; sys.exit('refused ' + os.environ['KEY'])"
    entries = {"box": {"command": sys.executable, "args": ["-c", words], "env": {"KEY": "${BOX_KEY}"}}}
    made = with_servers(case, tmp_path, entries, variables={"BOX_KEY": "hunter2-hunter2"})
    found = await the_one(check_mcp, made, "problem")
    assert "refused [redacted]" in found.sentence


async def test_a_variable_that_is_not_set_is_named(case: MakeCase, tmp_path: Path) -> None:
    entries = {"box": program(env={"KEY": "${BOX_KEY}"})}
    found = await the_one(check_mcp, with_servers(case, tmp_path, entries), "problem")
    assert found.sentence == "box: BOX_KEY is not set."
