"""`palimpsest setup`: asks what the program has to know, or takes it from flags, and keeps it in a `.env`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.process import WronglyCalled, one_line_errors, run_to_its_end, tidily
from bot.errors import ConfigurationError

if TYPE_CHECKING:
    from bot.app.doctor.web import Web
    from bot.app.setup import SettingsFile
    from bot.app.setup.terminal import TerminalSetup
    from bot.app.setup.trial import Trial


class Part(StrEnum):
    """What is asked for."""

    MODEL = "model"
    TELEGRAM = "telegram"
    DISCORD = "discord"


@dataclass(frozen=True)
class Answers:
    """What flags say; empty: nothing. ``keeps_untried``: also what nobody could be asked about."""

    provider: str = ""
    model: str = ""
    base_url: str | None = None
    key: str = ""
    tokens: tuple[tuple[str, str], ...] = ()
    """Platform and token."""
    admins: tuple[str, ...] = ()
    keeps_untried: bool = False

    @property
    def has_model(self) -> bool:
        """Whether they say anything of the model."""
        return bool(self.provider or self.model or self.key or self.base_url is not None)

    @property
    def answered(self) -> frozenset[Part]:
        """The parts that they answer."""
        return frozenset({*([Part.MODEL] if self.has_model else ()), *(Part(name) for name, _ in self.tokens)})


@dataclass(frozen=True)
class Way:
    """How somebody is asked. ``part``: the only one; ``browser``: there, None where that may be asked; ``can_ask``: at
    a terminal; ``starts``: the program, when all is answered."""

    part: Part | None
    browser: bool | None
    port: int
    can_ask: bool
    starts: bool


def setup(
    part: Annotated[
        Part | None, typer.Argument(help="The one thing to change. Default: all, one after the other.")
    ] = None,
    *,
    provider: Annotated[str, typer.Option(help="Who answers: anthropic, openai, ollama, …, or none.")] = "",
    model: Annotated[str, typer.Option(help="Its model, or provider/model. Default: the provider's usual one.")] = "",
    base_url: Annotated[str | None, typer.Option(help="Its address, for servers of your own.")] = None,
    key_env: Annotated[str, typer.Option(metavar="NAME", help="The variable that holds the key.")] = "",
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    telegram_token_env: Annotated[str, typer.Option(metavar="NAME", help="The variable that holds the token.")] = "",
    telegram_token_stdin: Annotated[
        bool, typer.Option("--telegram-token-stdin", help="Read the token from standard input, behind the key.")
    ] = False,
    discord_token_env: Annotated[str, typer.Option(metavar="NAME", help="The variable that holds the token.")] = "",
    discord_token_stdin: Annotated[
        bool, typer.Option("--discord-token-stdin", help="Read the token from standard input, last.")
    ] = False,
    admin: Annotated[
        list[str] | None, typer.Option(metavar="CONNECTOR:ID", help="Who runs it there, e.g. telegram:12345.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: skip what no flag answers, keep what cannot be tried.")
    ] = False,
    start: Annotated[
        bool | None, typer.Option("--start/--no-start", help="Start it then. Default: unless --yes.")
    ] = None,
    browser: Annotated[
        bool | None, typer.Option("--browser/--no-browser", help="Ask on a page in the browser, or here.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of that page. Default: any that is free.")] = 0,
    here: Annotated[bool, typer.Option("--here", help="Keep it in .env of the current folder.")] = False,
) -> None:
    """Set it up: the model, the platforms, who runs it. Call it again to change something."""
    with one_line_errors():
        lines = _from_input(key_stdin, telegram_token_stdin, discord_token_stdin)
        telegram = lines[1] or _from_variable(telegram_token_env, "--telegram-token-env")
        discord = lines[2] or _from_variable(discord_token_env, "--discord-token-env")
        answers = Answers(
            provider.strip().lower(),
            model.strip(),
            base_url,
            lines[0] or _from_variable(key_env, "--key-env"),
            tuple((name, token) for name, token in (("telegram", telegram), ("discord", discord)) if token),
            tuple(admin or ()),
            yes,
        )
        can_ask = not yes and is_terminal()
        if not (can_ask or yes or answers.answered or answers.admins or browser):
            raise WronglyCalled("Standard input is no terminal: answer by flags (`palimpsest setup --help`), or --yes.")
        is_asked = can_ask or bool(browser)
        starts = start if start is not None else is_asked and part is None
        way = Way(part, browser, port, can_ask=can_ask, starts=starts)
        begins = run_to_its_end(tidily(_set_up(answers, way, here=here)))
    if starts:
        begin(begins)


def begin(what: str) -> None:
    """`chat`, or `run`, as if it had been called; nothing where it is empty."""
    from bot.app.cli import main
    from bot.app.cli.chat import chat

    if what:
        (chat if what == "chat" else main.run)()


def first() -> None:
    """`palimpsest` alone: talk, where it is set up; else set it up."""
    from bot.app.setup import is_set_up
    from bot.runtime.env_file import read_env_file

    with one_line_errors():
        read_env_file()
        is_there = is_set_up()
    if is_there:
        begin("chat")
    else:
        setup()


async def _set_up(answers: Answers, way: Way, *, here: bool) -> str:
    """What is to begin then; empty where it runs already."""
    import time

    import aiohttp

    from bot.app.cli.process import log_quietly
    from bot.app.doctor.web import Web
    from bot.app.setup import chosen_file, places
    from bot.runtime.env_file import read_env_file

    file = chosen_file(here=here)
    read_env_file(file.path)  # what cannot be read is not written to
    with suppress(ConfigurationError):  # what is wrong is told by the steps, and perhaps mended by them
        log_quietly(file.settings())
    async with aiohttp.ClientSession() as session:
        web = Web(session, time.time)
        await _take(answers, file, web)
        if way.can_ask or way.browser:
            return await _asked(answers.answered, file, web, way)
    if not file.exists:
        file.keep({})
    for line in places(file):
        print(line)
    return _what_begins(file)


async def _take(answers: Answers, file: SettingsFile, web: Web) -> None:
    """What flags answer. Raises ConfigurationError for what does not work; then nothing of that step is kept."""
    from bot.app.setup.model_step import LOCAL, NONE, ModelAnswer, ModelStep
    from bot.app.setup.platform_step import PLATFORMS, PlatformStep
    from bot.runtime.providers import providers

    if answers.has_model:
        step = ModelStep(file, web)
        first_, slash, rest = answers.model.partition("/")
        is_named = not answers.provider and slash and first_ in providers()
        present = step.present()
        name = first_ if is_named else answers.provider or (present.provider if present else "")
        if not name:
            raise WronglyCalled("--provider says whose model, or --model names it as provider/model.")
        answer = ModelAnswer(
            LOCAL if name == NONE else name, rest if is_named else answers.model, answers.key, answers.base_url
        )
        if name == NONE and step.megabytes_to_fetch:
            sys.stderr.write("Fetching the local model …\n")
            _judge(await step.fetch(sys.stderr if sys.stderr.isatty() else None), answers)
        else:
            _judge(await step.attempt(answer), answers)
        _tell(step.keep(answer))
    for name, token in answers.tokens:
        platform = PlatformStep(PLATFORMS[name], file, web)
        _judge(await platform.attempt(token), answers)
        _tell(platform.keep(token))
    for person in answers.admins:
        _tell(PlatformStep(PLATFORMS["telegram"], file, web).name_admin(person))


def _judge(trial: Trial, answers: Answers) -> None:
    """Say what came of trying. Raises ConfigurationError where it is not to be kept."""
    from bot.app.doctor import report
    from bot.runtime.checks import as_line

    problems = " ".join(as_line(one) for one in trial.findings if one.state == "problem")
    if trial.state == "wrong":
        raise ConfigurationError(report.plain(problems))
    if trial.state == "untried" and not answers.keeps_untried:
        raise ConfigurationError(f"{report.plain(problems)} It could not be tried, so it is not kept: --yes keeps it.")
    print(report.as_text(trial.findings))


def _tell(changes: object) -> None:
    from bot.app.setup.standing import shown

    for line in shown(changes):  # type: ignore[arg-type]
        print(f"  {line}")


async def _asked(answered: frozenset[Part], file: SettingsFile, web: Web, way: Way) -> str:
    from bot.app.setup.terminal import Left, Questions, TerminalSetup

    if not way.can_ask:
        return await _in_browser(file, web, way)
    questions = Questions()
    terminal = TerminalSetup(file, web, questions)
    try:
        terminal.begin()
        if way.browser or (way.browser is None and not way.part and has_display() and await terminal.prefers_browser()):
            return await _in_browser(file, web, way)
        await _all_asked(terminal, [way.part] if way.part else [one for one in Part if one not in answered], way)
        if not file.exists:
            file.keep({})
        begins = "" if terminal.is_running else _what_begins(file)
        if begins == "run":
            await terminal.address()
    except Left:
        questions.say(_so_far(file))
        raise typer.Exit(130) from None
    terminal.end(begins, starts=way.starts)
    return "" if terminal.lacks_model else begins


async def _all_asked(terminal: TerminalSetup, parts: Sequence[Part], way: Way) -> None:
    from bot.app.setup.platform_step import PLATFORMS

    for part in parts:
        if part is Part.MODEL:
            await terminal.model()
        else:
            await terminal.platform(PLATFORMS[part.value], wanted=way.part is not None)


async def _in_browser(file: SettingsFile, web: Web, way: Way) -> str:
    """There it has a page to talk on, so it is `run` that begins."""
    import webbrowser

    from bot.app.setup import places
    from bot.app.setup.browser import BrowserSetup

    def opened(address: str) -> None:
        print(f"Go on in a browser of this machine, at\n  {address}\nCtrl-C ends it.", flush=True)
        if has_display():
            webbrowser.open(address)

    try:
        await BrowserSetup(file, web, port=way.port, starts=way.starts).run(opened)
    except asyncio.CancelledError:
        with suppress(OSError):  # the terminal may be gone
            print(f"\n{_so_far(file)}", flush=True)
        raise
    print("\n".join(places(file)), flush=True)
    return "run"


def _so_far(file: SettingsFile) -> str:
    if file.is_changed:
        return f"What was answered by now is kept in {file.path}. `palimpsest setup` goes on from there."
    return f"Nothing was {'changed' if file.exists else 'kept'}. `palimpsest setup` begins again."


def has_display() -> bool:
    """Whether whoever sits at this terminal has a browser beside it."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _what_begins(file: SettingsFile) -> str:
    """Raises ConfigurationError where something is wrong that no step asked for."""
    settings = file.settings(whole=True)
    return "run" if settings.telegram_token or settings.discord_token else "chat"


def is_terminal() -> bool:
    """Whether somebody sits there who can be asked."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def _from_variable(name: str, flag: str) -> str:
    if not name:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise WronglyCalled(f"{flag} names {name}, which the environment does not set.")
    return value


def _from_input(*wanted: bool) -> Sequence[str]:
    """A line for each that is wanted, in this order; empty for the others."""
    found = []
    for is_wanted in wanted:
        line = sys.stdin.readline().strip() if is_wanted else ""
        if is_wanted and not line:
            raise WronglyCalled("Standard input has to have a line for each …-stdin: the key, Telegram's, Discord's.")
        found.append(line)
    return found
