"""Slash commands and buttons: what is offered, and what using one says."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import discord

from bot.messages import Inbound
from connectors.discord.failures import FAILURES
from connectors.discord.places import Place
from connectors.discord.said import speaker_of


def _field(name: str, description: str) -> Sequence[Any]:
    """One text that need not be given."""
    return ({"type": discord.AppCommandOptionType.string.value, "name": name, "description": description},)


_PAIRS = {"strategy": "strategy="}
"""Fields of /compact that are pairs where it is written."""
_COMPACT = (
    *_field("strategy", "How, for this time: reset, segmented, memory, monologue, tiered or two_phase"),
    *_field("options", "Options of that strategy: keep=2"),
    *_field("focus", "What to keep"),
)
_OPTIONS: Mapping[str, Sequence[Any]] = {
    "compact": _COMPACT,
    "summarize": _COMPACT,
    "recall": _field("what", "Words, or numbers: 12-40"),
    "memory": _field("what", "pin 3, unpin 3, forget 3, add and a text, or the number of a page"),
    "strategy": _field("name", "One of those that /strategy names, or default"),
}
_CHAT_INPUT = discord.AppCommandType.chat_input.value
_LONGEST_DESCRIPTION = 100
_REF = "interaction"

log = logging.getLogger(__name__)


async def register(client: discord.Client, commands: Mapping[str, str]) -> None:
    """Offer these commands everywhere; Discord is told only where it offers others. A failure is logged."""
    wanted: list[Any] = [
        {
            "type": _CHAT_INPUT,
            "name": name,
            "description": description[:_LONGEST_DESCRIPTION],
            "options": [*_OPTIONS.get(name, ())],
        }
        for name, description in commands.items()
    ]
    assert client.application_id is not None
    try:
        offered: Sequence[Any] = await client.http.get_global_commands(client.application_id)
        others = [command for command in offered if command.get("type", _CHAT_INPUT) != _CHAT_INPUT]
        ours = [command for command in offered if command not in others]
        if sorted(map(_offer, ours)) != sorted(map(_offer, wanted)):
            await client.http.bulk_upsert_global_commands(client.application_id, [*others, *wanted])
    except FAILURES as error:
        log.warning("commands_not_registered", extra={"reason": str(error)})


def _offer(command: Mapping[str, Any]) -> tuple[object, ...]:
    """What people see of a command."""
    options = command.get("options") or ()
    return command["name"], command["description"], *((option["name"], option["description"]) for option in options)


def inbound_of(interaction: discord.Interaction, place: Place) -> Inbound | None:
    """The command that was used or the button that was pressed; None for what is neither."""
    data: Mapping[str, Any] = interaction.data or {}
    if interaction.type is discord.InteractionType.application_command:
        given = _given(data)
        text, ref = " ".join([f"/{data['name']}", *given]), f"{_REF}:{interaction.id}:{interaction.token}"
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


def _given(data: Mapping[str, Any]) -> list[str]:
    """What its fields hold, in the order in which it would be written."""
    found = {
        str(option["name"]): str(option["value"]).strip() for option in data.get("options") or () if "value" in option
    }
    order = [str(option["name"]) for option in _OPTIONS.get(str(data["name"]), ())]
    named = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    if "=" in found.get("focus", ""):
        found["focus"] = f"-- {found['focus']}"  # these are words, and no options
    pairs = _PAIRS if _OPTIONS.get(str(data["name"])) is _COMPACT else {}
    return [f"{pairs.get(name, '')}{found[name]}" for name in named if found[name]]


def token_of(ref: str) -> str | None:
    """The token of the interaction that a ref names; None for the ref of a message."""
    kind, _, rest = ref.partition(":")
    return rest.partition(":")[2] if kind == _REF else None
