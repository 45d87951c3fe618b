"""Files, from people and to them.

https://core.telegram.org/bots/api#sending-files and #getfile
"""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from aiogram import Bot, types
from aiogram import exceptions as telegram
from aiohttp import ClientError, ClientResponseError

from bot.errors import DeliveryDelayed, DeliveryRefused, DeliveryUncertain
from bot.messages import Attachment, OutFile, Say
from connectors.telegram.errors import FAILURES, delivery_error, says, told
from connectors.telegram.looks import Look, caption_of, entities_of, keyboard_of
from connectors.telegram.screen import Place, id_of
from connectors.telegram.writer import Writer

LARGEST_PHOTO = 10 * 1024 * 1024
LARGEST_DOCUMENT = 50 * 1024 * 1024
"""Bytes that a bot may send."""
TOO_LARGE_TO_FETCH = "it is too large: Telegram gives a bot at most 20 MB"

_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
_SECONDS = 60
_BYTES_A_SECOND = 100_000
"""A slow line: for as long is waited."""
_DOWNLOAD_SECONDS = 110
_CHUNK_BYTES = 65_536
_UNSAFE = re.compile(r'[\x00-\x1f\x7f"\\/]')

_Send: TypeAlias = Callable[..., Awaitable[types.Message]]
log = logging.getLogger(__name__)


class NotTaken(Exception):
    """A file cannot be sent; the text says why, as the end of a sentence."""


class Files:
    """``is_own_server``: a Bot API server of one's own, whose files may lie on this machine."""

    def __init__(self, bot: Bot, writer: Writer, *, is_own_server: bool) -> None:
        self._bot = bot
        self._writer = writer
        self._is_own_server = is_own_server

    async def say(self, say: Say) -> tuple[str, ...]:
        """Send a file with what is said of it, or say that it cannot be sent. Raises aiogram's errors."""
        assert say.file is not None
        caption, sent = caption_of(say), self._writer.begun(say)
        words = replace(say, file=None, token=f"{say.token}:words")
        if not sent:
            try:
                sent = [str(await self._send(Place.of(say.address, say.answers), say.file, caption))]
            except NotTaken as problem:
                return await self._say_without(words, f"📎 {say.file.name} cannot be sent: {problem}.")
            self._writer.begin(say, sent)
        refs = tuple(sent)
        if caption is None:
            refs += await self._writer.write(replace(words, answers=""), ())
        self._writer.end(say)
        return refs

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See :class:`bot.connector.Connector`."""
        try:
            path = (await self._bot.get_file(attachment.ref)).file_path
        except telegram.TelegramBadRequest as error:
            if says(error, "file is too big"):
                raise DeliveryRefused(TOO_LARGE_TO_FETCH) from error
            if says(error, "temporarily unavailable"):
                raise DeliveryDelayed(told(error, self._bot.token), 1.0) from error
            raise DeliveryRefused("Telegram does not have it any more") from error
        except FAILURES as error:
            raise delivery_error(error, self._bot.token) from error
        if not path:
            raise DeliveryRefused("Telegram does not have it any more")
        if self._is_own_server and Path(path).is_absolute():
            await _copy(Path(path), target, most_bytes)
        else:
            await self._download(path, target, most_bytes)

    async def _say_without(self, words: Say, why: str) -> tuple[str, ...]:
        """Say why there is no file in its place, and then what was to be said of it."""
        refs = await self._writer.write(
            replace(words, text=why, token=f"{words.token}:why", notice=True, buttons=()), ()
        )
        if not words.text.strip():
            return refs
        return refs + await self._writer.write(replace(words, answers=""), ())

    async def _send(self, place: Place, file: OutFile, caption: Look | None) -> int:
        size = await _size(Path(file.path))
        if size > LARGEST_DOCUMENT:
            raise NotTaken(f"it is too large ({size / 1e6:,.1f} MB; Telegram takes at most 50 MB from a bot)")
        is_picture = Path(file.name).suffix.lower() in _PICTURES and size <= LARGEST_PHOTO
        seconds = _SECONDS + size // _BYTES_A_SECOND
        look = caption or Look()
        await self._writer.guard()
        for as_photo, shown in dict.fromkeys([(is_picture, look), (False, look), (False, look.plain)]):
            try:
                return await self._send_as(place, file, shown, as_photo=as_photo, seconds=seconds)
            except telegram.TelegramEntityTooLarge as error:
                raise NotTaken("Telegram finds it too large") from error
            except telegram.TelegramBadRequest as error:
                kind, reason = "photo" if as_photo else "document", told(error, self._bot.token)
                log.info("file_not_taken", extra={"kind": kind, "reason": reason})
        raise NotTaken("Telegram does not take it")

    async def _send_as(self, place: Place, file: OutFile, look: Look, *, as_photo: bool, seconds: int) -> int:
        content = types.FSInputFile(file.path, filename=_UNSAFE.sub("_", file.name) or "file")
        send: _Send = self._bot.send_photo if as_photo else self._bot.send_document
        sending = send(
            place.chat,
            content,
            message_thread_id=place.thread,
            caption=look.text,
            caption_entities=entities_of(look),
            reply_parameters=place.reply,
            reply_markup=keyboard_of(look),
            request_timeout=seconds,
        )
        return await id_of(sending)

    async def _download(self, path: str, target: Path, most_bytes: int) -> None:
        url, taken = self._bot.session.api.file_url(self._bot.token, path), 0
        stream = self._bot.session.stream_content(url, timeout=_DOWNLOAD_SECONDS, chunk_size=_CHUNK_BYTES)
        file = await asyncio.to_thread(target.open, "wb")
        try:
            async for chunk in stream:
                taken += len(chunk)
                if taken > most_bytes:
                    raise DeliveryRefused(_too_large(most_bytes))
                await asyncio.to_thread(file.write, chunk)
        except ClientResponseError as error:
            if error.status in (403, 404, 410):
                raise DeliveryRefused("Telegram does not have it any more") from error
            raise DeliveryUncertain(told(error, self._bot.token)) from error
        except (ClientError, TimeoutError) as error:
            raise DeliveryUncertain(told(error, self._bot.token)) from error
        finally:
            await asyncio.to_thread(file.close)
            await stream.aclose()


async def _size(path: Path) -> int:
    """Of the file that is to be sent. Raises NotTaken."""
    try:
        size = await asyncio.to_thread(lambda: path.stat().st_size)
    except OSError as error:
        raise NotTaken("it is gone") from error
    if not size:
        raise NotTaken("it is empty")
    return size


async def _copy(path: Path, target: Path, most_bytes: int) -> None:
    """What a Bot API server with ``--local`` has put on the disk."""
    if not await asyncio.to_thread(path.is_file):
        raise DeliveryRefused("the Bot API server keeps it where I cannot read it")
    if (await asyncio.to_thread(path.stat)).st_size > most_bytes:
        raise DeliveryRefused(_too_large(most_bytes))
    await asyncio.to_thread(shutil.copyfile, path, target)


def _too_large(most_bytes: int) -> str:
    return f"it is too large (at most {most_bytes / 1e6:,.0f} MB)"
