"""A file of this machine, sent from a terminal: `/attach PATH [words]`, or `@PATH` somewhere in a message."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bot.errors import DeliveryRefused
from bot.messages import Attachment, OutFile

ATTACH = "/attach"
HOW = "/attach PATH [words] sends a file; a path with spaces stands in quotes."
_MENTION = re.compile(r"""(?<!\S)@(?:"([^"\n]+)"|'([^'\n]+)'|(\S+))""")
_BEGUN = re.compile(r"""(?<!\S)@(?:(["'])([^"'\n]*)|([^\s"']*))\Z""")
_AFTER_WORDS = ".,;:!?)]}»”'\""
"""What may stand behind a path in a sentence, and is not of it."""
_LIKE_A_FILE = re.compile(r"\w\.\w|/\w|^\.\w")
_MOST_OFFERED = 200


class CannotAttachError(Exception):
    """The text says what to do."""


def attached(line: str) -> tuple[Attachment, str] | None:
    """The file and the words of a line that attaches one, or None for any other line. Looks at the disk.

    Raises CannotAttachError.
    """
    command, _, rest = line.strip().partition(" ")
    if command != ATTACH:
        return None
    try:
        name, words = _name_and_words(rest.strip())
        if not name:
            raise CannotAttachError(HOW)
        path = Path(name).expanduser().absolute()
        if not path.is_file():
            raise CannotAttachError(f"There is no file {path}. {HOW}")
        size = path.stat().st_size
    except (OSError, RuntimeError, ValueError) as error:  # no such user behind a tilde; a name that no disk takes
        raise CannotAttachError(f"That cannot be read ({error}). {HOW}") from error
    return Attachment(str(path), path.name, size=size), words


def _name_and_words(rest: str) -> tuple[str, str]:
    """The path that a line begins with, in quotes or up to a space, and what follows it."""
    quote = rest[:1]
    if quote in ("'", '"') and (end := rest.find(quote, 1)) > 0:
        return rest[1:end], rest[end + 1 :].strip()
    with suppress(OSError):  # too long for a name: there are words in it
        if Path(rest).expanduser().is_file():
            return rest, ""
    name, _, words = rest.partition(" ")
    return name, words.strip()


def mentioned(text: str) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    """The files that a message names with an `@` before them, each once; and what looks like the name of one (it has a
    dot or a slash inside) and is none. An `@` before anything else says nothing. Looks at the disk."""
    found: dict[str, Attachment] = {}
    missing: dict[str, None] = {}
    for mention in _MENTION.finditer(text):
        written = next(filter(None, mention.groups()))
        for name in dict.fromkeys((written, written.rstrip(_AFTER_WORDS))):
            with suppress(OSError, RuntimeError, ValueError):
                path = Path(name).expanduser().absolute()
                if name and path.is_file():
                    found.setdefault(str(path), Attachment(str(path), path.name, size=path.stat().st_size))
                    break
        else:
            name = written.rstrip(_AFTER_WORDS)
            if _LIKE_A_FILE.search(name):
                missing[name] = None
    return tuple(found.values()), tuple(missing)


def begun(text: str) -> bool:
    """Whether a text ends in an `@` with the beginning of a path."""
    return _BEGUN.search(text) is not None


def offered_paths(text: str) -> Iterator[tuple[str, str, int]]:
    """What the path that a text ends in may become: how it is written, its own name, and how many characters at the
    end of the text it replaces. Hidden ones where a dot is typed. Looks at the disk."""
    found = _BEGUN.search(text)
    if found is None:
        return
    quote, typed = found[1] or "", found[2] if found[1] else found[3]
    folder, slash, name = typed.rpartition("/")
    before = f"{folder}{slash}"
    try:
        place = Path(before or ".").expanduser()
        items = sorted(os.scandir(place), key=lambda item: item.name.lower())
    except (OSError, RuntimeError, ValueError):
        return
    fitting = (item for item in items if item.name.startswith(name) and (name or not item.name.startswith(".")))
    for item, _ in zip(fitting, range(_MOST_OFFERED), strict=False):
        try:
            shown = f"{item.name}/" if item.is_dir() else item.name
        except OSError:
            continue
        if not shown.isprintable():
            continue
        whole = f"{before}{shown}"
        mark = quote or ('"' if " " in whole else "")
        end = "" if shown.endswith("/") else mark
        yield f"@{mark}{whole}{end}", shown, len(found[0])


async def copy(attachment: Attachment, target: Path, *, most_bytes: int) -> None:
    """Put the file into ``target``. Raises DeliveryRefused."""
    try:
        size = await asyncio.to_thread(lambda: Path(attachment.ref).stat().st_size)
        if size > most_bytes:
            raise DeliveryRefused(f"it is too large ({size / 1e6:,.1f} MB; at most {most_bytes / 1e6:,.0f} MB)")
        await asyncio.to_thread(shutil.copyfile, attachment.ref, target)
    except OSError as error:
        raise DeliveryRefused(f"it cannot be read ({error.strerror})") from error


def told(file: OutFile, caption: str) -> str:
    """What a terminal shows of a file that is sent to it: where it lies."""
    return f"📎 {file.name}: {file.path}" + (f"\n{caption}" if caption.strip() else "")
