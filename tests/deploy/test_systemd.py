"""The systemd units: systemd itself reads them, and says how much they leave open."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app.main import ROLES
from bot.runtime.settings import Settings
from tests.deploy.files import DEPLOY, GRACE, ROOT, is_setting

FOLDER = DEPLOY / "systemd"
UNITS = ("palimpsest.service", "palimpsest@.service")
MOST_EXPOSED = 25
"""Tenths; systemd calls 20 to 40 OK, and a service without any wall has 96."""
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


def unit(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their capitals
    found.read_string((FOLDER / name).read_text())
    return found


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units with the paths and the user of this test: systemd wants to see that they are there."""
    of_roles = [f"palimpsest@{role}" for role in ROLES]
    for unit_file, names in zip(UNITS, (["palimpsest"], ["palimpsest@", *of_roles]), strict=True):
        text = (FOLDER / unit_file).read_text()
        text = text.replace("/opt/palimpsest/.venv/bin/palimpsest", str(Path(sys.executable).with_name("palimpsest")))
        text = text.replace("/opt/palimpsest", str(ROOT))
        text = text.replace("User=palimpsest", "User=daemon").replace("Group=palimpsest", "Group=daemon")
        for name in names:
            (tmp_path / f"{name}.service").write_text(text)
    return tmp_path


@needs_systemd
@pytest.mark.parametrize("name", ["palimpsest", *(f"palimpsest@{role}" for role in ROLES)])
def test_systemd_has_nothing_to_say_about_a_unit(installed: Path, name: str) -> None:
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(installed / f"{name}.service")]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")
    assert [line for line in said.stderr.splitlines() if str(installed) in line] == []


@needs_systemd
@pytest.mark.parametrize("name", ["palimpsest", "palimpsest@agents"])
def test_systemd_finds_a_unit_walled_in(installed: Path, name: str) -> None:
    path = str(installed / f"{name}.service")
    command = ["systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={MOST_EXPOSED}", path]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout[-200:]


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_time_to_end_sees_the_shared_socket_and_sets_settings(name: str) -> None:
    service = unit(name)["Service"]
    assert int(service["TimeoutStopSec"]) >= Settings(_env_file=None).shutdown_seconds + GRACE
    assert "PrivateTmp" not in service
    assert "/tmp" in service["ReadWritePaths"].split()
    set_here = dict(pair.split("=", 1) for pair in shlex.split(service["Environment"]))
    assert all(is_setting(one) or one.startswith("PYTHON") for one in set_here)
    assert set_here["DATA_DIR"] == f"/var/lib/{service['StateDirectory']}" == service["WorkingDirectory"]


def test_the_template_plays_the_role_that_it_is_named_for() -> None:
    assert unit("palimpsest@.service")["Service"]["ExecStart"].endswith("palimpsest run --role %i")
    assert unit("palimpsest.service")["Service"]["ExecStart"].endswith("palimpsest run")
