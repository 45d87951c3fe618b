"""Which model answers: who offers models, a server on this machine among them, and whether an answer works."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import IO
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.app.doctor.provider import Asked, asked, of_account, place_instead, unreachable
from bot.app.doctor.web import Unreachable, Web
from bot.app.embedded import EmbeddedError
from bot.app.embedded.brain import fetch, find_brain, megabytes_to_fetch
from bot.app.setup.env_lines import TAKEN_OUT, Changes, TakenOut
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.standing import LIMIT
from bot.app.setup.trial import Trial, trial_of
from bot.errors import Cause, ConfigurationError
from bot.model.listed_names import names_in
from bot.model.providers.windows import look
from bot.runtime.checks import Finding, Unreached, ok, problem
from bot.runtime.providers import ANTHROPIC, CUSTOM, DEFAULT_MODEL, Choice, Provider, Wire, choice, providers
from bot.runtime.settings import Settings

HEADING = "The model"
LOCAL = choice.LOCAL
NONE = "none"
"""As :data:`LOCAL` is typed."""
LOCAL_ANSWERS = "The tiny local model answers: it reads only what was said last, and much of what it says is wrong."
_HERE = frozenset({"127.0.0.1", "::1", "localhost"})
_LOOK_SECONDS = 1.0
_OF_ANTHROPIC = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
_SAY_LATER = (ANTHROPIC, "ollama")
"""Whose windows are seen at the first question."""
_ANTHROPIC_VERSION = "2023-06-01"
_ALSO_CALLED = {CUSTOM: ("endpoint", "own", "openai-compatible", "openai compatible")}
_ADDRESS = re.compile(r"https?://\S+|[\w.-]+:\d+(?:/\S*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Offer:
    """Somebody who can be asked; ``provider`` None: the model that comes along. ``models``: what a server that runs on
    this machine has; ``key`` and ``address``: those that are set already, empty for none; ``typed``: an address that
    was typed in the place of its name."""

    provider: Provider | None
    models: tuple[str, ...] = ()
    key: str = ""
    address: str = ""
    typed: str = ""

    @property
    def name(self) -> str:
        """As it is typed."""
        return self.provider.name if self.provider else NONE

    @property
    def title(self) -> str:
        """As it is read."""
        if self.provider is None:
            return "No key"
        known = f" ({self.provider.known_for[0]})" if self.provider.known_for else ""
        return f"{self.provider.title}{known}"

    def is_called(self, typed: str) -> bool:
        """Whether somebody who types this means it: its name, its title, or what its models are called."""
        titles = (self.provider.title, *self.provider.known_for) if self.provider else (self.title,)
        names = (self.name, *_ALSO_CALLED.get(self.name, ()), *(title.lower() for title in titles))
        return typed.lower() in names

    def at(self, typed: str) -> Offer | None:
        """The same with this address, where it is one, and any server can be meant; else None."""
        if self.name != CUSTOM or self.provider is None or not _ADDRESS.fullmatch(typed):
            return None
        meant = meant_address(self.provider, typed)
        return None if choice.why_no_address(self.provider, meant) else replace(self, typed=meant)

    def is_its_key(self, typed: str) -> bool:
        """Whether this looks like a key of it and of nobody else."""
        return bool(self.provider and self.provider.key_begins and typed.startswith(self.provider.key_begins))


@dataclass(frozen=True)
class ModelAnswer:
    """``provider``: by its name in the table, :data:`LOCAL` for the model that comes along. ``model`` empty: its usual
    one. ``key`` empty and ``base_url`` None: as they are set; ``key`` None: without one. ``limit``: tokens that a
    conversation may fill; 0: as it is set."""

    provider: str
    model: str = ""
    key: str | None = ""
    base_url: str | None = None
    limit: int = 0


def meant_address(provider: Provider, written: str) -> str:
    """As it was probably meant, where it was written as browsers let one write it (``localhost:8000/v1``); else as it
    is."""
    host = "" if "://" in written else urlsplit(f"//{written}").hostname or ""
    is_near = host in _HERE or host.endswith((".local", ".lan")) or bool(re.fullmatch(r"[\d.]+", host))
    whole = f"{'http' if is_near else 'https'}://{written}"
    return whole if (is_near or "." in host) and not choice.why_no_address(provider, whole) else written


def _refuse_no_address(answer: ModelAnswer) -> None:
    """Raises ConfigurationError for what cannot be called."""
    written, provider = (answer.base_url or "").strip(), providers().get(answer.provider)
    if written and provider and (reason := choice.why_no_address(provider, written)):
        raise ConfigurationError(f"{provider.base_setting}={written} {reason}.")


class ModelStep:
    """Reads and writes ``file``; asks over ``web``."""

    def __init__(self, file: SettingsFile, web: Web) -> None:
        self._file = file
        self._web = web
        self._names: dict[tuple[str, str], str] = {}
        """What is meant by what was typed, by provider and that."""
        self._places: dict[str, str] = {}
        """Where it is spoken that was looked for at an address, as `…/v1` below that."""

    async def offers(self) -> list[Offer]:
        """Servers that are found on this machine first, then the others in the table's order, those without an address
        and those that do not run last; and then the model that comes along."""
        settings = self._now()
        known = [*providers().values()]
        lists = await asyncio.gather(*(self._found(one, settings) for one in known if one.port))
        found = dict(zip((one.name for one in known if one.port), lists, strict=True))
        given = self._file.given()
        offers = [
            Offer(one, found.get(one.name, ()), self._key(one, settings), given.get(one.base_setting, ""))
            for one in known
        ]
        places = {one.name: (not found.get(one.name), bool(one.port), not one.base_url) for one in known}
        return [*sorted(offers, key=lambda offer: places[offer.name]), Offer(None)]

    def present(self) -> Choice | None:
        """Who answers now; None where nothing says so."""
        settings = self._now()
        with suppress(ConfigurationError):
            if settings and not (found := choice.talker(settings)).is_local:
                return found
        return None

    def usual_model(self, provider: str) -> str:
        """The one that answers unless another is named; the present one, where that is of this provider."""
        present = self.present()
        if present and present.provider == provider:
            return present.name
        return DEFAULT_MODEL if provider == ANTHROPIC else providers()[provider].default_model

    async def models(self, answer: ModelAnswer) -> Sequence[str]:
        """What this provider lists; nothing where it does not."""
        with suppress(ConfigurationError, Unreachable):
            await self._take_place(answer)
            settings = self._file.settings(self.changes(answer))
            if answer.provider != ANTHROPIC:
                one = asked(choice.talker(settings), settings)
                listed = await self._web.get(f"{one.base}/models", headers=one.headers, query=one.query)
                return names_in(listed.body)
            base = settings.anthropic_base_url or providers()[ANTHROPIC].base_url
            headers = {"anthropic-version": _ANTHROPIC_VERSION, "x-api-key": revealed(settings.anthropic_api_key)}
            listed = await self._web.get(f"{base}/v1/models", headers=headers, query={"limit": "1000"})
            return names_in(listed.body)
        return ()

    def place_of(self, address: str) -> str:
        """Where its wire is spoken, as it was found at the last look; else as it is."""
        return self._places.get(address.strip(), address)

    async def unreached(self, provider: str, address: str) -> Sequence[Finding]:
        """What is to be said where nothing takes connections at this address; whoever refuses to tell us anything is
        there. No key is sent."""
        with suppress(ConfigurationError):
            settings = self._file.settings(self.changes(ModelAnswer(provider, "-", "", address)))
            one = asked(choice.talker(settings), settings)
            if one.provider.name != provider:
                return ()
            try:
                await self._web.get(f"{one.base}/models", query=one.query)
            except Unreachable as error:
                found = unreachable(one, error)
                if isinstance(found, Unreached):
                    found = replace(found, advice="Start it there, or type where it is; the same again is taken.")
                return trial_of([found], settings).findings
        return ()

    async def refused(self, answer: ModelAnswer) -> Sequence[Finding]:
        """What is to be said where the list of its models is refused for want of a right key; nothing else."""
        with suppress(ConfigurationError, Unreachable):
            found = await self._take_place(answer)
            settings = self._file.settings(self.changes(answer))
            one = asked(choice.talker(settings), settings)
            if one.provider.name != answer.provider:
                return ()
            listed = await self._web.get(f"{one.base}/models", headers=one.headers, query=one.query)
            if listed.status == HTTPStatus.UNAUTHORIZED and (wrong := of_account(one, Cause.KEY, "")):
                advice = "Type another key." if one.key else "Type its key."
                return trial_of([*found, replace(wrong, advice=advice)], settings).findings
        return ()

    async def lacks_window(self, answer: ModelAnswer) -> bool:
        """Whether nobody says how large the window of this model is: neither its server, a table nor a setting."""
        with suppress(ConfigurationError):
            settings = self._file.settings(self.changes(answer))
            one = asked(choice.talker(settings), settings)
            if one.limit or one.provider.name != answer.provider or answer.provider in _SAY_LATER:
                return False
            found = await look(one.provider, one.base, one.key or None, one.choice.name)
            return found is None or not found.known
        return False

    async def attempt(self, answer: ModelAnswer) -> Trial:
        """Whether it works, by the doctor's check, which makes no request of a model; and what it can do."""
        from bot.app.doctor.model import check_asked

        try:
            _refuse_no_address(answer)
            found = await self._take_place(answer)
            await self._take_name(answer)
            settings = self._file.settings(self.changes(answer))
            self._refuse_another(answer, settings)
            if not answer.provider:
                find_brain(settings.data_dir)
                return trial_of([ok("model", LOCAL_ANSWERS)])
            findings = await check_asked(Case(settings, self._web))
        except (ConfigurationError, EmbeddedError) as error:
            return trial_of([problem("model", str(error), "")])
        findings = [*found, *findings]
        tried = trial_of(findings, settings)
        if tried.state == "works":
            return trial_of(
                [*findings, ok("model", await self._abilities(asked(choice.talker(settings), settings)))], settings
            )
        return tried

    @property
    def lacks_model(self) -> bool:
        """Whether nobody would answer: no model is named, and the one that comes along has to be fetched first."""
        settings = self._now()
        return bool(settings and settings.uses_local_model and megabytes_to_fetch(settings))

    @property
    def megabytes_to_fetch(self) -> int:
        """What has to be fetched of the model that comes along, whoever answers now; 0: it is here."""
        return megabytes_to_fetch(self._file.settings(self.changes(ModelAnswer(LOCAL))))

    async def fetch(self, shown: IO[str] | None = None) -> Trial:
        """Fetch it. ``shown``: where the download shows how far it is."""
        try:
            found = await fetch(self._file.settings(), shown=shown)
        except EmbeddedError as error:
            return trial_of([problem("model", str(error), "")])
        return trial_of([ok("model", f"The small local model is in {found.weights}.")])

    def keep(self, answer: ModelAnswer) -> Changes:
        """Write it down; returns what that changed."""
        changes = self.changes(answer)
        self._file.keep(changes, heading=HEADING)
        return changes

    def changes(self, answer: ModelAnswer) -> Changes:
        """What it sets. Raises ConfigurationError for what cannot be."""
        if not answer.provider:
            every = {name for one in providers().values() for name in one.variables} | {*_OF_ANTHROPIC, "MODEL"}
            return dict.fromkeys(self._file.names(sorted(every)))
        provider = providers().get(answer.provider)
        if provider is None:
            raise ConfigurationError(f"{answer.provider} is no provider: {', '.join(providers())}.")
        name = self._names.get((answer.provider, answer.model)) or answer.model or self.usual_model(answer.provider)
        if not name:
            raise ConfigurationError(f"{provider.title} has no usual model: name the one that is to answer.")
        changes: dict[str, str | TakenOut | None] = {}
        if answer.key:
            changes[self._key_name(provider)] = answer.key
        elif answer.key is None:
            changes |= dict.fromkeys(self._file.names(provider.keys), TAKEN_OUT)
        if answer.base_url is not None:
            written = answer.base_url.strip()
            meant = self._places.get(written, written)
            if not meant or meant != self._file.given().get(provider.base_setting):
                changes[provider.base_setting] = meant or None
        if answer.limit:
            changes[LIMIT] = str(answer.limit)
        changes["MODEL"] = f"{provider.name}/{name}"
        if provider.name == ANTHROPIC:
            if self._file.settings({**changes, "MODEL": None}).anthropic_base_url:
                changes["MODEL"] = name  # there the whole is a name
            return changes
        if provider.base_url and not self._is_meant(changes, answer.provider):
            changes.setdefault(provider.base_setting, provider.base_url)
        return changes

    async def _take_place(self, answer: ModelAnswer) -> list[Finding]:
        """What was typed may be where the server is, and not yet where it speaks this wire."""
        written, provider = (answer.base_url or "").strip(), providers().get(answer.provider)
        self._places.pop(written, None)
        if not written or provider is None or answer.provider == ANTHROPIC:
            return []
        settings = self._file.settings(self.changes(replace(answer, model=answer.model or "-")))
        case, one = Case(settings, self._web), asked(choice.talker(settings), settings)
        with suppress(Unreachable):
            if one.provider == provider and (other := await place_instead(case, one)):
                self._places[written] = other
                return [ok("model", f"It is at {other}.")]
        return []

    def let_go(self, provider: Provider) -> Changes:
        """Its key is not used any more, and gone from the file. Returns what that changed."""
        changes: Changes = dict.fromkeys(self._file.names(provider.keys), TAKEN_OUT)
        self._file.keep(changes, heading=HEADING)
        return changes

    async def _take_name(self, answer: ModelAnswer) -> None:
        """What was typed may be `provider/model`, as it is written elsewhere, where nothing there is called so; where
        nothing was, the only one is meant."""
        self._names.pop((answer.provider, answer.model), None)
        provider, _, rest = answer.model.partition("/")
        is_doubtful = provider == answer.provider and rest
        is_missing = not answer.model and answer.provider in providers() and not self.usual_model(answer.provider)
        if not (is_doubtful or is_missing):
            return
        names = await self.models(replace(answer, model=answer.model or "-"))
        if is_doubtful and answer.model not in names:
            self._names[answer.provider, answer.model] = rest
        elif is_missing and len(names) == 1:
            self._names[answer.provider, ""] = names[0]

    def _is_meant(self, changes: Changes, provider: str) -> bool:
        """Whether these settings lead there: `MODEL=a/b` is also what another endpoint may call a model."""
        try:
            return choice.talker(self._file.settings(changes)).provider == provider
        except ConfigurationError:
            return True  # what is wrong is told when it is tried

    def _refuse_another(self, answer: ModelAnswer, settings: Settings) -> None:
        talks = choice.talker(settings)
        if talks.provider == answer.provider:
            return
        won = self._file.overruled(self.changes(answer))
        names = " and ".join(won) or "What the environment sets"
        raise ConfigurationError(f"{names} in the environment wins over {self._file.path}: unset it, and try again.")

    def _key_name(self, provider: Provider) -> str:
        """The variable that it stands in already, or the one that everybody uses."""
        return next(iter(self._file.names(provider.keys)), provider.key)

    def _key(self, provider: Provider, settings: Settings | None) -> str:
        if settings is None:
            return ""
        if provider.name == ANTHROPIC:
            return revealed(settings.anthropic_api_key)
        own = settings.providers.get(provider.name)
        return revealed(own.key) if own else ""

    def _now(self) -> Settings | None:
        """None where something in the file is wrong, which whoever starts the program is told."""
        with suppress(ConfigurationError):
            return self._file.settings()
        return None

    async def _found(self, provider: Provider, settings: Settings | None) -> tuple[str, ...]:
        """What a server on this machine has; nobody else's is looked for."""
        if settings is None:
            return ()
        base = choice.address(provider, settings)
        if urlsplit(base).hostname not in _HERE:
            return ()
        one = asked(Choice(provider.name, "", base_url=base), settings)
        with suppress(Unreachable):
            listed = await self._web.get(f"{base}/models", headers=one.headers, patience=_LOOK_SECONDS)
            return names_in(listed.body)
        return ()

    async def _abilities(self, one: Asked) -> str:
        """Beside its window, which the check names."""
        sees = await self._sees(one)
        reads = one.provider.quirks.documents or one.provider.wire is Wire.MESSAGES
        takes = ["tools", *(["pictures"] if sees else []), *(["PDF files"] if reads else [])]
        maybe = "; pictures too, if that model sees them" if sees is None else ""
        return f"It takes {' and '.join(', '.join(takes).rsplit(', ', 1))}{maybe}."

    async def _sees(self, one: Asked) -> bool | None:
        """Whether it takes pictures; None where that is up to the model, and nobody says."""
        if not one.provider.quirks.images:
            return False
        with suppress(Unreachable):
            if one.provider.name == "ollama":
                shown = await self._web.post(f"{one.base.removesuffix('/v1')}/api/show", {"model": one.choice.name})
                able = shown.get("capabilities")
                return "vision" in able if isinstance(able, list) else None
            if one.provider.name == "openrouter":
                rows = (await self._web.get(f"{one.base}/models", headers=one.headers)).get("data") or []
                row = next((row for row in rows if isinstance(row, dict) and row.get("id") == one.choice.name), {})
                takes = (row.get("architecture") or {}).get("input_modalities")
                return "image" in takes if isinstance(takes, list) else None
        return True if one.provider.needs_key and one.provider.base_url else None
