"""What lies in the folder of a conversation: regular files, and links that stay inside. None is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

LOCK = ".terminal.lock"
"""Held by a terminal that shows the conversation; it says nothing of it."""


@dataclass(frozen=True)
class Contents:
    """Paths are relative to the folder. ``files``: regular files and their sizes in bytes, sorted; ``links``: where
    those lead that stay inside, as they are written; ``left_out``: everything else, and why."""

    files: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(self.files.values())


def contents(folder: Path) -> Contents:
    """Look through a folder; an empty one where there is none. Raises OSError."""
    files, links, left_out = dict[str, int](), dict[str, str](), dict[str, str]()
    for item, name in _items(folder):
        if not _is_text(name):
            left_out[ascii(name)] = "its name is no text"
        elif item.is_symlink():
            target = str(Path(item.path).readlink())
            if _is_text(target) and stays_inside(name, target):
                links[name] = target
            else:
                left_out[name] = "a link out of the folder"
        elif item.is_file(follow_symlinks=False):
            if name != LOCK:
                files[name] = item.stat(follow_symlinks=False).st_size
        else:
            left_out[name] = "neither a file nor a link"
    return Contents(dict(sorted(files.items())), dict(sorted(links.items())), left_out)


def stays_inside(name: str, target: str) -> bool:
    """Whether a link of this name (relative to the folder, and itself in real folders) leads to a place in the folder,
    whatever other such links there are. Steps upwards count only at the beginning: behind another link they would lead
    from where that one leads."""
    path = PurePosixPath(target)
    parts = list(path.parts)
    if path.is_absolute() or not parts or "\0" in target:
        return False
    depth = len(PurePosixPath(name).parts) - 1
    while parts and parts[0] == "..":
        parts.pop(0)
        depth -= 1
    return depth >= 0 and ".." not in parts


def is_place(name: object) -> bool:
    """Whether this names a place in a folder: a relative path that goes nowhere else."""
    if not isinstance(name, str) or "\\" in name or "\0" in name or not _is_text(name):
        return False
    parts = name.split("/")
    return PurePosixPath(name).parts == tuple(parts) and not name.startswith("/") and ".." not in parts


def _items(folder: Path) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Everything below a folder but folders, with its path."""
    waiting = [(str(folder), "")]
    while waiting:
        place, above = waiting.pop()
        try:
            items = os.scandir(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with items:
            for item in items:
                name = f"{above}{item.name}"
                if item.is_dir(follow_symlinks=False):
                    waiting.append((item.path, f"{name}/"))
                else:
                    yield item, name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
