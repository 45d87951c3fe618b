"""Telegram: the connector on aiogram, over HTTP against a strict Bot API server; by long polling or by webhook."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.app.platforms import platforms
from bot.app.resources import Resources
from bot.connector import Connector
from bot.runtime.settings import Settings
from tests.dialogs.pattern import reads
from tests.dialogs.stage import Place, Post, Where, Who
from tests.ports import free_port
from tests.servers.telegram.chats import USERNAME
from tests.servers.telegram.server import BotApiServer, Chat, Person, SentMessage

_TYPING_SECONDS = 5.0


class TelegramStage:
    """Private chats, a group, and a forum with two topics."""

    connector = "telegram"
    lease = "telegram"
    chat: str | None = None

    def __init__(self, *, webhook: bool) -> None:
        self.name = "telegram webhook" if webhook else "telegram"
        self._webhook = webhook
        self._server = BotApiServer()
        self._server.privacy_mode = False  # it is told everything, and has to leave alone what is not for it
        self._topics: dict[Place, int] = {}

    async def open(self, folder: Path) -> Mapping[str, Any]:
        """See :class:`tests.dialogs.stage.Stage`, as for all below."""
        await self._server.__aenter__()
        self._group = self._server.group(-100_200, "The group")
        self._forum = self._server.group(-100_300, "The forum", forum=True)
        settings: dict[str, Any] = {"telegram_token": self._server.token, "telegram_api_base": self._server.url}
        if self._webhook:
            bind = f"127.0.0.1:{free_port()}"
            settings |= {
                "http_bind": bind,
                "telegram_webhook_url": f"http://{bind}/telegram",
                "telegram_webhook_secret": "of-the-webhook",
            }
        return settings

    def connectors(self, settings: Settings) -> Sequence[Connector]:
        """As the program makes them."""
        return platforms(settings)

    async def admit(self, resources: Resources) -> None:
        await self.until(lambda: bool(self._server.webhook.webhook) if self._webhook else self._server.polls > 0)
        for place, name in ((Place.TEA, "Tea"), (Place.COFFEE, "Coffee")):
            self._topics[place] = self._server.topic(self._forum, name)

    async def close(self) -> None:
        await self._server.__aexit__()

    async def says(self, who: Who, text: str, where: Where, *, addressed: bool, answers: str) -> None:
        self._person(who).says(
            f"@{USERNAME} {text}" if addressed else text,
            chat=self._chat(where),
            thread=self._thread(where),
            reply_to=self._found(where, lambda m: reads(m.text, answers) is not None) if answers else None,
        )

    async def orders(self, who: Who, text: str, where: Where) -> None:
        await self.says(who, text, where, addressed=False, answers="")

    async def sends(self, who: Who, text: str, where: Where, files: Mapping[str, bytes], *, as_photo: bool) -> None:
        person, caption = self._person(who), text or None
        if as_photo:
            person.sends_album(list(files.values()), caption=caption, chat=self._chat(where))
            return
        for name, content in files.items():
            person.sends_file(name, content, caption=caption, chat=self._chat(where), thread=self._thread(where))
            caption = None

    async def edits(self, who: Who, text: str, new: str, where: Where) -> None:
        self._person(who).edits(self._said(who, text, where), new, chat=self._chat(where))

    async def presses(self, who: Who, label: str, where: Where, *, earliest: bool) -> None:
        under = self._found(where, lambda message: label in _labels(message), earliest=earliest)
        self._person(who).presses(under, label, chat=self._chat(where))

    async def stops(self, who: Who, where: Where) -> None:
        await self._person(who).stops()

    def posts(self, where: Where) -> Sequence[Post]:
        return [
            Post(
                key=str(message.message_id),
                text=message.text,
                buttons=_labels(message),
                files={message.file.name: message.file.content} if message.file else {},
                answers=self._answered(where, message),
                pinged=tuple(str(e["type"]) for e in message.entities if e["type"] == "text_mention"),
            )
            for message in self._messages(where)
        ]

    def growing(self, where: Where) -> str:
        if isinstance(where, Who):  # in a private chat it is a draft
            return next((draft.text for draft in self._server.drafts(where.number)), "")
        return next((message.text for message in reversed(self._messages(where))), "")

    def typed(self, where: Where, since: float) -> bool:
        place = {"chat_id": self._id(where), "message_thread_id": self._thread(where), "action": "typing"}
        calls = self._server.calls_of("sendChatAction")
        return any(c.at >= since and all(c.params.get(name) == place[name] for name in place) for c in calls)

    def is_typing(self, where: Where) -> bool:
        shown = [at for message in self._messages(where) for at in (message.at, *message.edited_at)]
        last = max([*shown, time.monotonic() - _TYPING_SECONDS])
        return self.typed(where, last)

    def marks(self, who: Who, text: str, where: Where) -> Sequence[str]:
        return self._server.reactions(self._id(where), self._said(who, text, where))

    def complaints(self) -> Sequence[str]:
        refused = [f"{call.method}: {call.status}" for call in self._server.calls if call.status >= 400]
        webhook = [f"the webhook answered {status}" for status in self._server.webhook.statuses if status != 200]
        presses = [f"{press} was never answered" for press in self._server.chats.open_presses]
        return [*refused, *webhook, *presses]

    async def until(self, condition: Callable[[], bool]) -> None:
        await self._server.wait_for(lambda _: condition(), timeout=3600)

    def _person(self, who: Who) -> Person:
        return self._server.person(who.number, who.name)

    def _chat(self, where: Where) -> Chat | None:
        if isinstance(where, Who):
            self._person(where)
            return None
        return self._group if where is Place.GROUP else self._forum

    def _id(self, where: Where) -> int:
        chat = self._chat(where)
        if chat:
            return chat.id
        assert isinstance(where, Who)
        return where.number

    def _thread(self, where: Where) -> int | None:
        return self._topics.get(where) if isinstance(where, Place) else None

    def _messages(self, where: Where) -> list[SentMessage]:
        thread = self._thread(where)
        return [m for m in self._server.messages(self._id(where)) if thread is None or m.thread_id == thread]

    def _found(self, where: Where, fits: Callable[[SentMessage], bool], *, earliest: bool = False) -> int:
        found = [message.message_id for message in self._messages(where) if fits(message)]
        if not found:
            raise LookupError("there is no such message of the bot")
        return found[0 if earliest else -1]

    def _said(self, who: Who, text: str, where: Where) -> int:
        for message in reversed(self._server.received(self._id(where))):
            if message["from"]["id"] == who.number and text in (message.get("text"), message.get("caption")):
                return int(message["message_id"])
        raise LookupError(f"{who.name} has not said {text!r}")

    def _answered(self, where: Where, message: SentMessage) -> str:
        for received in self._server.received(self._id(where)):
            if received["message_id"] == message.reply_to:
                return str(received.get("text") or received.get("caption") or "")
        return ""


def _labels(message: SentMessage) -> tuple[str, ...]:
    return tuple(str(button["text"]) for button in message.buttons)
