"""Calls of Discord's REST API: https://docs.discord.com/developers/reference"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import discord
from discord.http import HTTPClient, Route
from discord.webhook.async_ import AsyncWebhookAdapter

from bot.messages import Button, OutFile
from connectors.discord.limits import count_what_is_left

LONGEST_RATE_LIMIT_SECONDS = 30.0
"""What is told to wait longer is refused by discord.py (RateLimited), so that it can be waited for elsewhere."""
_PATIENCE_SECONDS = 90.0
_UPLOAD_SECONDS = 300.0
_LONGEST_LABEL = 80
_LONGEST_COMMAND = 100
_BUTTONS_IN_ROW, _MOST_BUTTONS = 5, 25
_OFFICIAL = "https://discord.com/api/v10"
_NOBODY: Mapping[str, Any] = {"parse": [], "replied_user": False}
_LOADING = 1 << 7
_ANSWER = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
_FOLLOW_UP = "/webhooks/{webhook_id}/{webhook_token}"
_ANSWERED = "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"


@dataclass(frozen=True)
class Post:
    """What one message shows."""

    content: str
    buttons: tuple[Button, ...] = ()

    def is_shown_by(self, posted: Posted) -> bool:
        """Whether a message shows this already."""
        commands = tuple(button["custom_id"] for row in self._rows() for button in row["components"])
        return (posted.content, posted.commands) == (self.content.strip(), commands)

    def body(self) -> dict[str, Any]:
        """As JSON; nobody is notified by it."""
        return {"content": self.content, "components": self._rows(), "allowed_mentions": _NOBODY}

    def _rows(self) -> list[dict[str, Any]]:
        """Built by hand: a View of discord.py's would be remembered until it times out."""
        known = {button.command: button for button in self.buttons if len(button.command) <= _LONGEST_COMMAND}
        buttons = [
            {
                "type": discord.ComponentType.button.value,
                "style": discord.ButtonStyle.secondary.value,
                "label": button.label[:_LONGEST_LABEL],
                "custom_id": button.command,
            }
            for button in known.values()
        ][:_MOST_BUTTONS]
        return [
            {"type": discord.ComponentType.action_row.value, "components": buttons[start : start + _BUTTONS_IN_ROW]}
            for start in range(0, len(buttons), _BUTTONS_IN_ROW)
        ]


@dataclass(frozen=True)
class Posted:
    """A message as Discord has it. ``loading``: it still says that we are thinking."""

    id: int
    author: int
    content: str
    commands: tuple[str, ...]
    """Of the buttons under it."""
    loading: bool
    files: Mapping[int, str]
    """The links to its files by their ids, those of a forwarded message too."""

    @classmethod
    def of(cls, data: Any) -> Posted:
        """From the API's message."""
        forwarded = (snapshot["message"] for snapshot in data.get("message_snapshots") or ())
        files = [file for message in (data, *forwarded) for file in message.get("attachments") or ()]
        return cls(
            id=int(data["id"]),
            author=int(data["author"]["id"]),
            content=data["content"],
            commands=tuple(
                button["custom_id"]
                for row in data.get("components") or ()
                for button in row.get("components") or ()
                if "custom_id" in button  # a link has none
            ),
            loading=bool(data.get("flags", 0) & _LOADING),
            files={int(file["id"]): file["url"] for file in files},
        )


class Rest:
    """Logs in at the first call. All calls raise what stands in :data:`connectors.discord.failures.FAILURES`."""

    def __init__(self, token: str, api_base: str | None) -> None:
        self._token = token
        self._api_base = api_base
        self._client: discord.Client | None = None
        self._logging_in = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._webhooks = AsyncWebhookAdapter()  # type: ignore[no-untyped-call]

    @property
    def session(self) -> aiohttp.ClientSession:
        """For what needs no token of the bot's: links to files, answers to interactions."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        return self._session

    def choose_server(self) -> None:
        """Let all clients of this process talk to it: discord.py keeps its address for all."""
        Route.BASE = self._api_base or _OFFICIAL

    async def me(self) -> int:
        """The bot's user id."""
        client = await self._logged_in()
        assert client.user
        return client.user.id

    async def create(
        self, channel: int, post: Post, *, nonce: str, replies_to: int | None, file: OutFile | None
    ) -> Posted:
        """A new message. With a nonce that Discord has seen within the last minutes: the message that it was for."""
        body = {**post.body(), "nonce": nonce, "enforce_nonce": True}
        if replies_to is not None:
            body["message_reference"] = {"message_id": str(replies_to), "fail_if_not_exists": False}
        http = await self._http()
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel)
        if file is None:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return Posted.of(await http.request(route, json=body))
        with _opened(file) as upload:
            async with asyncio.timeout(_UPLOAD_SECONDS):
                return Posted.of(await http.request(route, files=[upload], form=_multipart(body, upload)))

    async def edit(self, channel: int, message: int, post: Post) -> None:
        """Let a message of ours show this."""
        http = await self._http()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await http.request(_message_route("PATCH", channel, message), json=post.body())

    async def delete(self, channel: int, message: int) -> None:
        """Take a message of ours away."""
        http = await self._http()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await http.delete_message(channel, message)

    async def message(self, channel: int, message: int) -> Posted:
        """One message."""
        http = await self._http()
        return Posted.of(await http.request(_message_route("GET", channel, message)))

    async def newest(self, channel: int, limit: int) -> list[Posted]:
        """The last messages in a channel, oldest first."""
        found: Sequence[Any] = await (await self._http()).logs_from(channel, limit)
        return [Posted.of(data) for data in reversed(found)]

    async def channel(self, channel: int) -> Mapping[str, Any]:
        """What a channel is."""
        found: Mapping[str, Any] = await (await self._http()).get_channel(channel)
        return found

    async def typing(self, channel: int) -> None:
        """Show for 10 s that we are writing."""
        await (await self._http()).send_typing(channel)

    async def react(self, channel: int, message: int, emoji: str) -> None:
        """Put our mark on a message."""
        await (await self._http()).add_reaction(channel, message, emoji)

    async def unreact(self, channel: int, message: int, emoji: str) -> None:
        """Take it off."""
        await (await self._http()).remove_own_reaction(channel, message, emoji)

    async def answered(self, token: str) -> Posted:
        """What an interaction was answered with so far."""
        return await self._interact("GET", _ANSWER, token)

    async def answer(self, token: str, post: Post, file: OutFile | None) -> Posted:
        """Let the answer to an interaction be this."""
        return await self._interact("PATCH", _ANSWER, token, post, file)

    async def follow_up(self, token: str, post: Post, file: OutFile | None) -> Posted:
        """Another message after the answer."""
        return await self._interact("POST", _FOLLOW_UP, token, post, file)

    async def edit_answer(self, token: str, message: int, post: Post) -> None:
        """As :meth:`edit`, where only the interaction lets us."""
        await self._interact("PATCH", _ANSWERED, token, post, message_id=message)

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()
        if self._client is not None:
            await self._client.close()

    async def _logged_in(self) -> discord.Client:
        async with self._logging_in:
            if self._client is None:
                self.choose_server()
                client = discord.Client(
                    intents=discord.Intents(guilds=True),
                    max_messages=None,
                    max_ratelimit_timeout=LONGEST_RATE_LIMIT_SECONDS,
                )
                count_what_is_left(client.http)
                try:
                    await client.login(self._token)
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client

    async def _http(self) -> HTTPClient:
        return (await self._logged_in()).http

    async def _interact(
        self, verb: str, path: str, token: str, post: Post | None = None, file: OutFile | None = None, **ids: Any
    ) -> Posted:
        """A call that the interaction's own token allows. discord.py's adapter for them logs no token."""
        application = (await self._logged_in()).application_id
        route = Route(verb, path, webhook_id=application, webhook_token=token, **ids)
        body = post.body() if post else None
        if file is None or body is None:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return Posted.of(await self._webhooks.request(route, self.session, payload=body))
        with _opened(file) as upload:
            async with asyncio.timeout(_UPLOAD_SECONDS):
                form = _multipart(body, upload)
                return Posted.of(await self._webhooks.request(route, self.session, multipart=form, files=[upload]))


@contextmanager
def _opened(file: OutFile) -> Iterator[discord.File]:
    upload = discord.File(file.path, filename=file.name)
    try:
        yield upload
    finally:
        upload.close()


def _message_route(verb: str, channel: int, message: int) -> Route:
    path = "/channels/{channel_id}/messages/{message_id}"
    return Route(verb, path, channel_id=channel, message_id=message)


def _multipart(body: Mapping[str, Any], file: discord.File) -> list[dict[str, Any]]:
    """https://docs.discord.com/developers/reference#uploading-files"""
    described = {**body, "attachments": [{"id": 0, "filename": file.filename}]}
    return [
        {"name": "payload_json", "value": json.dumps(described)},
        {
            "name": "files[0]",
            "value": file.fp,
            "filename": file.filename,
            "content_type": "application/octet-stream",
        },
    ]
