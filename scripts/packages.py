"""`make packages`: builds the sdist and the wheel, and tries them as strangers get them.

Each Python gets an environment of its own, into which pip installs without the lock, from wherever it is set up to
look: the wheel with all that it requires, and then the sdist in its place. They have to say their version and what to
do without a key, answer over a pipe (with the tables, migrations and rules that come with the package), and serve the
page with what that loads. What only extras bring is not there, and can be had. Nothing of the clone is in reach:
variables are few, and the folder is empty.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp

from tests.ports import free_port
from tests.servers.messages.server import MessagesServer

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)
EXTRAS = {"brain": "xllamacpp", "vectors": "wordllama"}
"""What each brings, and an installation without it does not."""
LAST_WITH_VECTORS = (3, 13)
KEY = "key-of-a-stranger"
PATIENCE = 120.0
_LOOK_SECONDS = 0.1
_VERSION = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
_LOADED = re.compile(r'(?:src|href)="(/static/[^"]+)"')


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that whoever has only that would build. Raises SystemExit where the clone makes another
    wheel: then something is missing in the sdist."""
    _hatchling(ROOT, "sdist", folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    _hatchling(unpacked, "wheel", folder)
    _hatchling(ROOT, "wheel", folder / "of-the-clone")
    (wheel,), (other,) = folder.glob("*.whl"), (folder / "of-the-clone").glob("*.whl")
    if missing := _names(other) ^ _names(wheel):
        raise SystemExit(f"The sdist makes another wheel than the clone: {', '.join(sorted(missing)[:10])}")
    return sdist, wheel


def _hatchling(place: Path, target: str, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=place, check=True, capture_output=True)


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def pythons() -> Mapping[tuple[int, ...], str]:
    """Those of this machine that the package is for, by version, the oldest first: on the PATH, and pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = [shutil.which(f"python3.{minor}") or "" for minor in range(OLDEST[1], 20)]
    found: dict[tuple[int, ...], str] = {}
    for python in (*named, sys.executable, *map(str, sorted(pyenv.glob("versions/3.*/bin/python")))):
        asked = python and subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, check=False)
        version = tuple(map(int, asked.stdout.split())) if asked and asked.returncode == 0 else (0,)
        if version >= OLDEST:
            found.setdefault(version, python)
    return dict(sorted(found.items()))


async def trial(python: str, sdist: Path, wheel: Path, folder: Path) -> None:
    """Install and use both with this Python. Raises AssertionError and CalledProcessError, with what was said."""
    venv = folder / "venv"
    _call([python, "-m", "venv", str(venv)])
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for number, what in enumerate(([str(wheel)], ["--no-deps", "--force-reinstall", str(sdist)])):
        began = time.monotonic()
        _call([*pip, *what])
        installed = time.monotonic() - began
        place = folder / f"place-{number}"
        place.mkdir()
        await _use(venv / "bin" / "palimpsest", place)
        sys.stdout.write(f"  {Path(what[-1]).name}: installed in {installed:.0f} s, and works\n")
    _look_at_extras(venv / "bin" / "python", wheel)


def _look_at_extras(python: Path, wheel: Path) -> None:
    """None of them is installed, and each could be."""
    version = tuple(map(int, _call([str(python), "-c", _VERSION]).split()))
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    installed = _call([*pip, "list", "--format=freeze"])
    for extra, package in EXTRAS.items():
        assert f"{package}==" not in installed, installed
        if extra == "vectors" and version > LAST_WITH_VECTORS:
            continue
        answered = _call([*pip, "install", "--dry-run", "--only-binary=:all:", f"{wheel}[{extra}]"])
        assert re.search(rf"^Would install .*\b{package}-", answered, re.MULTILINE), answered
        sys.stdout.write(f"  [{extra}]: can be had\n")


async def _use(program: Path, place: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": str(place), "DATA_DIR": str(place / "data")}
    assert "palimpsest" in await asyncio.to_thread(_call, [str(program), "--version"], place, bare)
    alone = await asyncio.to_thread(_asked, [str(program), "chat"], place, bare, "hello\n")
    assert alone.returncode == 1, alone
    assert "palimpsest brain" in alone.stderr, alone.stderr
    async with MessagesServer(key=KEY) as model:
        settings = {**bare, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url}
        said = "The colour is blue.\nWhat is the colour?\n/compact\n/context\n"
        answered = await asyncio.to_thread(_call, [str(program), "chat"], place, settings, said)
        assert "The colour is blue." in answered, answered
        await _serve(program, place, settings)


async def _serve(program: Path, place: Path, settings: Mapping[str, str]) -> None:
    """`run`, until its chat page is shown with all that it loads."""
    url = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        program, "run", cwd=place, env={**settings, "HTTP_BIND": url}, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(f"http://{url}", raise_for_status=True) as browser:
            while True:
                try:
                    async with browser.get("/chat/me") as answer:
                        page = await answer.text()
                    break
                except aiohttp.ClientConnectionError:
                    assert process.returncode is None, f"`run` has ended with {process.returncode}"
                    await asyncio.sleep(_LOOK_SECONDS)
            loaded = _LOADED.findall(page)
            assert loaded, page
            for path in (*loaded, "/", "/metrics"):
                async with browser.get(path) as answer:
                    assert await answer.read(), path
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _call(
    command: Sequence[str], place: Path | None = None, settings: Mapping[str, str] | None = None, said: str = ""
) -> str:
    """What it answers. Raises SystemExit with all that it said where it fails."""
    ran = _asked(command, place, settings, said)
    if ran.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def _asked(
    command: Sequence[str], place: Path | None, settings: Mapping[str, str] | None, said: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=place, env=settings, input=said, capture_output=True, text=True, check=False)


def main() -> None:
    """Raises SystemExit where something does not work."""
    parser = argparse.ArgumentParser(prog="python -m scripts.packages", description=__doc__)
    parser.add_argument("--oldest", action="store_true", help="only with the oldest Python that is here")
    chosen = parser.parse_args()
    found = pythons()
    oldest, newest = min(found), max(found)
    wanted = [oldest] if chosen.oldest else sorted({oldest, newest})
    with tempfile.TemporaryDirectory(prefix="packages-") as name:
        sdist, wheel = build(Path(name))
        for version in wanted:
            sys.stdout.write(f"Python {'.'.join(map(str, version))} ({found[version]})\n")
            sys.stdout.flush()
            folder = Path(name) / "-".join(map(str, version))
            folder.mkdir()
            asyncio.run(trial(found[version], sdist, wheel, folder))


if __name__ == "__main__":
    main()
