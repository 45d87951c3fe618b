"""mcp.json: what it says, and what is said of its mistakes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bot.agent.tools.mcp.config import ServerConfig, config_path, read_config
from bot.errors import ConfigurationError
from bot.messages import AgentId


def read(folder: Path, servers: Any, **variables: str) -> Any:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return read_config(path, variables)


def the_server(folder: Path, entry: Any, **variables: str) -> ServerConfig:
    config = read(folder, {"box": entry}, **variables)
    assert not config.problems
    server = config.servers["box"]
    assert isinstance(server, ServerConfig)
    return server


def the_problem(folder: Path, entry: Any) -> str:
    return str(read(folder, {"box": entry}).problems["box"])


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "uvx"}, "stdio"),
        ({"command": "uvx", "type": "stdio"}, "stdio"),
        ({"url": "https://example.org/mcp"}, "http"),
        ({"url": "https://example.org/mcp", "type": "http"}, "http"),
        ({"url": "https://example.org/mcp", "type": "streamable-http"}, "http"),
        ({"url": "https://example.org/sse", "type": "sse"}, "sse"),
        ({"command": "uvx", "alwaysAllow": ["x"], "icon": "?"}, "stdio"),
    ],
)
def test_the_usual_shapes_are_understood(tmp_path: Path, entry: Any, transport: str) -> None:
    assert the_server(tmp_path, entry).transport == transport


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({}, "it needs a command, or a url."),
        ({"url": "ftp://example.org"}, "its url begins with http:// or https://."),
        ({"url": "https://a", "command": "b"}, "it has a command and a url; one of them is enough."),
        ({"command": "a", "type": "carrier pigeon"}, "type 'carrier pigeon' is none of stdio, http and sse."),
        ({"command": "a", "args": "b"}, "args: Input should be a valid list"),
        ({"command": "a", "args": [1]}, "args.0: Input should be a valid string"),
        ({"command": "a", "timeout": 0}, "timeout: Input should be greater than 0"),
        ({"command": "a", "timeout": 1e9}, "timeout: Input should be less than or equal to 3600"),
        ({"command": "a", "env": {"K": None}}, "env.K: Input should be a valid string"),
        ({"command": "a", "env": {"K": "${NOT_SET}"}}, "NOT_SET is not set."),
        ("uvx", "it is no object."),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, entry: Any, sentence: str) -> None:
    assert the_problem(tmp_path, entry) == sentence


def test_a_mistake_does_not_show_what_stands_in_the_place(tmp_path: Path) -> None:
    assert "hunter2" not in the_problem(tmp_path, {"command": "a", "env": {"KEY": ["hunter2-hunter2"]}})


def test_variables_are_filled_in_and_kept_as_secrets(tmp_path: Path) -> None:
    entry = {
        "url": "https://${HOST:-example.org}/${PATH_PART}",
        "headers": {"Authorization": "Bearer ${KEY}"},
    }
    server = the_server(tmp_path, entry, KEY="hunter2-hunter2", PATH_PART="mcp")
    assert server.url == "https://example.org/mcp"
    assert server.headers == {"Authorization": "Bearer hunter2-hunter2"}
    assert {"hunter2-hunter2", "Bearer hunter2-hunter2"} <= set(server.secrets)


def test_a_number_in_the_environment_is_a_text(tmp_path: Path) -> None:
    assert the_server(tmp_path, {"command": "a", "env": {"PORT": 80}}).env == {"PORT": "80"}


def test_a_name_is_one_that_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a\\ud800\\u0007": {"command": "b"}, "c\\n": {}}}')
    config = read_config(tmp_path / "mcp.json", {})
    assert (list(config.servers), list(config.problems)) == (["a??"], ["c?"])


def test_one_mistake_costs_one_server(tmp_path: Path) -> None:
    config = read(tmp_path, {"good": {"command": "a"}, "bad": {}, "off": {"command": "b", "disabled": True}})
    assert (list(config.servers), list(config.problems)) == (["good"], ["bad"])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON: "),
        ("[]", 'has no object "mcpServers"'),
        ('{"mcpServers": []}', 'has no object "mcpServers"'),
        ("[" * 100_000, "is no JSON"),
        ('"' + "x" * 2_000_000 + '"', "has more than 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "mcp.json").write_text(text)
    with pytest.raises(ConfigurationError, match=part):
        read_config(tmp_path / "mcp.json", {})


def test_a_file_of_other_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(ConfigurationError, match="is no JSON"):
        read_config(tmp_path / "mcp.json", {})


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_config(tmp_path, {})


def test_no_file_is_no_servers_unless_it_was_named(tmp_path: Path) -> None:
    assert not read_config(tmp_path / "mcp.json", {}).servers
    with pytest.raises(ConfigurationError, match="there is no such file"):
        read_config(tmp_path / "mcp.json", {}, required=True)


def test_the_file_is_in_the_data_folder_unless_another_is_named(tmp_path: Path) -> None:
    assert config_path(tmp_path, None) == tmp_path / "mcp.json"
    assert config_path(tmp_path, Path("other.json")) == Path("other.json")


@pytest.mark.parametrize(("patterns", "served"), [([], True), (["telegram-*"], False), (["x", "room-1"], True)])
def test_conversations_are_named_by_patterns(tmp_path: Path, patterns: list[str], *, served: bool) -> None:
    assert the_server(tmp_path, {"command": "a", "agents": patterns}).serves(AgentId("room-1")) is served


def test_a_pipe_in_the_place_of_the_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mcp.json")
    with pytest.raises(ConfigurationError, match="is not a file"):
        read_config(tmp_path / "mcp.json", {})
