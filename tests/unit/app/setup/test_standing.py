"""What is shown of what is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.setup.env_lines import TAKEN_OUT
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.standing import is_set_up, masked, shown, standing


@pytest.mark.parametrize(
    ("secret", "seen"), [("sk-ant-api03-abcdefgh9f2a", "sk-…9f2a"), ("123456789:AAHxyzuvw", "123…zuvw"), ("short", "…")]
)
def test_a_secret_is_never_shown_whole(secret: str, seen: str) -> None:
    assert masked(secret) == seen


def test_lines_are_those_of_the_file_but_for_secrets() -> None:
    changes = {
        "OPENAI_API_KEY": "sk-proj-0123456789",
        "OPENAI_BASE_URL": "http://a/v1",
        "MODEL": "openai/a",
        "ADMINS": None,
        "TELEGRAM_TOKEN": TAKEN_OUT,
    }
    assert shown(changes) == [
        "OPENAI_API_KEY=sk-…6789",
        "OPENAI_BASE_URL=http://a/v1",
        "MODEL=openai/a",
        "ADMINS is set aside (a comment now)",
        "TELEGRAM_TOKEN is taken out",
    ]


def test_only_what_the_steps_ask_for_is_listed(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / ".env")
    file.keep({"GROQ_API_KEY": "gsk_0123456789abcdef", "LOG_LEVEL": "INFO", "ADMINS": "telegram:1"})
    assert standing(file) == ["ADMINS=telegram:1", "GROQ_API_KEY=gsk…cdef"]
    file.keep({"AGENTS__EMERGENCY_CONTEXT_LIMIT": "32000"})
    assert standing(file)[0] == "ADMINS=telegram:1"
    assert "AGENTS__EMERGENCY_CONTEXT_LIMIT=32000" in standing(file)


def test_it_is_set_up_where_a_model_or_a_platform_is_named_or_it_has_talked_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    assert not is_set_up()
    (tmp_path / ".env").write_text("LOG_LEVEL=INFO\nMODEL=\n", encoding="utf-8")
    assert not is_set_up()
    monkeypatch.setenv("GROQ_API_KEY", "a")
    assert is_set_up()
    monkeypatch.delenv("GROQ_API_KEY")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "palimpsest.db").touch()
    assert is_set_up()
