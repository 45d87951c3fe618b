"""Commands and buttons that wait for an answer: Discord gives up on one that is not acknowledged within 3 s.

https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

import asyncio
import logging

import discord

from connectors.discord.failures import ALREADY_ACKNOWLEDGED, FAILURES, told
from connectors.discord.recent import Recent

STORING_SECONDS = 1.5
"""For so long an interaction is stored before it is acknowledged; then it is acknowledged while that goes on."""
_MOST = 1000

log = logging.getLogger(__name__)


class Interactions:
    """Remembers those of this process, and whether Discord knows that we have them."""

    def __init__(self, storing_seconds: float = STORING_SECONDS) -> None:
        self.storing_seconds = storing_seconds
        self._acknowledged: Recent[str, asyncio.Future[bool | None]] = Recent(_MOST)

    async def acknowledge(self, interaction: discord.Interaction, stored: asyncio.Event) -> None:
        """Tell Discord, once it is stored. One that is brought again is acknowledged once."""
        if interaction.token in self._acknowledged:
            return
        acknowledged = self._acknowledged[interaction.token] = asyncio.get_running_loop().create_future()
        answer: bool | None = None
        try:
            try:
                async with asyncio.timeout(self.storing_seconds):
                    await stored.wait()
            except TimeoutError:
                log.info("interaction_acknowledged_early")
            answer = await _acknowledge(interaction)
        finally:
            acknowledged.set_result(answer)

    async def can_be_answered(self, token: str) -> bool | None:
        """Whether an interaction can be answered as such; None where this process does not know."""
        known = self._acknowledged.get(token)
        return None if known is None else await asyncio.shield(known)


async def _acknowledge(interaction: discord.Interaction) -> bool | None:
    is_command = interaction.type is discord.InteractionType.application_command
    try:
        await interaction.response.defer(thinking=is_command)
    except discord.HTTPException as error:
        log.info("interaction_not_acknowledged", extra={"reason": told(error, interaction.token)})
        return error.code == ALREADY_ACKNOWLEDGED
    except (*FAILURES, RuntimeError) as error:  # aiohttp's for a session that was closed meanwhile
        log.info("interaction_not_acknowledged", extra={"reason": told(error, interaction.token)})
        return None
    return True
