"""What people say while a turn runs, as far as it becomes a part of that turn.

What *steers* it joins at the next tool boundary. What belongs to the very thing that is being answered (pieces of a
long text, of what is forwarded) is *taken along* at once: what was asked is given up, and asked again with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from typing import Any

import structlog

from bot.agent.context import Context
from bot.agent.turns.incoming import Incoming
from bot.bus.live_events import LiveReply
from bot.model import Reply
from bot.runtime.tasks import stop
from bot.store.inbox import Waiting

log = structlog.get_logger(__name__)

TOGETHER_SECONDS = 1.0
"""What comes within so long of each other may be pieces of one thing."""


class MoreCameError(Exception):
    """What is to be answered goes on."""


class Steering:
    """Of one turn. ``people``: whom it answers; of a turn that is gone on with that is not known, and nothing is taken
    along. ``received_at``: when the last of what it answers came."""

    def __init__(
        self, context: Context, incoming: Incoming, received_at: float, people: frozenset[str] = frozenset()
    ) -> None:
        self._context = context
        self._incoming = incoming
        self._received_at = received_at
        self._people = people
        self._joining: dict[int, Waiting] = {}
        self._is_seen = False
        """Whether people see anything of the answer."""
        self._more = asyncio.Event()
        self._more_until = 0.0
        """When what goes on is taken to have come to its end, on the loop's clock."""

    def next_try(self) -> None:
        """The answer begins anew; what waits to join it still does."""
        self._is_seen = False
        self._more.clear()

    def steer(self, messages: Sequence[Waiting]) -> None:
        """These wait. They join at the next tool boundary; where none comes, they are left to the next turn."""
        self._joining.update((message.id, message) for message in messages)

    def belong(self, messages: Sequence[Waiting]) -> bool:
        """Whether these belong to what is being answered: they came right after it and from nobody else, while nothing
        of the answer is seen."""
        if self._is_seen:
            return False
        own = [message for message in messages if message.person in self._people]
        gaps = pairwise([self._received_at, *(message.received_at for message in own)])
        are_close = all(later - earlier < TOGETHER_SECONDS for earlier, later in gaps)
        return len(own) == len(messages) and any(message.expects for message in own) and are_close

    def take_along(self, messages: Sequence[Waiting], seconds: float) -> None:
        """The model is asked again with these, when no more has come for so long."""
        self.steer(messages)
        self._more_until = asyncio.get_running_loop().time() + seconds
        self._more.set()

    def shown_by(self, live: LiveReply) -> Callable[[str], None]:
        """Shows what is written, unless it is given up."""

        def show(text: str) -> None:
            if not self._more.is_set():
                self._is_seen = self._is_seen or bool(text.strip())
                live.update(text)

        return show

    async def unless_more(self, ask: Callable[[], Coroutine[Any, Any, Reply]]) -> Reply:
        """The answer, unless what it is to answer goes on before anything of it is seen. Raises MoreCameError."""
        task, more = asyncio.create_task(ask()), asyncio.create_task(self._more.wait())
        try:
            await asyncio.wait({task, more}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise MoreCameError
            return task.result()
        finally:
            await stop(task, more)

    async def until_complete(self) -> None:
        """Wait until no more has come for a while."""
        while self._more.is_set():
            self._more.clear()
            await asyncio.sleep(self._more_until - asyncio.get_running_loop().time())

    def replied(self) -> None:
        """What came in the moment of a reply is no reason to give up the next one."""
        self._more.clear()

    async def join(self, turn_id: str) -> bool:
        """Take in what people said meanwhile; whether there was anything."""
        messages, self._joining = self._incoming.portion([*self._joining.values()]), {}  # the rest comes again
        if not messages:
            return False
        self._received_at = max(message.received_at for message in messages)
        opened = await self._incoming.open(messages)
        async with self._context.step() as step:
            joined = (await opened.append_to(step, turn_id)).messages
        self._incoming.taken(joined, more=True)
        log.info("turn_steered", messages=len(joined))
        return bool(joined)
