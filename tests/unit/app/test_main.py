"""What runs and where it is talked to, for whoever started it in a terminal."""

from __future__ import annotations

import os
import pty
import sys
from io import StringIO

import pytest
from structlog.testing import capture_logs

from bot.app.main import ROLES, Role, say_where, what_runs
from bot.runtime.settings import Settings


def test_in_a_terminal_a_line_says_where_the_page_is_and_how_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            say_where("127.0.0.1:8080", alone=False)
            told = os.read(ours, 1000).decode()
    finally:
        os.close(ours)
    assert told.strip() == "The chat page: http://127.0.0.1:8080/chat. Ctrl-C ends it."


def test_a_file_of_logs_gets_the_line_of_the_log_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    file = StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with capture_logs() as logged:
        say_where("127.0.0.1:8080", alone=True)
    assert file.getvalue() == ""
    assert [line["note"] for line in logged] == ["It is talked to at http://127.0.0.1:8080/chat."]


@pytest.mark.parametrize(
    ("connectors", "roles", "line"),
    [
        (
            ("web",),
            ROLES,
            "claude-sonnet-5 answers on its chat page. It runs in this terminal until Ctrl-C; what follows",
        ),
        (
            ("telegram", "discord", "web"),
            ROLES,
            "claude-sonnet-5 answers on Telegram, on Discord and on its chat page. It runs",
        ),
        (("telegram",), ("gateway",), "it is talked to on Telegram, and other processes answer. It runs"),
        ((), ("agents", "worker"), "(agents, worker). It runs in this terminal until Ctrl-C; what follows is its log."),
    ],
)
def test_the_first_line_says_who_answers_and_where(
    connectors: tuple[str, ...], roles: tuple[Role, ...], line: str
) -> None:
    settings = Settings(_env_file=None, anthropic_api_key="sk-ant-1", model="claude-sonnet-5")
    assert what_runs(settings, roles, connectors).startswith(f"Palimpsest starts{'' if line[0] == '(' else ':'} {line}")
