"""The steps as questions in a terminal."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console

from bot.app.doctor import report
from bot.app.doctor.provider import NoSuchModel, WindowNotKnown
from bot.app.doctor.web import Web
from bot.app.embedded.brain import MEGABYTES
from bot.app.setup.address_step import AddressStep
from bot.app.setup.env_lines import Changes
from bot.app.setup.model_step import LOCAL, ModelAnswer, ModelStep, Offer, meant_address
from bot.app.setup.platform_step import Platform, PlatformStep, TokenTrial, asked_for
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.standing import is_set_up, masked, places, serving, shown, standing
from bot.app.setup.trial import AnyTrial
from bot.errors import PalimpsestError
from bot.messages import Inbound
from bot.model.base import DEFAULT_WINDOW
from bot.runtime.checks import Finding, problem
from bot.runtime.providers import CUSTOM, Provider, choice
from bot.runtime.tasks import stop

if TYPE_CHECKING:
    from bot.app.setup.first_word import FirstWord

_MOST_NAMES = 500
_LETS_GO = "-"
"""Typed in the place of a key or a token."""
_SHOWN_NAMES = 3
_LEAST_TOKENS = 4_000
_WIDTH = 100
_LOOK_SECONDS = 1.0
_MOMENT_SECONDS = 0.1
_BEGIN_SECONDS = 5.0
_NOBODY = "Then the small model that comes along answers, and it is not here yet."
_LATER = (
    "Without a model nobody answers: `palimpsest setup model` asks again, `palimpsest brain` fetches the small one."
)
_STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


class Left(Exception):
    """Somebody pressed Ctrl-C, or their input ended."""


class _Back(Exception):
    """Another provider, after all."""


class Questions:
    """Asks in this terminal. Raises Left."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, _WIDTH)

    def say(self, text: str = "", *, style: str = "") -> None:
        """A paragraph, wrapped at words; an address that is longer than a line stays one for whoever clicks on it."""
        is_long = any(len(word) > self._console.width for word in text.split())
        self._console.print(text, style=style or None, soft_wrap=is_long)

    def tell(self, findings: Sequence[Finding]) -> None:
        """What was found, and what to do about it."""
        for finding in findings:
            mark, sentence = report.MARKS[finding.state], report.plain(finding.sentence)
            self.say(f"{mark} {sentence}", style=_STYLES[finding.state])
            if finding.advice:
                self.say(f"  → {report.plain(finding.advice)}")

    async def ask(self, question: str, default: str = "", *, hidden: bool = False, known: Sequence[str] = ()) -> str:
        """What somebody types, without spaces around it; ``default`` for Enter alone. ``known``: what Tab offers."""
        completer = WordCompleter(list(known)[:_MOST_NAMES], sentence=True, match_middle=True) if known else None
        usual = f" [{default}]" if default else ""
        session: PromptSession[str] = PromptSession(complete_while_typing=False, output=_output())
        try:
            answer = await session.prompt_async(
                FormattedText([("bold", f"{question}{usual}: ")]), is_password=hidden, completer=completer
            )
        except (KeyboardInterrupt, EOFError):
            raise Left from None
        return answer.strip() or default

    async def agrees(self, question: str, *, usual: bool) -> bool:
        """Yes or no."""
        while True:
            answer = (await self.ask(f"{question} {'[Y/n]' if usual else '[y/N]'}")).lower()
            if answer in ("", "y", "yes", "n", "no"):
                return answer.startswith("y") if answer else usual
            self.say("Answer y or n.")


def _output() -> Output:
    """It never asks the terminal where the cursor is: some give no answer."""
    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


class TerminalSetup:
    """Asks for the steps, in their order or one alone. ``is_running``: it was seen that the program runs."""

    def __init__(self, file: SettingsFile, web: Web, questions: Questions) -> None:
        self._file = file
        self._web = web
        self._questions = questions
        self.is_running = False

    def begin(self) -> None:
        """Say what this is, and what is set."""
        say = self._questions.say
        say("Palimpsest setup", style="bold")
        say(f"What you answer is kept in {self._file.path}. Enter alone skips a step, Ctrl-C leaves.")
        if lines := standing(self._file):
            say("Set by now:")
            for line in lines:
                say(f"  {line}")

    async def prefers_browser(self) -> bool:
        """Whether the same is to be asked there."""
        return await self._questions.agrees("Answer in the browser?", usual=True)

    def end(self, begins: str, *, starts: bool) -> None:
        """Say how it goes on; ``begins`` empty: it runs already."""
        say = self._questions.say
        say()
        for line in places(self._file):
            say(line)
        command = f"palimpsest {begins}"
        if begins == "chat" and (starts or is_set_up()):  # which, alone, talks
            command = "palimpsest"
        if not begins:
            say("The program runs already: start it anew, and it has these settings.")
        elif self.lacks_model:
            say("It cannot answer yet, so it is not started. `palimpsest setup model` goes on here.")
        elif starts:
            say(f"That is all: it starts now. The next time, `{command}` starts it.")
            if begins == "run":
                for line in serving(self._file):
                    say(line)
        else:
            say(f"That is all. `{command}` starts it.")

    @property
    def lacks_model(self) -> bool:
        """Whether nobody would answer yet."""
        return ModelStep(self._file, self._web).lacks_model

    # --- the model ---

    async def model(self) -> None:
        """Which model answers."""
        self._head("Which model answers?")
        step = ModelStep(self._file, self._web)
        offers = await step.offers()
        present = step.present()
        self._list(offers)
        while True:
            offer = await self._chosen(offers, f"{present.provider}/{present.name}" if present else "")
            if offer is None and (not step.lacks_model or await self._fetched(step, _NOBODY)):
                return
            if offer is None:
                self._questions.say(_LATER)
                return
            try:
                answer = await (self._model_of(step, offer) if offer.provider else self._local(step))
            except _Back:
                self._questions.say("Back to the list; nothing of this is kept.")
                offers = await step.offers()
                self._list(offers)
            else:
                self._tell_kept(step.keep(answer))
                return

    def _list(self, offers: Sequence[Offer]) -> None:
        rows = [(offer.title, _about(offer)) for offer in offers]
        width = max(len(title) for title, _ in rows)
        for number, (title, about) in enumerate(rows, 1):
            self._questions.say(f"{number:4}  {title:{width}}  {about}")

    async def _chosen(self, offers: Sequence[Offer], present: str) -> Offer | None:
        names = [offer.name for offer in offers]
        question = f"Number or name; Enter {'keeps ' + present if present else 'skips'}"
        while True:
            answer = await self._questions.ask(question, known=names)
            if not answer:
                return None
            for number, offer in enumerate(offers, 1):
                if answer == str(number) or offer.is_called(answer):
                    return offer
                if there := offer.at(answer):
                    self._questions.say(f"{there.title} at {there.typed}.")
                    return there
                if offer.is_its_key(answer):
                    self._questions.say(f"That looks like a key of {offer.title}: it is asked for now, unseen.")
                    return offer
            self._questions.say(f"Type a number from 1 to {len(offers)}, or a name such as {names[0]}.")

    async def _local(self, step: ModelStep) -> ModelAnswer:
        """Raises _Back."""
        answer = ModelAnswer(LOCAL)
        asides = ", ".join(step.changes(answer))
        if asides and not await self._questions.agrees(f"For that, {asides} become comments. Do it?", usual=True):
            raise _Back
        if step.megabytes_to_fetch and not await self._fetched(step, "It is not here yet."):
            raise _Back
        if (await self._tried(step.attempt(answer))).state == "wrong":
            raise _Back
        return answer

    async def _fetched(self, step: ModelStep, why: str) -> bool:
        """Whether the model that comes along is there in the end."""
        question = f"{why} Fetch it now ({step.megabytes_to_fetch} MB)?"
        while await self._questions.agrees(question, usual=True):
            if (await self._tried(step.fetch(sys.stdout), "Fetching it …")).state == "works":
                return True
            question = "Try again?"
        return False

    async def _model_of(self, step: ModelStep, offer: Offer) -> ModelAnswer:
        """One that works, or that somebody keeps all the same. Raises _Back."""
        assert offer.provider
        provider, name = offer.provider, step.usual_model(offer.name)
        key: str | None = ""
        base, asks_name, is_first = await self._address(step, offer, ""), bool(offer.models) or not name, True
        before: ModelAnswer | None = None
        is_refused = is_nameless = False
        if provider.get_key:
            self._questions.say(f"Its keys are made at {provider.get_key}")
        while True:
            if is_nameless:
                given = key
            else:
                given = await self._key(step, offer, key, is_refused=is_refused) if provider.needs_key or base else ""
            if base and (refused := await step.refused(ModelAnswer(offer.name, name or "-", given, base))):
                self._questions.tell(refused)
                base, key, is_refused = step.place_of(base), "", True
                continue
            is_refused = False
            asks_name, key, is_first = asks_name or (given == key and not is_first), given, False
            if asks_name:
                known = offer.models or await step.models(ModelAnswer(offer.name, name or "-", key, base))
                only = known[0] if len(known) == 1 else ""
                name = await self._name(name or next(iter(offer.models), only), known)
            answer = ModelAnswer(offer.name, name, key, base)
            trial = await self._tried(step.attempt(answer))
            if trial.state == "works":
                other = answer if asks_name else await self._perhaps_another(step, answer)
                return replace(other, limit=await self._limit(step, other))
            if trial.state == "untried" and await self._keeps_untried():
                return answer
            if answer == before and await self._questions.agrees("Back to the list?", usual=True):
                raise _Back
            before = answer
            if is_nameless := any(isinstance(one, NoSuchModel) for one in trial.findings):
                name, asks_name = next(iter(offer.models or await step.models(answer)), ""), True
            elif base:
                base = await self._address(step, offer, step.place_of(base))
            elif not provider.needs_key and not await self._questions.agrees("Try again?", usual=True):
                raise _Back

    async def _address(self, step: ModelStep, offer: Offer, typed: str) -> str | None:
        """One where something takes connections, or that is to be taken all the same; None: as it is. ``typed``: the
        one of the time before, which was tried. Raises _Back."""
        assert offer.provider
        provider = offer.provider
        if offer.models or (provider.needs_key and provider.base_url):
            return None
        is_kept = bool(typed) or not choice.why_no_address(provider, offer.address)
        usual = (typed or offer.address) if is_kept else provider.base_url
        hint = f"; Enter {'keeps' if is_kept else 'takes'} {usual}, {_LETS_GO} goes back"
        hint = hint if usual else ", e.g. http://127.0.0.1:8000/v1; Enter goes back"
        written, tried = "" if typed else offer.typed, typed
        while True:
            written = written or await self._questions.ask(f"Its address ({provider.base_setting}){hint}") or usual
            if written in ("", _LETS_GO):
                raise _Back
            meant = self._meant(provider, written)
            written = ""
            if meant and (meant == tried or not (silent := await self._silent(step, offer, meant))):
                return meant
            if meant:
                self._questions.tell(silent)
                tried, usual, hint = meant, "", "; Enter goes back"

    async def _silent(self, step: ModelStep, offer: Offer, address: str) -> Sequence[Finding]:
        """What is to be said where nothing takes connections there."""
        self._questions.say("Trying it …", style="dim")
        return await step.unreached(offer.name, address)

    def _meant(self, provider: Provider, written: str) -> str:
        """The whole address; empty for none, which is said."""
        if written.isdecimal():
            sentence = f"{written} is a number, and no address."
            advice = f"If you mean number {written} of the list: {_LETS_GO} goes back to it."
            self._questions.tell([problem("model", sentence, advice)])
            return ""
        meant = meant_address(provider, written) if choice.why_no_address(provider, written) else written
        if reason := choice.why_no_address(provider, meant):
            self._questions.tell([problem("model", f"{written} {reason}.", "")])
            return ""
        if meant != written:
            self._questions.say(f"That is {meant}")
        return meant

    async def _key(self, step: ModelStep, offer: Offer, typed: str | None, *, is_refused: bool = False) -> str | None:
        """Empty: the one that is set, or none; None: not even that. ``is_refused``: the one of the time before, which
        is not offered again. Raises _Back."""
        assert offer.provider
        there = "" if is_refused else typed or (offer.key if typed is not None else "")
        enter = _keeps(there) if there else "goes back" if is_refused or offer.provider.needs_key else "for none"
        key = await self._questions.ask(f"Key, which is not shown; Enter {enter}", hidden=True)
        if key == _LETS_GO and not offer.provider.needs_key:
            return None if offer.key else ""
        if key == _LETS_GO or (not key and not there and (is_refused or offer.provider.needs_key)):
            if there and not typed:
                self._tell_kept(step.let_go(offer.provider))
            raise _Back
        return key or typed

    async def _name(self, usual: str, known: Sequence[str]) -> str:
        """Raises _Back."""
        question = "Model; Tab lists them" if known else "Model" if usual else "Model, as its server calls it"
        name = await self._questions.ask(question if usual else f"{question}; Enter goes back", usual, known=known)
        if not name:
            raise _Back
        return name

    async def _limit(self, step: ModelStep, answer: ModelAnswer) -> int:
        """How many tokens a conversation may fill, where nobody else says it; else 0."""
        if not await step.lacks_window(answer):
            return 0
        usual = f"{DEFAULT_WINDOW:,}"
        while True:
            typed = await self._questions.ask(f"How many tokens may a conversation fill? Enter: {usual}") or usual
            digits = re.sub(r"[\s,._']", "", re.sub(r"(?i)(?<=\d)k$", "000", typed))
            if digits.isdecimal() and int(digits) >= _LEAST_TOKENS:
                return int(digits)
            self._questions.say(f"Type a number of tokens from {_LEAST_TOKENS:,}, such as 32,000 or 32k.")

    async def _perhaps_another(self, step: ModelStep, answer: ModelAnswer) -> ModelAnswer:
        """The usual one works."""
        names = await step.models(answer)
        while (name := await self._name(answer.model, names)) != answer.model:
            other = ModelAnswer(answer.provider, name, answer.key, answer.base_url)
            trial = await self._tried(step.attempt(other))
            if trial.state == "works" or (trial.state == "untried" and await self._keeps_untried()):
                return other
        return answer

    async def _keeps_untried(self) -> bool:
        return await self._questions.agrees("It could not be tried. Keep it all the same?", usual=False)

    # --- platforms ---

    async def platform(self, platform: Platform, *, wanted: bool = False) -> None:
        """Whether people reach it there, and who runs it. ``wanted``: nobody has to be asked whether."""
        step = PlatformStep(platform, self._file, self._web)
        self._head(platform.title)
        if step.token:
            question = f"{platform.setting}={masked(step.token)} is set. Change it, or who runs it there?"
            if reason := step.why_no_token:
                self._questions.tell([problem(platform.name, reason, "")])
            if not wanted and not await self._questions.agrees(question, usual=bool(reason)):
                return
        elif not wanted and not await self._questions.agrees(f"Talk to it on {platform.title}, too?", usual=False):
            return
        trial = await self._token(step)
        if trial is not None:
            await self._admin(step, trial)

    async def _token(self, step: PlatformStep) -> TokenTrial | None:
        """A token that works, or that somebody keeps all the same; None: none after all."""
        for number, line in enumerate(step.platform.how, 1):
            self._questions.say(f"{number}. {line}")
        token, is_declined = "", False
        while True:
            there = token or ("" if is_declined else step.token)
            enter = _keeps(there) if there else "skips this"
            given = await self._questions.ask(f"Token, which is not shown; Enter {enter}", hidden=True)
            if given == _LETS_GO:
                if step.token and not token:
                    self._tell_kept(step.leave())
                return None
            token = given or token
            if not token and not there:
                return None
            trial = await self._tried(step.attempt(token))
            if trial.state == "works" or (trial.state == "untried" and await self._keeps_untried()):
                if token:
                    self._tell_kept(step.keep(token))
                return trial
            if trial.bot and await self._questions.agrees("The token is right. Go on all the same?", usual=False):
                self._tell_kept(step.keep(token or step.token))
                return trial
            is_declined = trial.state == "untried"
            if is_declined or not trial.bot:
                token = ""  # nobody wants to keep it, and Enter is the way out

    async def _admin(self, step: PlatformStep, trial: TokenTrial) -> None:
        """Whoever sends the code first."""
        if trial.state == "untried":
            self._questions.say("Trying it once more …", style="dim")
        if reason := await step.cannot_listen():
            self.is_running = self.is_running or step.is_running
            self._questions.say(reason)
            return
        admins = ", ".join(step.admins)
        if admins and not await self._questions.agrees(f"{admins} may let others in. Add somebody?", usual=False):
            return
        from bot.gateway.admission import new_code

        code = new_code()
        while True:
            try:
                heard = await self._heard(step.listen(code), asked_for(step.platform, trial, code))
            except PalimpsestError as error:
                self._questions.tell([problem(step.platform.name, str(error), "")])
                if await self._questions.agrees("Try again?", usual=True):
                    continue
                return
            if heard:
                name = report.plain(heard.person_name)
                self._questions.say(f"✓ {name} ({step.platform.name}:{heard.person}) is an admin now.", style="green")
            else:
                self._questions.say(
                    "Whoever writes to the bot gets a code; `palimpsest pair approve CODE` lets them in."
                )
            return

    async def _heard(self, listening: FirstWord, asked: Sequence[str]) -> Inbound | None:
        """Who sent it; None where somebody pressed Enter first. Raises a PalimpsestError."""
        hearing = asyncio.create_task(listening.run())
        try:
            await self._begun(listening, hearing)
            return await hearing if hearing.done() else await self._heard_or_left(listening, hearing, asked)
        finally:
            await stop(hearing)

    async def _begun(self, listening: FirstWord, hearing: asyncio.Task[Inbound]) -> None:
        """It listens, or met a trouble; that this takes longer than usual is said. Where the platform brings what was
        said before, it is not waited for much longer than that."""
        passed, is_told = 0.0, False
        while not (hearing.done() or listening.has_begun or (listening.is_brought_again and passed > _BEGIN_SECONDS)):
            await asyncio.wait({hearing}, timeout=_MOMENT_SECONDS)
            passed += _MOMENT_SECONDS
            if passed > _LOOK_SECONDS and not is_told:
                self._questions.say("Connecting …", style="dim")
                is_told = True

    async def _heard_or_left(
        self, listening: FirstWord, hearing: asyncio.Task[Inbound], asked: Sequence[str]
    ) -> Inbound | None:
        for line in asked:
            self._questions.say(line)
        with patch_stdout(raw=True):
            leaving = asyncio.create_task(self._questions.ask("Waiting for it; Enter goes on without"))
            telling = asyncio.create_task(self._tell_troubles(listening))
            try:
                await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if hearing.done():
                    return await hearing
                await leaving
                return None
            finally:
                await stop(leaving, telling)

    async def _tell_troubles(self, listening: FirstWord) -> None:
        told = ""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if listening.trouble not in ("", told):
                told = listening.trouble
                self._questions.say(f"! {report.plain(told)}")

    # --- the end ---

    async def address(self) -> None:
        """Where its page is, if somebody has that place."""
        step = AddressStep(self._file, self._web)
        other = await step.instead()
        if step.finding.state != "ok":
            self._questions.tell([step.finding])
            if other and await self._questions.agrees(f"Have its page at http://{other} instead?", usual=True):
                self._tell_kept(step.keep(other))

    def _head(self, title: str) -> None:
        self._questions.say()
        self._questions.say(title, style="bold")

    async def _tried(self, attempt: Awaitable[AnyTrial], doing: str = "Trying it …") -> AnyTrial:
        self._questions.say(doing, style="dim")
        trial = await attempt
        self._questions.tell(
            [replace(one, advice="") if isinstance(one, WindowNotKnown) else one for one in trial.findings]
        )  # which is asked next
        return trial

    def _tell_kept(self, changes: Changes) -> None:
        for line in shown(changes):
            self._questions.say(f"  {line}", style="dim")


def _keeps(secret: str) -> str:
    """So short a one is not shown in part either."""
    kept = "keeps it" if masked(secret) == masked("") else f"keeps {masked(secret)}"
    return f"{kept}, {_LETS_GO} lets it go"


def _about(offer: Offer) -> str:
    if offer.provider is None:
        return f"a tiny local model ({MEGABYTES} MB): a toy, to see that everything works"
    if offer.models:
        others = len(offer.models) - _SHOWN_NAMES
        more = f" and {others} more" if others > 0 else ""
        return f"runs on this machine: {', '.join(offer.models[:_SHOWN_NAMES])}{more}"
    begins = ""
    if offer.name == CUSTOM:
        begins = "any server of the OpenAI API (Chat Completions) at an address of yours"
    if offer.key:
        its = "the key is set" if masked(offer.key) == masked("") else f"the key is set: {masked(offer.key)}"
        return f"{begins}; {its}" if begins else its
    if begins:
        return begins
    if "://" in offer.provider.get_key:
        return f"a key from {offer.provider.get_key}"
    return "at an address of yours" if not offer.provider.port else f"is not seen at port {offer.provider.port}"
