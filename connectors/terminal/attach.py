"""`/attach PATH [words]`: a file of this machine, sent from a terminal."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

from bot.errors import DeliveryRefused
from bot.messages import Attachment, OutFile

ATTACH = "/attach"
HOW = "/attach PATH [words] sends a file; a path with spaces stands in quotes."


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
