"""Which `.env` counts, where there are two."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.setup.settings_file import chosen_file
from bot.runtime.env_file import env_file, place_in_words, user_env_file
from bot.runtime.settings_check import checked_settings

OURS = "ANTHROPIC_API_KEY=sk-ant-1\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this user, which is not there yet; the current folder is somebody's project."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    path = user_env_file()
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    "theirs",
    [
        "PORT=3000\nSECRET_KEY=x\n",
        "PORT=3000\nOPENAI_API_KEY=sk-1\nDATABASE_URL=postgres://app@db/app\n",
        "django_settings_module=site.settings\nTELEGRAM_TOKEN=1:a\n",
    ],
)
def test_one_of_another_program_does_not_count_where_there_is_ones_own_and_that_is_said(own: Path, theirs: str) -> None:
    Path(".env").write_text(theirs, encoding="utf-8")
    own.write_text(OURS, encoding="utf-8")
    assert env_file() == own
    settings, notes = checked_settings()
    assert settings.anthropic_api_key is not None
    assert settings.database_url is None
    (note,) = notes
    assert f"another program's, and is not read: {own} counts." in note
    assert "another program's" in place_in_words()


@pytest.mark.parametrize(
    "here",
    [
        OURS,
        "OPENAI_API_KEY=sk-1\nDATABASE_URL=postgres://app@db/app\n",
        "ANTHROPIC_API_KEY=sk-ant-1\nGITHUB_TOKEN=for-a-server\nMCP_CONFIG=mcp.json\n",
        "ANTHROPIC_API_KEY=sk-ant-1\nGITHUB_TOKEN=for-a-server\nAGENTS__STRATEGY=memory\n",
        "ANTHROPC_API_KEY=sk-ant-1\n",
        "MODLE=ollama/qwen3\n",
        "no line of settings\n",
    ],
)
def test_one_of_ours_counts_in_its_folder(own: Path, here: str) -> None:
    Path(".env").write_text(here, encoding="utf-8")
    own.write_text(OURS, encoding="utf-8")
    assert env_file() == Path(".env")


@pytest.mark.parametrize(("written", "meant"), [("MODLE", "MODEL"), ("ALOLW", "ALLOW"), ("ADMNIS", "ADMINS")])
def test_a_name_that_is_misspelt_alone_is_asked_about(own: Path, written: str, meant: str) -> None:
    assert not own.exists()
    Path(".env").write_text(f"{written}=telegram:1\n", encoding="utf-8")
    (note,) = checked_settings()[1]
    assert note == f"{written} in .env is set, and is no setting of this program. Did you mean {meant}?"


def test_that_the_one_of_this_folder_counts_is_said_where_there_are_two(own: Path) -> None:
    Path(".env").write_text(OURS, encoding="utf-8")
    assert checked_settings()[1] == ()
    own.write_text(OURS, encoding="utf-8")
    assert [str(own) in note for note in checked_settings()[1]] == [True]


def test_one_of_another_program_is_read_and_told_where_there_is_no_other_and_setup_writes_none_of_it(own: Path) -> None:
    Path(".env").write_text("PORT=3000\nSECRET_KEY=x\nOPENAI_API_KEY=sk-1\n", encoding="utf-8")
    assert env_file() == Path(".env")
    (note,) = checked_settings()[1]
    assert "of PORT, SECRET_KEY this one knows nothing" in note
    assert chosen_file().path == own
    assert chosen_file(here=True).path == Path(".env").absolute()
