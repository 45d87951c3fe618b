"""`palimpsest backup` and `palimpsest restore`. They open the database and nothing else."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.book import refuse_missing_book, settings_for_looking
from bot.app.cli.process import one_line_errors, run_to_its_end

if TYPE_CHECKING:
    from bot.app.archive.backup import Extent
    from bot.runtime.settings import Settings


def backup(
    target: Annotated[
        str | None, typer.Argument(help="A new file, e.g. backup.tar.gz; - is standard output (not compressed).")
    ] = None,
) -> None:
    """Keep everything that must last in one file: the database, and the files of conversations. While it runs, too."""
    if target is None:
        raise typer.BadParameter("name the file that it makes, e.g. `palimpsest backup backup.tar.gz`")
    with one_line_errors():
        settings = settings_for_looking()
        made = run_to_its_end(_backup(settings, target))
        print(f"{_sentence(made)} of {made.made_at} are in {'the pipe' if target == '-' else target}.", file=sys.stderr)
        if made.left_out:
            print(f"{made.left_out} links, pipes or devices are not: only files are kept.", file=sys.stderr)
        print(
            f"The settings (.env with its keys) are not in it: keep them elsewhere. {_puts_back(target)}",
            file=sys.stderr,
        )


def restore(
    source: Annotated[str, typer.Argument(help="What `palimpsest backup` made; - is standard input.")],
) -> None:
    """Put a backup into an empty database and an empty folder of conversations. The program must not run."""
    with one_line_errors():
        settings = settings_for_looking()
        found = run_to_its_end(_restore(settings, source))
        print(f"{_sentence(found)} are as they were at {found.made_at}.", file=sys.stderr)


def _puts_back(target: str) -> str:
    name = "-" if target == "-" else shlex.quote(target)
    return f"`palimpsest restore {name}` puts it back."


async def _backup(settings: Settings, target: str) -> Extent:
    from bot.app.archive import backup as work
    from bot.store.book import database_of

    refuse_missing_book(settings)
    database = database_of(settings)
    try:
        return await work.make(database, settings, target)  # not opened: that would upgrade its tables
    finally:
        await database.close()


async def _restore(settings: Settings, source: str) -> Extent:
    from bot.app.archive import backup as work
    from bot.store.book import database_of

    database = database_of(settings)
    try:
        return await work.restore(database, settings, source)
    finally:
        await database.close()


def _sentence(extent: Extent) -> str:
    from bot.page.format import bytes_

    return (
        f"{extent.conversations:,} conversations with {extent.entries:,} entries and {extent.files:,} files "
        f"({bytes_(extent.bytes)})"
    )
