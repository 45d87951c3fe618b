"""`palimpsest volume`: which volume holds the folders of conversations. It opens the database and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bot.app.cli.book import opened, settings_for_looking
from bot.app.cli.process import one_line_errors, run_to_its_end
from bot.errors import ConfigurationError

if TYPE_CHECKING:
    from bot.runtime.settings import Settings

app = typer.Typer(help="The volume that all hosts share: is it the right one, and which is it.", no_args_is_help=True)


@app.command()
def show() -> None:
    """Whether DATA_DIR is the volume that the database knows; the exit code is 1 when it is not."""
    with one_line_errors():
        print(run_to_its_end(_show(_settings())))


@app.command()
def adopt() -> None:
    """DATA_DIR is the volume from now on: after a restored backup, or when an empty one takes its place."""
    with one_line_errors():
        settings = _settings()
        print(f"{settings.data_dir} is the volume of this database now ({run_to_its_end(_adopt(settings))}).")


def _settings() -> Settings:
    settings = settings_for_looking()
    if not settings.database_url:
        raise ConfigurationError("Without DATABASE_URL the database lies in DATA_DIR itself: there is nothing to tell.")
    return settings


async def _show(settings: Settings) -> str:
    from bot.store import volume

    async with opened(settings) as database, database.read() as tx:
        known = await volume.known(tx)
    if known is None:
        return "The database knows no volume yet: the first process that starts names its own."
    if reason := volume.strange(known, volume.read(settings.data_dir)):
        raise ConfigurationError(f"DATA_DIR={settings.data_dir} {reason}.")
    return f"{settings.data_dir} is the volume of this database ({known})."


async def _adopt(settings: Settings) -> str:
    from bot.store import volume

    async with opened(settings) as database:
        return await volume.adopt(database, settings.data_dir)
