"""Which platforms people reach it on, and who runs it there: whoever first sends the bot a code that is shown here.

Nothing that is said to the bot meanwhile is lost, and none of it is answered twice. Telegram is not told that anything
arrived, so the program gets all of it when it starts; Discord brings nothing again, so the program is told how far to
read back. The message with the code alone is written down as dismissed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from bot.app.doctor.case import Case
from bot.app.doctor.discord import application_of, check_discord, invite
from bot.app.doctor.redis import is_held
from bot.app.doctor.telegram import check_telegram, username_of, waiting_updates
from bot.app.doctor.web import Unreachable, Web
from bot.app.platforms import platform
from bot.app.setup.env_lines import Changes
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.trial import Trial, trial_of
from bot.bus.leases import CONNECTOR
from bot.connector import STARTING, Connector, Receiving
from bot.errors import ConfigurationError, DeliveryError, StoreUnavailable
from bot.messages import Address, Inbound, Say
from bot.runtime.checks import problem
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop
from bot.store import agents, inbox, outages, people
from bot.store.archive import dismissed
from bot.store.book import database_of

_MOST_AT_ONCE = 100
"""Updates that Telegram hands out while none of them is confirmed."""
_AGAIN_SECONDS = 1.0
_BY_CODE = "Whoever writes to the bot gets a code; `palimpsest pair approve CODE` lets them in."
YOU_ARE_ADMIN = (
    "That is the code: you are an admin of this bot now. I answer as soon as I run; what you write until then waits."
)
BEING_SET_UP = "I am being set up just now. Try that again in a minute."


@dataclass(frozen=True)
class Platform:
    """``setting``: the variable of its token; ``how``: how one gets a bot there, and its token."""

    name: str
    title: str
    setting: str
    how: tuple[str, ...]


PLATFORMS: Mapping[str, Platform] = MappingProxyType(
    {
        "telegram": Platform(
            "telegram",
            "Telegram",
            "TELEGRAM_TOKEN",
            (
                "Open https://t.me/BotFather in Telegram, and send /newbot.",
                "Answer its two questions: a name, and a username that ends in bot.",
                "It gives you a token such as 123456789:AAH… Whoever has it is the bot, so keep it to yourself.",
            ),
        ),
        "discord": Platform(
            "discord",
            "Discord",
            "DISCORD_TOKEN",
            (
                "Open https://discord.com/developers/applications, New Application, and give it a name.",
                "Under Bot: Reset Token, and copy the token. Whoever has it is the bot, so keep it to yourself.",
                "On the same page, under Privileged Gateway Intents: switch on Message Content Intent, and save.",
            ),
        ),
    }
)


@dataclass(frozen=True)
class TokenTrial(Trial):
    """``bot``: what it is called there; ``invite``: where one adds it to a server of Discord."""

    bot: str = ""
    invite: str = ""


class PlatformStep:
    """One platform. Reads and writes ``file``; asks over ``web``."""

    def __init__(self, platform: Platform, file: SettingsFile, web: Web) -> None:
        self.platform = platform
        self._file = file
        self._web = web
        self.is_running = False
        """Whether a program was seen that has this bot."""

    @property
    def token(self) -> str:
        """The one that is set; empty for none."""
        return self._file.given().get(self.platform.setting, "")

    @property
    def admins(self) -> Sequence[str]:
        """The people who run it there, as ``connector:id``."""
        listed = (one.strip() for one in self._file.given().get("ADMINS", "").split(","))
        return [one for one in listed if one.lower().startswith(f"{self.platform.name}:")]

    async def attempt(self, token: str = "") -> TokenTrial:
        """Whether a token works, the one that is set unless another is given, by the doctor's check."""
        changes = {self.platform.setting: token} if token else {}
        try:
            settings = self._file.settings(changes)
        except ConfigurationError as error:
            return TokenTrial("wrong", [problem(self.platform.name, str(error), "")])
        case = Case(settings, self._web)
        is_telegram = self.platform.name == "telegram"
        tried = trial_of(await (check_telegram if is_telegram else check_discord)(case), settings)
        if won := self._file.overruled(changes):
            sentence = f"{won[0]} in the environment wins over {self._file.path}: unset it, and try again."
            return TokenTrial("wrong", [problem(self.platform.name, sentence, "")])
        with suppress(Unreachable):
            if is_telegram:
                return TokenTrial(tried.state, tried.findings, bot=await username_of(case))
            number, name = await application_of(case)
            return TokenTrial(tried.state, tried.findings, bot=name, invite=invite(number) if number else "")
        return TokenTrial(tried.state, tried.findings)

    def keep(self, token: str) -> Changes:
        """Write it down; returns what that changed."""
        changes = {self.platform.setting: token}
        self._file.keep(changes, heading=self.platform.title)
        return changes

    def leave(self) -> None:
        """It is not reached there any more; its token stays in the file, as a comment."""
        self._file.keep({self.platform.setting: None})

    def name_admin(self, person: str) -> Changes:
        """Write down that this person, as ``connector:id``, runs it. Raises ConfigurationError."""
        listed = [one.strip() for one in self._file.given().get("ADMINS", "").split(",") if one.strip()]
        changes = {"ADMINS": ",".join(dict.fromkeys([*listed, person]))}
        self._file.settings(changes)
        self._file.keep(changes, heading="Who runs it")
        return changes

    async def cannot_listen(self) -> str:
        """Why nobody can become an admin by a code just now, with what to do; empty where they can."""
        settings = self._file.settings()
        if self._file.overruled({"ADMINS": ""}):
            return "ADMINS in the environment wins over the file: name who runs it there."
        self.is_running = bool(await is_held(settings, CONNECTOR.of(self.platform.name)))
        if self.is_running:
            return f"A running program hears what is said to this bot. Start it anew for these settings. {_BY_CODE}"
        if self.platform.name == "discord":
            return ""
        if settings.telegram_webhook_url:
            return f"Telegram calls TELEGRAM_WEBHOOK_URL, where the program will hear it. {_BY_CODE}"
        with suppress(Unreachable):
            if (waiting := await waiting_updates(Case(settings, self._web))) >= _MOST_AT_ONCE:
                return f"{waiting} messages wait for this bot already, which the program is to answer first. {_BY_CODE}"
        return ""

    def listen(self, code: str) -> FirstWord:
        """Wait for this code."""
        return FirstWord(self, self._file.settings(), code)


def asked_for(platform: Platform, trial: TokenTrial, code: str) -> tuple[str, ...]:
    """What somebody is asked to do, so that they become an admin."""
    first = "Whoever does so first runs the bot: they may talk to it, and let others in."
    if platform.name == "telegram":
        link = f"Now open https://t.me/{trial.bot}?start={code} and press START, or send @{trial.bot} this: {code}"
        return (link if trial.bot else f"Now send your bot this: {code}", first)
    add = (f"Add it to a server of yours: {trial.invite}",) if trial.invite else ()
    return (*add, f"Then click its name in that server, and send it this as a direct message: {code}", first)


class FirstWord:
    """Listens to a bot until somebody sends it the code in private, and writes down who that was."""

    def __init__(self, step: PlatformStep, settings: Settings, code: str) -> None:
        self._step = step
        self._settings = settings
        self._code = code
        self._connector: Connector = platform(settings, step.platform.name)
        self._found: asyncio.Future[Inbound] = asyncio.get_running_loop().create_future()
        self._answered: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()

    @property
    def has_begun(self) -> bool:
        """Whether it listens, or met a trouble: Discord brings nobody what was said before."""
        return self._problem != STARTING

    @property
    def trouble(self) -> str:
        """Why nothing is heard just now; empty while all is well, and at the beginning."""
        return self._problem if self.has_begun else ""

    @property
    def _problem(self) -> str:
        return self._connector.problem if isinstance(self._connector, Receiving) else ""

    async def run(self) -> Inbound:
        """Who it was: they are an admin now. Raises a PalimpsestError where waiting does not help."""
        intake = _Listening(self._hear, is_brought_again=self._step.platform.name == "telegram")
        receiving = asyncio.create_task(self._connector.run(intake))
        try:
            await asyncio.wait((receiving, self._found), return_when=asyncio.FIRST_COMPLETED)
            if not self._found.done():
                await receiving
                raise ConfigurationError(f"{self._step.platform.title} ended the connection: try again.")
            await stop(receiving)
            return await self._welcomed(self._found.result())
        finally:
            await stop(receiving)
            await stop(*self._answering)
            await self._connector.close()

    def _hear(self, inbound: Inbound) -> None:
        words = inbound.text.removeprefix("/start").strip()
        if not inbound.speaker and inbound.kind == "message" and people.as_given(words) == self._code:
            if not self._found.done():
                self._found.set_result(inbound)
        elif inbound.is_awaited and inbound.key not in self._answered:  # a command of Discord's, which comes once
            self._answered.add(inbound.key)
            said = Say(inbound.address, BEING_SET_UP, token=inbound.key, notice=True, answers=inbound.ref)
            self._answering.add(asyncio.create_task(self._say(said)))

    async def _welcomed(self, inbound: Inbound) -> Inbound:
        address = inbound.address
        database = database_of(self._settings)
        try:
            await database.open()
            async with database.write() as tx:
                now = database.clock()
                await dismissed.add(tx, address.connector, [inbound.key])
                await outages.remember_admin(tx, address, inbound.person)
                if address.connector == "discord":
                    await agents.ensure(tx, address, now=now)  # so that this chat is read back
                    if await inbox.cursor(tx, CONNECTOR.of(address.connector)) is None:
                        await inbox.set_cursor(tx, CONNECTOR.of(address.connector), str(inbound.order))
        finally:
            await database.close()
        self._step.name_admin(f"{address.connector}:{inbound.person}")
        await self._say(Say(address, YOU_ARE_ADMIN, token=f"{inbound.key}:admin", notice=True, answers=inbound.ref))
        return inbound

    async def _say(self, say: Say) -> None:
        with suppress(DeliveryError):  # a courtesy
            await self._connector.deliver(say)


class _Listening:
    """An intake that keeps nothing: implements :class:`bot.connector.Intake`. ``is_brought_again``: the platform brings
    everything again until it is told that we have it, which it is not."""

    def __init__(self, hear: Callable[[Inbound], None], *, is_brought_again: bool) -> None:
        self._hear = hear
        self._is_brought_again = is_brought_again

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:  # noqa: ARG002
        for inbound in inbounds:
            self._hear(inbound)
        if self._is_brought_again:
            raise StoreUnavailable("nothing is kept while the program is set up", may_pass=True)
        return len(inbounds)

    async def until_back(self, most: float) -> None:  # noqa: ARG002
        await asyncio.sleep(_AGAIN_SECONDS)

    async def cursor(self) -> str | None:
        return None

    async def chats(self, limit: int) -> list[Address]:  # noqa: ARG002
        return []

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    async def reachable(self, chat: str, *, yes: bool) -> None: ...

    async def moved(self, chat: str, moved_to: str) -> None: ...

    async def settled(self, address: Address) -> None: ...
