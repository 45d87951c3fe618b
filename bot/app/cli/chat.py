"""`palimpsest chat`: a conversation in this terminal, a message and its answer, or the conversations that there are."""

from __future__ import annotations

import shlex
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.flags import Limit, NoCompact, Options, Strategy, overrides
from bot.app.cli.process import WronglyCalled, log_quietly, one_line_errors, run_to_its_end
from bot.errors import ConfigurationError
from bot.messages import NAMES, Address, Attachment, is_name

if TYPE_CHECKING:
    from bot.app.conversations import Known
    from bot.runtime.settings import Settings

DEFAULT = "terminal-me"
FROM_INPUT = "-"
_MOST_LISTED = 20
_LONGEST_LAST = 60
_WAITING_SECONDS = 3.0
_WAITING = "Waiting for the end of standard input. (Where there is to be none: < /dev/null)"
_KINDS = ((b"\x89PNG\r\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"), (b"%PDF-", "pdf"))
_WEBP = (b"RIFF", b"WEBP")


def chat(
    *,
    agent: Annotated[
        str | None, typer.Option(help=f"The conversation; it goes on where it was. Without it: {DEFAULT}.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            "-p",
            metavar="TEXT",
            help="Say this, print the answer, and end; standard input goes along as a file. - : it is the text.",
        ),
    ] = None,
    attach: Annotated[
        list[Path] | None, typer.Option("--attach", "-a", metavar="FILE", help="Goes along with --prompt; repeatable.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="Who answers, as MODEL says it: a name, or provider/name."),
    ] = None,
    go_on: Annotated[bool, typer.Option("--continue", "-c", help="The conversation that was used last.")] = False,
    resume: Annotated[bool, typer.Option("--resume", "-r", help="Pick a conversation from a list.")] = False,
    list_: Annotated[bool, typer.Option("--list", "-l", help="The conversations that there are.")] = False,
    strategy: Strategy = None,
    limit: Limit = None,
    option: Options = None,
    no_compact: NoCompact = False,
) -> None:
    """Talk in this terminal. When standard input is not a terminal, each line is a message."""
    from bot.runtime.settings_check import checked_settings

    named = [name for name, given in (("--agent", agent), ("--continue", go_on), ("--resume", resume)) if given]
    if len(named) > 1:
        raise typer.BadParameter(f"{' and '.join(named)} say different things")
    if attach and prompt is None:
        raise typer.BadParameter("--attach goes with --prompt; in the chat @FILE attaches one")
    address = _terminal_address(agent) if agent else None
    flags: dict[str, Any] = {**overrides(strategy, limit, option, no_compact=no_compact)}
    if model:
        flags["model"] = model
    with one_line_errors():
        if sys.stdin is None or sys.stdout is None or sys.stderr is None:  # `<&-` and the like
            raise ConfigurationError("It talks over standard input, output and error: leave them open.")
        is_shown = sys.stdin.isatty() and prompt is None
        if list_:
            _print_list()
            return
        if go_on or resume:
            address = _known_address(pick=resume)
        settings, notes = checked_settings(("agents", "worker"), **flags)
        if model and settings.uses_local_model:
            from bot.app.models import NO_KEY

            raise ConfigurationError(f"--model {model} cannot be asked. {NO_KEY}")
        if settings.uses_local_model:
            from bot.app.embedded.brain import find_brain

            find_brain(settings.data_dir)  # before there is a prompt, or a folder
        notes = (*notes, *_of_a_new_folder(settings)) if prompt is None else notes
        _log_to_file(settings) if is_shown else log_quietly(settings)
        if prompt is not None:
            _ask_once(settings, address, prompt, attach or (), notes, insists=bool(model))
            return
        from bot.app.chat import chat as talk

        run_to_its_end(talk(settings, address or _terminal_address(DEFAULT), notes, insists=bool(model)))


def _ask_once(
    settings: Settings,
    address: Address | None,
    prompt: str,
    attach: Sequence[Path],
    notes: Sequence[str],
    *,
    insists: bool,
) -> None:
    from bot.app.chat import ask_once
    from bot.app.conversations import new_once
    from bot.app.new_folder import NewFolder
    from bot.app.platforms import files_named

    most = settings.files.most_bytes
    given = _input(most)
    if prompt == FROM_INPUT:
        prompt, given = given.decode("utf-8", "replace"), b""
    elif named := files_named(prompt):  # not sent unasked: a script may pass on what others wrote
        way = " ".join(f"--attach {shlex.quote(file.ref)}" for file in named)
        print(f"An @ in --prompt is text. This sends what it names: {way}", file=sys.stderr)
    files = [_attached(path, most) for path in attach]
    if not (prompt.strip() or files or given):
        raise WronglyCalled("There is nothing to say: give --prompt a text, or something on standard input.")
    folder, is_answered = NewFolder(settings), False
    with _as_file(given) as file:
        all_files = [*file, *files]
        try:
            is_answered = run_to_its_end(
                ask_once(settings, address or new_once(), prompt, all_files, notes, insists=insists)
            )
        except typer.Exit:  # Ctrl-C: what was asked may be answered the next time
            is_answered = True
            raise
        finally:
            if not is_answered:
                run_to_its_end(folder.remove())
    if not is_answered:
        raise typer.Exit(1)
    if folder.is_new:
        sys.stderr.writelines(f"{note}\n" for note in _of_a_new_folder(settings, is_there=True))


def _of_a_new_folder(settings: Settings, *, is_there: bool = False) -> Sequence[str]:
    """Where things are kept, for whoever never said so, the first time. ``is_there``: by now."""
    from bot.runtime.env_file import env_file

    folder = settings.data_dir
    is_known = "data_dir" in settings.model_fields_set or settings.database_url or env_file().exists()
    if is_known or (folder.exists() and not is_there):
        return []
    where = f"What is said here is kept in {folder.absolute()}, and found again from this folder alone"
    return [f"{where}; `palimpsest setup` makes a place that counts everywhere."]


def _input(most: int) -> bytes:
    """What standard input holds, where that is no terminal; waiting for it is said."""
    if sys.stdin.isatty():
        return b""
    told = threading.Timer(_WAITING_SECONDS, lambda: print(_WAITING, file=sys.stderr, flush=True))
    told.daemon = True
    told.start()
    try:
        given = sys.stdin.buffer.read(most + 1)
    finally:
        told.cancel()
    if len(given) > most:
        raise WronglyCalled(f"Standard input is too large: at most {most / 1e6:,.0f} MB (FILES__MOST_BYTES).")
    return given if given.strip() else b""


def _attached(path: Path, most: int) -> Attachment:
    path = path.expanduser().absolute()
    if not path.is_file():
        raise WronglyCalled(f"There is no file {path}.")
    size = path.stat().st_size
    if size > most:
        raise WronglyCalled(f"{path} is too large: at most {most / 1e6:,.0f} MB (FILES__MOST_BYTES).")
    return Attachment(str(path), path.name, size=size)


@contextmanager
def _as_file(given: bytes) -> Iterator[list[Attachment]]:
    """What came on standard input, as a file to send, until the end of the block."""
    if not given:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        path = Path(folder, f"stdin.{_ending(given)}")
        path.write_bytes(given)
        yield [Attachment(str(path), path.name, size=len(given))]


def _ending(given: bytes) -> str:
    """Of a file's name, by what is in it."""
    for begins, ending in _KINDS:
        if given.startswith(begins):
            return ending
    if given.startswith(_WEBP[0]) and given[8:12] == _WEBP[1]:
        return "webp"
    return "bin" if b"\0" in given else "txt"


def _conversations() -> Sequence[Known]:
    from bot.app.cli.book import opened, settings_for_looking
    from bot.app.conversations import listed

    async def look() -> Sequence[Known]:
        async with opened(settings_for_looking()) as database:
            return await listed(database)

    return run_to_its_end(look())


def _print_list() -> None:
    from bot.app.cli.text import columns, cut
    from bot.app.conversations import ONCE, ago

    found = _conversations()
    kept = [one for one in found if not one.name.startswith(ONCE)]
    if not kept:
        print("There is no conversation yet: palimpsest chat begins one.")
    for row in columns((one.name, ago(one.at), one.full, cut(one.last, _LONGEST_LAST)) for one in kept[:_MOST_LISTED]):
        print(row)
    more = [f"{len(kept) - _MOST_LISTED:,} more"] if len(kept) > _MOST_LISTED else []
    if once := len(found) - len(kept):
        more.append(f"{once:,} of a single message (--prompt)")
    if more:
        print(f"And {' and '.join(more)}: palimpsest agents list has all.")
    if kept:
        print("palimpsest chat --agent NAME goes on with one, --continue with the last, --resume lets you pick.")


def _known_address(*, pick: bool) -> Address:
    """The conversation that was used last, or one that is picked."""
    from bot.app.conversations import ONCE

    found = _conversations()
    if pick:
        found = [one for one in found if not one.name.startswith(ONCE)] or found
        if not sys.stdin.isatty():
            raise WronglyCalled("--resume wants a terminal to pick in: --list shows what there is, --agent names one.")
    if not found:
        raise ConfigurationError("There is no conversation yet: palimpsest chat begins one.")
    return Address("terminal", _picked(found) if pick else found[0].name)


def _picked(found: Sequence[Known]) -> str:
    from prompt_toolkit.shortcuts import choice

    from bot.app.cli.text import columns, cut
    from bot.app.conversations import ago

    shown = found[:_MOST_LISTED]
    rows = columns((one.name, ago(one.at), cut(one.last, _LONGEST_LAST)) for one in shown)
    try:
        return choice(
            "Which conversation? (arrows or a number, Enter takes it, Ctrl-C leaves)",
            options=[(one.name, row) for one, row in zip(shown, rows, strict=True)],
        )
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


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
