"""The command line. Everything heavy is imported inside the commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bot import __version__
from bot.app.cli import (
    agents,
    appointments,
    backup,
    brain,
    chat,
    compact,
    doctor,
    estimate,
    moving_in,
    pair,
    parked,
    setup,
    traces,
    volume,
)
from bot.app.cli.flags import Commands, Limit, NoCompact, Options, Strategy, overrides
from bot.app.cli.process import one_line_errors, run_to_its_end, written_or_said

app = typer.Typer(
    name="palimpsest",
    cls=Commands,
    help="An assistant that you can talk to for ever: it compacts its own context.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


_NO_TERMINAL = (
    'palimpsest: This is no terminal. `palimpsest chat -p "…"` asks one thing, `palimpsest chat` takes each line of '
    "standard input as a message, `palimpsest run` serves."
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"palimpsest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _palimpsest(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Say the version and end.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    """Alone, it talks; where nothing is set up yet, it is set up first."""
    if context.invoked_subcommand is not None:
        return
    if not setup.is_terminal():
        typer.echo(context.get_help())
        typer.echo(_NO_TERMINAL, err=True)
        raise typer.Exit(2)
    setup.first()


def run(
    *,
    role: Annotated[
        list[str] | None, typer.Option(help="gateway, agents or worker; may be given several times. Default: all.")
    ] = None,
    strategy: Strategy = None,
    limit: Limit = None,
    option: Options = None,
    no_compact: NoCompact = False,
) -> None:
    """Serve: the platforms that have a token, the page, the agents, and the worker."""
    from bot.app.main import ROLES

    wanted = [known for known in ROLES if not role or known in role]
    if role and set(role) - set(ROLES):
        raise typer.BadParameter(f"a role is one of {', '.join(ROLES)}")
    flags = overrides(strategy, limit, option, no_compact=no_compact)
    with one_line_errors():
        from bot.app.main import run as serve
        from bot.runtime import logs
        from bot.runtime.settings_check import checked_settings, log_notes

        settings, notes = checked_settings(wanted, **flags)
        logs.configure(settings)
        log_notes(notes)
        run_to_its_end(serve(settings, wanted), serves=True)


def tour(*, fast: Annotated[bool, typer.Option("--fast", help="Without the pauses for reading.")] = False) -> None:
    """Watch it work, in under a minute: grow, compact, remember, undo, be killed, go on. No key; nothing is kept."""
    with one_line_errors():
        from bot.app.tour.screen import tour as play

        run_to_its_end(play(fast=fast))


# In the order in which `--help` lists them: below a heading, those that have commands of their own come last.
_TALK, _LOOK_AFTER, _FILES = "Talk to it", "Look after it", "Transcripts in files"
app.command(rich_help_panel=_TALK)(chat.chat)
app.command(rich_help_panel=_TALK)(run)
app.command(rich_help_panel=_TALK)(setup.setup)
app.command("import", rich_help_panel=_TALK)(moving_in.import_)
app.command(rich_help_panel=_TALK)(tour)
app.command(rich_help_panel=_TALK)(brain.brain)
app.command(rich_help_panel=_LOOK_AFTER)(doctor.doctor)
app.command(rich_help_panel=_LOOK_AFTER)(backup.backup)
app.command(rich_help_panel=_LOOK_AFTER)(backup.restore)
app.command(rich_help_panel=_FILES)(compact.compact)
app.command(rich_help_panel=_FILES)(estimate.estimate)
app.add_typer(pair.app, name="pair", rich_help_panel=_LOOK_AFTER)
app.add_typer(agents.app, name="agents", rich_help_panel=_LOOK_AFTER)
app.add_typer(appointments.app, name="appointments", rich_help_panel=_LOOK_AFTER)
app.add_typer(traces.app, name="traces", rich_help_panel=_LOOK_AFTER)
app.add_typer(parked.app, name="parked", rich_help_panel=_LOOK_AFTER)
app.add_typer(volume.app, name="volume", rich_help_panel=_LOOK_AFTER)


def main() -> None:
    """The console script. What it writes is for its own user alone."""
    os.umask(0o077)
    with written_or_said():
        app()


if __name__ == "__main__":
    main()
