"""Brings what people attached from Discord to this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import discord

from bot.errors import DeliveryDelayed, DeliveryRefused, DeliveryUncertain
from bot.messages import Attachment
from connectors.discord.rest import Rest
from connectors.discord.said import FileRef

GONE = "it is not on Discord any more"
_CHUNK = 1 << 16
_QUIET_SECONDS = 60.0
_EXPIRED = frozenset({403, 404, 410})


async def fetch(rest: Rest, attachment: Attachment, target: Path, most_bytes: int) -> None:
    """Write the file to ``target``. Its link runs out after a day or so; then the message gives another, once.

    Raises DeliveryRefused, DeliveryDelayed, DeliveryUncertain, and what a call of the API raises.
    """
    file = FileRef.read(attachment.ref)
    if await _download(rest, file.url, target, most_bytes):
        return
    try:
        url = (await rest.message(file.channel, file.message)).files.get(file.file)
    except (discord.Forbidden, discord.NotFound) as error:
        raise DeliveryRefused(GONE) from error
    if url is None or not await _download(rest, url, target, most_bytes):
        raise DeliveryRefused(GONE)


async def _download(rest: Rest, url: str, target: Path, most_bytes: int) -> bool:
    """Whether the link leads to the file, which is then written."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_QUIET_SECONDS, sock_read=_QUIET_SECONDS)
    async with rest.session.get(url, timeout=timeout) as response:
        if response.status in _EXPIRED:
            return False
        if response.status == 429:  # noqa: PLR2004
            raise DeliveryDelayed("Discord wants files to be fetched more slowly", 5.0)
        if response.status >= 500:  # noqa: PLR2004
            raise DeliveryUncertain(f"Discord answers {response.status} for a file")
        if response.status >= 300:  # noqa: PLR2004
            raise DeliveryRefused(f"Discord does not hand it over ({response.status})")
        await _write(response, target, most_bytes)
    return True


async def _write(response: aiohttp.ClientResponse, target: Path, most_bytes: int) -> None:
    file = await asyncio.to_thread(target.open, "wb")
    with file:
        size = 0
        async for chunk in response.content.iter_chunked(_CHUNK):
            size += len(chunk)
            if size > most_bytes:
                raise DeliveryRefused(f"it is too large (at most {most_bytes / 1e6:,.0f} MB)")
            await asyncio.to_thread(file.write, chunk)
