"""Texts of any length as messages: said, changed, looked for after a crash."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from itertools import count, islice

from bot.messages import Edit, Say
from connectors.telegram.looks import Look, looks_of, rich_look_of
from connectors.telegram.screen import Place, RichRefused, Screen

PROBES = 40
"""How many message ids :meth:`Writer.find` looks at."""
_MOST_BEGUN = 1000


class Writer:
    """Raises aiogram's errors; the same outbound then goes on where it stopped."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._begun: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        """By token and text: the parts that are out of a message whose other parts have to wait."""

    async def guard(self) -> None:
        """See :class:`bot.connector.Guarded`."""
        await self._screen.guard()

    def begun(self, outbound: Say | Edit) -> list[str]:
        """The ids of the parts that are out."""
        return self._begun.get((outbound.token, outbound.text), [])

    def begin(self, outbound: Say | Edit, done: Sequence[str]) -> None:
        """So much of it is out."""
        self._begun[outbound.token, outbound.text] = list(done)
        while len(self._begun) > _MOST_BEGUN:
            self._begun.popitem(last=False)

    def end(self, outbound: Say | Edit) -> None:
        """All of it is out."""
        self._begun.pop((outbound.token, outbound.text), None)

    async def write(self, outbound: Say | Edit, refs: Sequence[str]) -> tuple[str, ...]:
        """Make the messages ``refs``, and new ones after them or none of the last ones, show the text."""
        if isinstance(outbound, Edit) and outbound.again:
            for ref in refs:
                self._screen.forget_message(int(outbound.address.chat), int(ref))
        rich = self._rich(outbound)
        if rich:
            with suppress(RichRefused):
                return await self.show(outbound, refs, [rich])
        return await self.show(outbound, refs, looks_of(outbound))

    async def show(self, outbound: Say | Edit, refs: Sequence[str], looks: Sequence[Look]) -> tuple[str, ...]:
        """As :meth:`write`, with these looks."""
        place, done = Place.of(outbound.address, outbound.answers), list(self.begun(outbound))
        for part in range(len(done), len(looks)):
            ref = refs[part] if part < len(refs) else None
            if ref is None or not await self._screen.edit(place.chat, int(ref), looks[part]):
                there = place if part == 0 else Place(place.chat, place.thread)
                ref = str(await self._screen.send(there, looks[part]))
            done.append(ref)
            self.begin(outbound, done)
        for surplus in refs[len(looks) :]:
            await self._screen.delete(place.chat, int(surplus))
        self.end(outbound)
        return tuple(done)

    async def find(self, say: Say, after: int, known: frozenset[str]) -> tuple[str, ...] | None:
        """Look for a message that went out just before a crash, when its id was not written down yet.

        Telegram has no idempotency keys and does not let a bot read a chat. But ids are given out in order,
        by one counter for a bot's private chats and one for each supergroup, and a bot can edit its own
        messages: so the text is put on each of the next 40 ids that are not in ``known``, in turn (another
        message has those in there: ours are not overwritten, and with many chats few ids are left). "Not
        modified" and success mean that it stands there; "not found" and "can't be edited" (no message, or a
        person's) mean the next id. The parts of a long text are looked for in order; once one is found, the
        missing ones are sent. None when nothing was found.

        It may be farther away than that, where many messages were lost at once, or had not been read yet when
        this one went out; then it is sent twice, which is better than never.
        """
        rich = self._rich(say)
        if rich:
            with suppress(RichRefused):
                return await self._find(say, [rich], after, known)
        return await self._find(say, looks_of(say), after, known)

    async def _find(self, say: Say, looks: Sequence[Look], after: int, known: frozenset[str]) -> tuple[str, ...] | None:
        chat = int(say.address.chat)
        found: list[str] = []
        candidates = (message_id for message_id in count(after + 1) if str(message_id) not in known)
        for message_id in islice(candidates, PROBES):
            if await self._screen.edit(chat, message_id, looks[len(found)]):
                found.append(str(message_id))
            if len(found) == len(looks):
                return tuple(found)
        if not found:
            return None
        self.begin(say, found)
        return await self.show(say, (), looks)

    def _rich(self, outbound: Say | Edit) -> Look | None:
        """Parts that are out already were not rich."""
        return rich_look_of(outbound) if self._screen.knows_rich and not self.begun(outbound) else None
