"""Making, changing and removing messages, whichever way the bot asks for it."""

import time
from collections.abc import Sequence

from tests.servers.discord.events import Events
from tests.servers.discord.mentions import pinged
from tests.servers.discord.message_rules import Draft, Reference, read_draft
from tests.servers.discord.records import Attachment, Channel, Flags, Interaction, Message
from tests.servers.discord.terms import Terms
from tests.servers.discord.wire import Json, Refused, Upload, invalid_form
from tests.servers.discord.world import World


class Posts:
    """The bot's messages."""

    def __init__(self, world: World, events: Events, terms: Terms) -> None:
        self.world = world
        self.events = events
        self.terms = terms

    def create(
        self,
        channel: Channel,
        payload: Json,
        uploads: Sequence[Upload] = (),
        *,
        interaction: Interaction | None = None,
    ) -> Message:
        """Say it, unless it was said already under the same nonce; `Refused` where it breaks a rule."""
        self._check_sizes(uploads)
        draft = read_draft(payload, uploads)
        if draft.nonce is not None and draft.enforce_nonce and (earlier := self._said(channel, draft.nonce)):
            return earlier
        reply_to = self._replied_to(channel, draft.reference)
        ephemeral = Flags(payload.get("flags") or 0) & Flags.EPHEMERAL if interaction else Flags.NONE
        author = None if reply_to is None else self.world.messages[reply_to].author.id
        message = Message(
            id=self.world.ids.next(),
            channel_id=channel.id,
            author=self.world.bot,
            text=draft.text,
            files=self._stored(draft, uploads),
            components=draft.components,
            embeds=draft.embeds,
            reply_to=reply_to,
            nonce=draft.nonce,
            pinged=self._reached(channel, pinged(draft.text, draft.allowed_mentions, author)),
            flags=draft.flags | ephemeral,
            interaction=interaction,
        )
        self.world.add_message(message)
        self.events.message_created(message)
        return message

    def promise(self, channel: Channel, interaction: Interaction, *, ephemeral: bool) -> Message:
        """Show that the bot is thinking."""
        flags = Flags.LOADING | (Flags.EPHEMERAL if ephemeral else Flags.NONE)
        new = self.world.ids.next()
        message = Message(new, channel.id, self.world.bot, "", flags=flags, interaction=interaction)
        self.world.add_message(message)
        self.events.message_created(message)
        return message

    def edit(self, message: Message, payload: Json, uploads: Sequence[Upload] = ()) -> Message:
        """Change it; what was promised is there now, and notifies whom it mentions."""
        self._check_sizes(uploads)
        draft = read_draft(payload, uploads, message)
        kept = [file for file in message.files if draft.kept is None or file.id in draft.kept]
        message.files = (*kept, *self._stored(draft, uploads))
        message.text, message.components, message.embeds = draft.text, draft.components, draft.embeds
        if message.loading:  # an edit of anything else notifies nobody
            channel = self.world.channels[message.channel_id]
            message.pinged = self._reached(channel, pinged(draft.text, draft.allowed_mentions))
        message.flags = draft.flags & ~Flags.LOADING
        message.edits.append(draft.text)
        message.edited_at.append(time.monotonic())
        message.edited_on = time.time()
        self.events.message_updated(message)
        return message

    def delete(self, message: Message) -> None:
        """Take it away."""
        message.deleted = True
        self.events.message_deleted(message)

    def _check_sizes(self, uploads: Sequence[Upload]) -> None:
        if any(len(upload.content) > self.terms.largest_file for upload in uploads):
            raise Refused(413, 40005, "Request entity too large")

    def _said(self, channel: Channel, nonce: str) -> Message | None:
        since = time.monotonic() - self.terms.nonce_window
        for message in self.world.messages.values():
            said = (message.channel_id, message.author, message.nonce) == (channel.id, self.world.bot, nonce)
            if said and message.at >= since:
                return message
        return None

    def _replied_to(self, channel: Channel, reference: Reference | None) -> int | None:
        if reference is None:
            return None
        if any(message.id == reference.message_id for message in self.world.readable(channel.id)):
            return reference.message_id
        if reference.must_exist:
            raise invalid_form("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return None

    def _stored(self, draft: Draft, uploads: Sequence[Upload]) -> tuple[Attachment, ...]:
        return tuple(
            self.world.store(upload.filename, upload.content, draft.descriptions.get(upload.index))
            for upload in uploads
        )

    def _reached(self, channel: Channel, mentions: frozenset[str]) -> frozenset[str]:
        """Those of them who are there: nobody else is in a direct channel."""
        if channel.recipient is not None:
            return mentions & {f"<@{channel.recipient.id}>"}
        people = {f"<@{person}>" for person in self.world.people}
        return frozenset(m for m in mentions if m in people or m.startswith(("@", "<@&")))
