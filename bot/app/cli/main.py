"""The command line. Everything heavy is imported inside the commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot import __version__
from bot.app.cli import agents, backup, compact, doctor, estimate, pair, parked, traces, volume
from bot.app.cli.flags import Limit, NoCompact, Options, Strategy, overrides
from bot.app.cli.process import log_quietly, one_line_errors, run_to_its_end, written_or_said
from bot.errors import ConfigurationError
from bot.messages import NAMES, Address, is_name

if TYPE_CHECKING:
    from bot.runtime.settings import Settings

app = typer.Typer(
    name="palimpsest",
    help="An assistant that you can talk to for ever: it compacts its own context.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(pair.app, name="pair")
app.add_typer(parked.app, name="parked")
app.add_typer(volume.app, name="volume")
app.add_typer(traces.app, name="traces")
app.add_typer(agents.app, name="agents")
app.command()(doctor.doctor)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(compact.compact)
app.command()(estimate.estimate)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"palimpsest {__version__}")
        raise typer.Exit


@app.callback()
def _palimpsest(
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and end.", is_eager=True, callback=_say_version)
    ] = False,
) -> None: ...


@app.command()
def chat(
    *,
    agent: Annotated[str, typer.Option(help="The conversation; it goes on where it was.")] = "terminal-me",
    strategy: Strategy = None,
    limit: Limit = None,
    option: Options = None,
    no_compact: NoCompact = False,
) -> None:
    """Talk in this terminal. When standard input is not a terminal, each line is a message."""
    from bot.runtime.settings_check import checked_settings

    address = _terminal_address(agent)
    flags = overrides(strategy, limit, option, no_compact=no_compact)
    with one_line_errors():
        if sys.stdin is None or sys.stdout is None or sys.stderr is None:  # `<&-` and the like
            raise ConfigurationError("It talks over standard input, output and error: leave them open.")
        settings, notes = checked_settings(("agents", "worker"), **flags)
        _log_to_file(settings) if sys.stdin.isatty() else log_quietly(settings)
        from bot.app.chat import chat as talk

        run_to_its_end(talk(settings, address, notes))


@app.command()
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
    """Serve: the platforms that have a token, the agents, and the worker."""
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


def main() -> None:
    """The console script. What it writes is for its own user alone."""
    os.umask(0o077)
    with written_or_said():
        app()


def _terminal_address(agent: str) -> Address:
    name = agent.removeprefix("terminal-")
    if not is_name(name):
        raise typer.BadParameter(NAMES)
    return Address("terminal", name)


def _log_to_file(settings: Settings) -> None:
    """The terminal belongs to the conversation."""
    from bot.runtime import logs

    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        logs.configure(settings, file=(settings.data_dir / "chat.log").open("a", encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR={settings.data_dir} cannot be written: {error.strerror}.") from error


if __name__ == "__main__":
    main()
