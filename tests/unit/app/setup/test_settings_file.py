"""The file that is written: by whom it can be read, and that there is always a whole one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app.setup.settings_file import SettingsFile, chosen_file
from bot.errors import ConfigurationError

FULL = """
import resource, sys
from pathlib import Path
from bot.app.setup.settings_file import SettingsFile
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
SettingsFile(Path(sys.argv[1])).keep({"MODEL": "x" * 100})
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_one_is_for_its_owner_alone_and_begins_with_what_it_is(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "new" / ".env", {"DATA_DIR": "/data"})
    file.keep({"MODEL": "ollama/a"}, heading="The model")
    assert mode_of(file.path) == 0o600
    first, *rest = file.path.read_text(encoding="utf-8").splitlines()
    assert first.startswith("# What `palimpsest setup` was answered")
    assert rest == ["DATA_DIR=/data", "", "# The model", "MODEL=ollama/a"]
    assert (file.settings().model, file.settings({"MODEL": None}).model) == ("ollama/a", None)


def test_one_that_others_could_read_is_for_its_owner_alone_then_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / ".env"
    real.write_bytes("\ufeffMODEL=a\r\n# é\r\n".encode())
    real.chmod(0o644)
    link.symlink_to(real)
    SettingsFile(link).keep({"MODEL": "b"})
    assert link.is_symlink()
    assert real.read_bytes() == "\ufeffMODEL=b\r\n# é\r\n".encode()
    assert mode_of(real) == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == [".env", "real"]


def test_where_the_disk_is_full_the_old_one_stays_whole_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("MODEL=the-old-one\n", encoding="utf-8")
    ended = subprocess.run([sys.executable, "-c", FULL, str(file)], capture_output=True, text=True, check=False)
    assert "cannot be written: File too large" in ended.stderr
    assert file.read_text(encoding="utf-8") == "MODEL=the-old-one\n"
    assert [one.name for one in tmp_path.iterdir()] == [".env"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / ".env")
    for content, told in ((b"\xff\xfe", "is not UTF-8"), (b"MODEL='open\n", "line 1 is no NAME=VALUE")):
        file.path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=told):
            file.settings({"MODEL": "a"})
        assert file.path.read_bytes() == content


def test_what_the_environment_sets_otherwise_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "theirs")
    file = SettingsFile(tmp_path / ".env")
    assert file.overruled({"MODEL": "mine", "ADMINS": "a:1"}) == ("MODEL",)
    assert file.overruled({"MODEL": "theirs"}) == ()


@pytest.mark.parametrize(
    ("there", "is_here"),
    [
        ({}, False),
        ({"data/palimpsest.db": ""}, True),
        ({".env": ""}, True),
        ({".env.example": "# Wants palimpsest[otel]", "a": ""}, True),
        ({".env.example": "STRIPE_KEY="}, False),
        ({"holiday.txt": ""}, False),
    ],
)
def test_it_is_in_the_folder_where_the_program_lives_or_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: dict[str, str], is_here: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, text in there.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "palimpsest" / ".env"
    assert chosen_file().path == (folder / ".env" if is_here else own)
    assert chosen_file(here=True).path == folder / ".env"
    if ".env" not in there:
        own.parent.mkdir(parents=True)
        own.touch()
        assert chosen_file().path == own
