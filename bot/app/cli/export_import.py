"""`palimpsest agents export` and `import`: a conversation as one file, and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from bot.app.cli.book import NothingFound, opened_with_files, refuse_strange_files, settings_for_looking
from bot.app.cli.pair import ring
from bot.app.cli.process import Json, WronglyCalled, one_line_errors, run_to_its_end
from bot.app.cli.text import json_text, line
from bot.bus import topics

if TYPE_CHECKING:
    from bot.app.archive.exporting import Exported
    from bot.runtime.settings import Settings

_SHOWN = 10


def export(
    agent: Annotated[str, typer.Argument(help="Its id, e.g. telegram-12345.")],
    out: Annotated[str | None, typer.Option(help="The file to write; - is standard output.")] = None,
    as_json: Json = False,
) -> None:
    """Write everything of one conversation into one file (docs/export.md), also while it goes on."""
    with one_line_errors():
        if as_json and out == "-":
            raise WronglyCalled("--json and --out - both want standard output: leave out one.")
        settings, name = settings_for_looking(), agent.strip()
        path = out or f"{name}-{datetime.now(UTC):%Y%m%d}.zip"
        done = run_to_its_end(_export(settings, name, path))
    if path == "-":
        return
    if as_json:
        print(json_text({"file": path, **done.as_json()}))
        return
    print(f"{path}: {_said(done)}.")
    for left_out, why in list(done.left_out.items())[:_SHOWN]:
        print(f"left out: {line(left_out)} ({why})")
    if len(done.left_out) > _SHOWN:
        print(f"left out: {len(done.left_out) - _SHOWN:,} more; --json names all")


def import_(
    file: Annotated[Path, typer.Argument(help="What `export` wrote.")],
    most_bytes: Annotated[int, typer.Option(min=1, help="Unpacked, it may have so many.")] = 4_000_000_000,
    as_json: Json = False,
) -> None:
    """Bring a conversation back that was exported, under its own id; one that is there is never written over."""
    with one_line_errors():
        done = run_to_its_end(_import(settings_for_looking(), file, most_bytes))
    if as_json:
        print(json_text(done.as_json()))
    else:
        print(f"{done.agent_id} is back: {_said(done)}.")


def _said(done: Exported) -> str:
    return (
        f"{done.rows['entries']:,} entries, {done.rows['compactions']:,} compactions, {done.files:,} files "
        f"({done.bytes:,} bytes)"
    )


async def _export(settings: Settings, name: str, path: str) -> Exported:
    from bot.app.archive.exporting import export as write
    from bot.files.blocks import folder_of
    from bot.messages import AgentId

    agent_id = AgentId(name)
    async with opened_with_files(settings) as database:
        folder = folder_of(settings.data_dir, agent_id)
        if path == "-":
            return await write(database, folder, agent_id, sys.stdout.buffer)
        with _new_file(Path(path)) as unfinished:
            unfinished.touch(mode=0o600, exist_ok=False)
            with unfinished.open("wb") as file:
                done = await write(database, folder, agent_id, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        return done


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """The name to write under until all of it is there. Raises NothingFound where the file cannot be."""
    if path.exists():
        raise NothingFound(f"{path} is there already: give another name with --out.")
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield part
    except OSError as error:
        raise NothingFound(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


async def _import(settings: Settings, path: Path, most_bytes: int) -> Exported:
    from zipfile import BadZipFile, ZipFile

    from bot.app.archive import importing
    from bot.store.book import database_of

    try:
        with ZipFile(path) as packed:
            archive = importing.opened(packed, most_bytes=most_bytes)
            importing.check(archive)
            database = database_of(settings)
            try:
                await database.open()
                await refuse_strange_files(settings, database)
                done = await importing.bring_in(database, settings.data_dir, archive)
                for topic in (topics.inbox(archive.agent_id), topics.outbox(archive.address.connector)):
                    await ring(settings, database, topic)
            finally:
                await database.close()
    except BadZipFile as error:
        raise importing.BadArchive(f"{path} is no archive of this program ({error}).") from error
    except OSError as error:
        raise importing.BadArchive(f"{path} cannot be imported: {error.strerror or error}.") from error
    return done
