"""Answering commands and presses: https://docs.discord.com/developers/interactions/receiving-and-responding"""

import time
from collections.abc import Sequence

from tests.servers.discord.posts import Posts
from tests.servers.discord.records import Ack, Flags, Interaction, Message
from tests.servers.discord.routes import Route
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.terms import Terms
from tests.servers.discord.wire import Json, Refused, Request, Upload, invalid_form, unknown

ORIGINAL = "@original"
FOR_COMMANDS = frozenset({Ack.MESSAGE, Ack.DEFERRED_MESSAGE})
FOR_PRESSES = frozenset(Ack)
_WEBHOOK = "/webhooks/{application}/{token}"
_MESSAGE = f"{_WEBHOOK}/messages/{{message}}"


class Interactions:
    """Answers the calls about them; each has a token of its own instead of the bot's."""

    def __init__(self, posts: Posts, shapes: Shapes, terms: Terms) -> None:
        self.posts = posts
        self.shapes = shapes
        self.terms = terms
        self.world = posts.world

    def routes(self) -> list[Route]:
        """The calls."""
        callback = "/interactions/{interaction}/{token}/callback"
        return [
            Route("callback", "POST", callback, self._callback, needs_token=False),
            Route("create_followup", "POST", _WEBHOOK, self._follow_up, needs_token=False),
            Route("get_response", "GET", _MESSAGE, self._get, needs_token=False),
            Route("edit_response", "PATCH", _MESSAGE, self._edit, needs_token=False),
            Route("delete_response", "DELETE", _MESSAGE, self._delete, needs_token=False),
        ]

    def of_token(self, token: str) -> Interaction | None:
        """The interaction that a token belongs to."""
        return next((i for i in self.world.interactions if i.token == token), None)

    def _callback(self, request: Request) -> Json | None:
        waited = time.monotonic()
        interaction = self.of_token(request.ids["token"])
        if interaction is None or interaction.id != request.id("interaction"):
            raise unknown("interaction", 10062)
        if interaction.acked is not None:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        waited -= interaction.at
        if interaction.expired or waited > self.terms.interaction_deadline:
            raise unknown("interaction", 10062)
        ack = _ack(interaction, request.form)
        data = request.form.get("data") or {}
        shown = self._show(interaction, ack, data, request.uploads)
        interaction.acked, interaction.acked_after = ack, waited
        return self._told(interaction, shown) if request.query.get("with_response") in ("1", "true") else None

    def _show(self, interaction: Interaction, ack: Ack, data: Json, uploads: Sequence[Upload]) -> Message | None:
        channel = self.world.channels[interaction.channel_id]
        match ack:
            case Ack.MESSAGE:
                message = self.posts.create(channel, data, uploads, interaction=interaction)
            case Ack.DEFERRED_MESSAGE:
                ephemeral = Flags.EPHEMERAL in Flags(data.get("flags") or 0)
                message = self.posts.promise(channel, interaction, ephemeral=ephemeral)
            case Ack.UPDATE:
                message = self.posts.edit(self._pressed(interaction), data, uploads)
            case Ack.DEFERRED_UPDATE:
                interaction.original_id = interaction.message_id
                return None
        interaction.original_id = message.id
        return message

    def _pressed(self, interaction: Interaction) -> Message:
        assert interaction.message_id is not None
        return self.world.messages[interaction.message_id]

    def _told(self, interaction: Interaction, shown: Message | None) -> Json:
        about: dict[str, object] = {"id": str(interaction.id), "type": 2 if interaction.kind == "command" else 3}
        assert interaction.acked is not None
        if shown is None:
            return {"interaction": about}
        about |= {
            "response_message_id": str(shown.id),
            "response_message_loading": shown.loading,
            "response_message_ephemeral": shown.ephemeral,
        }
        resource = {"type": int(interaction.acked), "message": self.shapes.message(shown)}
        return {"interaction": about, "resource": resource}

    def _answered(self, request: Request) -> Interaction:
        """The interaction of a webhook's call: it was acknowledged, and its token still lives."""
        interaction = self.of_token(request.ids["token"])
        if interaction is None or request.id("application") != self.world.bot.id or interaction.acked is None:
            raise unknown("Webhook", 10015)
        if interaction.expired or time.monotonic() - interaction.at > self.terms.token_lifetime:
            raise Refused(401, 50027, "Invalid Webhook Token")
        return interaction

    def _message(self, request: Request) -> Message:
        interaction = self._answered(request)
        if request.ids["message"] == ORIGINAL:
            message_id = interaction.original_id
        else:
            message_id = request.id("message")
            if message_id != interaction.original_id and message_id not in interaction.followups:
                raise unknown("Message", 10008)
        message = self.world.messages.get(message_id or 0)
        if message is None or message.deleted:
            raise unknown("Message", 10008)
        return message

    def _follow_up(self, request: Request) -> Json:
        """Another message; after a deferred answer the first of them is that answer."""
        interaction = self._answered(request)
        original = self.world.messages.get(interaction.original_id or 0)
        if original is not None and original.loading and not original.deleted:
            return self.shapes.message(self.posts.edit(original, request.form, request.uploads))
        channel = self.world.channels[interaction.channel_id]
        message = self.posts.create(channel, request.form, request.uploads, interaction=interaction)
        interaction.followups.append(message.id)
        return self.shapes.message(message)

    def _get(self, request: Request) -> Json:
        return self.shapes.message(self._message(request))

    def _edit(self, request: Request) -> Json:
        return self.shapes.message(self.posts.edit(self._message(request), request.form, request.uploads))

    def _delete(self, request: Request) -> None:
        self.posts.delete(self._message(request))


def _ack(interaction: Interaction, form: Json) -> Ack:
    choices = FOR_COMMANDS if interaction.kind == "command" else FOR_PRESSES
    chosen = form.get("type")
    if chosen not in set(choices):
        raise invalid_form("type", "BASE_TYPE_CHOICES", f"Value must be one of {{{sorted(map(int, choices))}}}.")
    return Ack(chosen)
