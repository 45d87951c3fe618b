"""Which platforms people reach it on, and who runs it there: whoever first sends the bot a code that is shown here.

What it takes to ask a platform, or to listen there, is loaded when somebody wants to be reached there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from bot.app.doctor.case import Case
from bot.app.doctor.web import Unreachable, Web
from bot.app.setup.env_lines import TAKEN_OUT, Changes
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.trial import Trial, trial_of
from bot.errors import ConfigurationError
from bot.runtime.checks import problem

if TYPE_CHECKING:
    from bot.app.setup.first_word import FirstWord

_MOST_AT_ONCE = 100
"""Updates that Telegram hands out while none of them is confirmed."""
_BY_CODE = "Whoever writes to the bot gets a code; `palimpsest pair approve CODE` lets them in."


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
    def why_no_token(self) -> str:
        """A sentence, where the one that is set cannot be one; else empty."""
        try:
            self._file.settings({self.platform.setting: self.token} if self.token else {})
        except ConfigurationError as error:
            return str(error) if str(error).startswith(self.platform.setting) else ""
        return ""

    @property
    def admins(self) -> Sequence[str]:
        """The people who run it there, as ``connector:id``."""
        listed = (one.strip() for one in self._file.given().get("ADMINS", "").split(","))
        return [one for one in listed if one.lower().startswith(f"{self.platform.name}:")]

    async def attempt(self, token: str = "") -> TokenTrial:
        """Whether a token works, the one that is set unless another is given, by the doctor's check."""
        from bot.app.doctor.discord import check_discord
        from bot.app.doctor.telegram import check_telegram

        changes = {self.platform.setting: token} if token else {}
        try:
            settings = self._file.settings(changes)
        except ConfigurationError as error:
            return TokenTrial("wrong", [problem(self.platform.name, str(error), "")])
        case = Case(settings, self._web)
        is_telegram = self.platform.name == "telegram"
        check = check_telegram(case, listens=True) if is_telegram else check_discord(case)
        found, (bot, link) = await asyncio.gather(check, self._bot(case))  # whoever does not answer is waited for once
        tried = trial_of(found, settings)
        if won := self._file.overruled(changes):
            sentence = f"{won[0]} in the environment wins over {self._file.path}: unset it, and try again."
            return TokenTrial("wrong", [problem(self.platform.name, sentence, "")])
        return TokenTrial(tried.state, tried.findings, bot=bot, invite=link)

    async def _bot(self, case: Case) -> tuple[str, str]:
        """What it is called there, and where one adds it to a server of Discord; empty for what is not known."""
        from bot.app.doctor.discord import application_of, invite
        from bot.app.doctor.telegram import username_of

        with suppress(Unreachable):
            if self.platform.name == "telegram":
                return await username_of(case), ""
            number, name = await application_of(case)
            return name, invite(number) if number else ""
        return "", ""

    def keep(self, token: str) -> Changes:
        """Write it down; returns what that changed."""
        changes = {self.platform.setting: token}
        self._file.keep(changes, heading=self.platform.title)
        return changes

    def leave(self) -> Changes:
        """It is not reached there any more, and its token is gone from the file. Returns what that changed."""
        changes: Changes = {self.platform.setting: TAKEN_OUT}
        self._file.keep(changes)
        return changes

    def name_admin(self, person: str) -> Changes:
        """Write down that this person, as ``connector:id``, runs it. Raises ConfigurationError."""
        listed = [one.strip() for one in self._file.given().get("ADMINS", "").split(",") if one.strip()]
        changes = {"ADMINS": ",".join(dict.fromkeys([*listed, person]))}
        self._file.settings(changes)
        self._file.keep(changes, heading="Who runs it")
        return changes

    async def cannot_listen(self) -> str:
        """Why nobody can become an admin by a code just now, with what to do; empty where they can."""
        from bot.app.doctor.redis import is_held
        from bot.app.doctor.telegram import waiting_updates
        from bot.bus.leases import CONNECTOR

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
        from bot.app.setup.first_word import FirstWord

        return FirstWord(self, self._file.settings(), code)


def asked_for(platform: Platform, trial: TokenTrial, code: str) -> tuple[str, ...]:
    """What somebody is asked to do, so that they become an admin."""
    first = "Whoever does so first runs the bot: they may talk to it, and let others in."
    if platform.name == "telegram":
        link = f"Now open https://t.me/{trial.bot}?start={code} and press START, or send @{trial.bot} this: {code}"
        return (link if trial.bot else f"Now send your bot this: {code}", first)
    add = (f"Add it to a server of yours: {trial.invite}",) if trial.invite else ()
    return (*add, f"Then click its name in that server, and send it this as a direct message: {code}", first)
