"""Slash commands and buttons: what is offered, and what using one says."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import discord

from bot.connector import CommandField, OfferedCommand
from bot.messages import Inbound
from connectors.discord.failures import FAILURES
from connectors.discord.places import Place
from connectors.discord.said import speaker_of

_CHAT_INPUT = discord.AppCommandType.chat_input.value
_LONGEST_DESCRIPTION = 100
_REF = "interaction"

log = logging.getLogger(__name__)


class Commands:
    """The commands that are offered after a slash, and what people say who use one of them, or press a button."""

    def __init__(self, offered: Sequence[OfferedCommand]) -> None:
        self._offered = offered
        self._fields = {command.name: {field.name: field for field in command.fields} for command in offered}

    async def register(self, client: discord.Client) -> None:
        """Offer them everywhere; Discord is told only where it offers others. A failure is logged."""
        wanted: list[Any] = [
            {
                "type": _CHAT_INPUT,
                "name": command.name,
                "description": command.about[:_LONGEST_DESCRIPTION],
                "options": [_option(field) for field in command.fields],
            }
            for command in self._offered
        ]
        assert client.application_id is not None
        try:
            there: Sequence[Any] = await client.http.get_global_commands(client.application_id)
            others = [command for command in there if command.get("type", _CHAT_INPUT) != _CHAT_INPUT]
            ours = [command for command in there if command not in others]
            if sorted(map(_seen, ours)) != sorted(map(_seen, wanted)):
                await client.http.bulk_upsert_global_commands(client.application_id, [*others, *wanted])
        except FAILURES as error:
            log.warning("commands_not_registered", extra={"reason": str(error)})

    def inbound_of(self, interaction: discord.Interaction, place: Place) -> Inbound | None:
        """The command that was used or the button that was pressed; None for what is neither."""
        data: Mapping[str, Any] = interaction.data or {}
        if interaction.type is discord.InteractionType.application_command:
            text, ref = self.written(data), f"{_REF}:{interaction.id}:{interaction.token}"
        elif interaction.type is discord.InteractionType.component:
            text, ref = str(data["custom_id"]), ""
        else:
            return None
        return Inbound(
            address=place.address,
            key=f"{_REF}:{interaction.id}",
            kind="press" if not ref else "message",
            order=interaction.id,
            person=str(interaction.user.id),
            text=text,
            person_name=interaction.user.display_name,
            sent_at=interaction.created_at,
            ref=ref,
            speaker="" if place.direct else speaker_of(interaction.user),
            is_awaited=bool(ref),
        )

    def written(self, data: Mapping[str, Any]) -> str:
        """The command as it would be written: its name, and what its fields hold, in their order."""
        name = str(data["name"])
        given = {str(one["name"]): str(one["value"]).strip() for one in data.get("options") or () if "value" in one}
        fields = self._fields.get(name, {})
        texts = [fields[one].written(given[one]) for one in fields if given.get(one)]
        unknown = [text for one, text in given.items() if one not in fields and text]  # of an earlier version
        return " ".join([f"/{name}", *texts, *unknown])


def _option(field: CommandField) -> Mapping[str, Any]:
    """One text that need not be given."""
    return {"type": discord.AppCommandOptionType.string.value, "name": field.name, "description": field.about}


def _seen(command: Mapping[str, Any]) -> tuple[object, ...]:
    """What people see of a command."""
    options = command.get("options") or ()
    return command["name"], command["description"], *((option["name"], option["description"]) for option in options)


def token_of(ref: str) -> str | None:
    """The token of the interaction that a ref names; None for the ref of a message."""
    kind, _, rest = ref.partition(":")
    return rest.partition(":")[2] if kind == _REF else None
