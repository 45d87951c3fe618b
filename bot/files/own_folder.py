"""The agent's own folder. There is no way out of it: what is opened is reached step by step from the folder itself,
and no step follows a link, not even one that was put there a moment ago.

What the program keeps there (what people sent, traces, results) can be read and not written.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import BinaryIO

SENT_BY_PEOPLE, RESULTS, VIEWS, SENT, PARTS = "files", "results", ".views", ".sent", ".parts"
OWNED_FOLDERS = (SENT_BY_PEOPLE, RESULTS, VIEWS, SENT, PARTS)
"""What people sent, results that were too long, pictures that the model saw, files on their way out, half-written
files."""
OWNED_FILE = re.compile(r"compaction_.*\.md(?:\.gz)?|input_history|\..*", re.IGNORECASE | re.DOTALL)
"""Traces, a terminal's input, and everything hidden."""

NO_SUCH_FILE = "There is no such file; list_files shows what there is."
_MODE = 0o700
_FILE_MODE = 0o600
_MOST_STEPS = 32
_LONGEST_NAME = 200
"""Bytes; disks take 255."""


class Refused(Exception):
    """What is asked of a conversation's folder cannot be; the text is a sentence for whoever asked."""


class Gone(Refused):
    """It is not there (any more)."""


def inside(folder: Path, name: object) -> Path:
    """Where in the folder a name leads, through links within it; an absolute path. Raises Refused."""
    root, text = folder.resolve(), _name(name)
    try:
        path = (root / text).resolve()
    except (RuntimeError, ValueError) as error:  # links in a circle; half a character, which no file's name can hold
        raise Gone(NO_SUCH_FILE) from error
    if path != root and root not in path.parents:
        raise Refused("Only files in this conversation's folder can be read.")
    return path


def to_write(folder: Path, name: object) -> PurePath:
    """Where in the folder a name leads without any link; relative. Raises Refused where nothing may be written."""
    root = folder.resolve()
    path = PurePath(os.path.normpath(root / _name(name)))
    if path == root or root not in path.parents:
        raise Refused("Only files in this conversation's folder can be written, for example 'notes.txt'.")
    relative = path.relative_to(root)
    if len(relative.parts) > _MOST_STEPS:
        raise Refused("That is too deep.")
    if relative.parts[0].lower() in OWNED_FOLDERS:
        raise Refused(f"{relative.parts[0]}/ is kept by the program. Write to another place, a copy for example.")
    if any(part.startswith(".") for part in relative.parts) or OWNED_FILE.fullmatch(relative.parts[0]):
        raise Refused("That name is the program's own, or hidden. Choose another one.")
    return relative


@contextmanager
def opened(folder: Path, path: Path) -> Iterator[BinaryIO]:
    """A regular file of the folder, for reading, at a path that :func:`inside` gave. Raises Refused, OSError."""
    relative = path.relative_to(folder.resolve())
    with _at(folder, relative.parent) as place:
        try:
            descriptor = os.open(
                relative.name or ".", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place
            )
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Gone(NO_SUCH_FILE) from error
        except OSError as error:
            raise _named(error) from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise Refused("That is a folder; use list_files.") if stat.S_ISDIR(mode) else Gone(NO_SUCH_FILE)
    with os.fdopen(descriptor, "rb") as file:
        yield file


def names_in(folder: Path, path: Path) -> list[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder itself. Raises Refused, OSError."""
    try:
        with _at(folder, path.relative_to(folder.resolve())) as place, os.scandir(place) as items:
            return [(item.name, _is_folder(item)) for item in items]
    except Gone:
        raise Refused("There is no such folder.") from None


def write(folder: Path, relative: PurePath, data: bytes) -> None:
    """Put a file there, all of it or nothing: it is written apart and then renamed. Folders are made. OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=_MODE)
    part = f"{secrets.token_hex(8)}~"
    with _at(folder, PurePath(PARTS), make=True) as parts, _at(folder, relative.parent, make=True) as place:
        _forget_parts(parts)
        _refuse_what_is_no_file(place, relative.name)
        descriptor = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE, dir_fd=parts
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, relative.name, src_dir_fd=parts, dst_dir_fd=place)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=parts)
            raise


def pinned(folder: Path, path: Path) -> str:
    """Another name for a file that is to be sent, which no tool can change or lead elsewhere; relative."""
    relative = path.relative_to(folder.resolve())
    known_as = path.name if len(os.fsencode(path.name)) <= _LONGEST_NAME else path.suffix[:_LONGEST_NAME]
    name = f"{secrets.token_hex(4)}-{known_as}"
    with _at(folder, relative.parent) as place, _at(folder, PurePath(SENT), make=True) as sent:
        try:
            os.link(relative.name, name, src_dir_fd=place, dst_dir_fd=sent, follow_symlinks=False)
        except OSError:  # a disk without hard links
            with opened(folder, path) as file:
                write(folder, PurePath(SENT, name), file.read())
        if not stat.S_ISREG(os.stat(name, dir_fd=sent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=sent)
            raise Gone(NO_SUCH_FILE)
    return f"{SENT}/{name}"


def swept(folder: Path, name: str, *, most: int, most_bytes: int) -> None:
    """Of a folder that the program keeps, only the newest files stay: so many, and so many bytes."""
    with suppress(OSError, Refused), _at(folder, PurePath(name)) as place:
        with os.scandir(place) as items:
            files = [(item.stat(follow_symlinks=False), item.name) for item in items if not item.is_dir()]
        files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
        kept = 0
        for number, (state, file) in enumerate(files):
            kept += state.st_size
            if number >= most or (kept > most_bytes and number):
                os.unlink(file, dir_fd=place)


def size_of(folder: Path) -> int:
    """The bytes of all files in the folder, each counted once under however many names; links are not followed."""
    total, waiting = 0, [str(folder)]
    seen: set[int] = set()
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    waiting.append(item.path)
                else:
                    found = item.stat(follow_symlinks=False)
                    total += 0 if found.st_ino in seen else found.st_size
                    seen.add(found.st_ino)
    return total


def _is_folder(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir()
    except OSError:  # links in a circle
        return False


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise Refused("Give the path of a file in this folder, for example 'notes.txt'.")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:  # half a character
        raise Refused("There is no such file; no file can have that name.") from error
    return name


@contextmanager
def _at(folder: Path, relative: PurePath, *, make: bool = False) -> Iterator[int]:
    """A folder below this one, reached without following a link."""
    try:
        place = os.open(folder.resolve(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Gone(NO_SUCH_FILE) from error
    try:
        for part in relative.parts:
            place = _step(place, part, make=make)
        yield place
    finally:
        os.close(place)


def _step(place: int, part: str, *, make: bool) -> int:
    """One folder deeper; closes the one above only where it got there."""
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(part, _MODE, dir_fd=place)
        deeper = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise (Refused(f"{part!r} is no folder.") if make else Gone(NO_SUCH_FILE)) from error
    except OSError as error:
        raise _named(error) from error
    os.close(place)
    return deeper


def _named(error: OSError) -> OSError | Refused:
    """A link where none may be is told as such."""
    return Refused("A link cannot be followed there.") if error.errno in _LOOPS else error


_LOOPS = frozenset({40, 62})
"""ELOOP on Linux and on macOS."""


def _refuse_what_is_no_file(place: int, name: str) -> None:
    try:
        mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise Refused("That is a folder or a link, and not a file that can be written.")


def _forget_parts(parts: int) -> None:
    """What a crash left half-written; an agent runs one tool at a time."""
    with os.scandir(parts) as items:
        for item in items:
            with suppress(OSError):
                os.unlink(item.name, dir_fd=parts)
