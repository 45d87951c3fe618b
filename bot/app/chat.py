"""A conversation in this terminal, or over its pipes, with everything it needs in this process.

People can write before the rest is there: the terminal runs first, and what is said waits until the gateway is. Once
the book is open, it shows where the conversation stood; at the end, what it took.
"""

from __future__ import annotations

import asyncio
import io
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from bot.app.cli.text import say
from bot.app.folder_locks import only_terminal_of
from bot.app.loading import AGENTS, WORKER, begun, clients, keep_what_is_loaded, load, without_collecting
from bot.app.main import gateway_for, inner_roles
from bot.app.platforms import piped, terminal, write_answer, write_line
from bot.bus import topics
from bot.messages import Address, Attachment
from bot.runtime.settings import Settings
from bot.runtime.shutdown import until_signal
from bot.runtime.tasks import run_together, stop

if TYPE_CHECKING:
    from bot.app.resources import Resources
    from bot.connector import Connector
    from bot.model import Link

_END_SECONDS = 10.0
"""For what is asked of the book when the person has left."""


class Shown(Protocol):
    """A terminal that somebody sits at."""

    async def show_before(self, note: str, said: str, answer: str) -> None:
        """Where the conversation stood when it is gone on with."""


async def chat(settings: Settings, address: Address, notes: Sequence[str] = (), *, insists: bool = False) -> None:
    """Talk until the input ends, or a signal comes. ``notes`` are said before it begins; ``insists``: the model of the
    settings was asked for, whatever this conversation chose before.

    Raises a PalimpsestError with a sentence that says what to do.
    """
    with only_terminal_of(settings, address):
        async with until_signal(signal.SIGTERM, signal.SIGHUP):
            shown = terminal(settings, address, notes) if sys.stdin.isatty() else None
            session = _Session(settings, address, shown, insists=insists)
            await session.run(shown or piped(settings, address, notes))
    for line in session.leaves:
        say(line, sys.stdout)


async def ask_once(
    settings: Settings,
    address: Address,
    text: str,
    files: Sequence[Attachment] = (),
    notes: Sequence[str] = (),
    *,
    insists: bool = False,
) -> bool:
    """One message, and its answer on standard output; whether there is one. What else is said goes to standard error;
    of a command that is its answer."""
    is_command = text.startswith("/") and not files
    answers = io.StringIO()
    pipe = piped(
        settings, address, notes, says=[text], files=files, out=answers, err=sys.stdout if is_command else sys.stderr
    )
    with only_terminal_of(settings, address):
        async with until_signal(signal.SIGTERM, signal.SIGHUP):
            session = _Session(settings, address, None, insists=insists)
            await session.run(pipe)
    if session.answer is None:
        if not is_command:
            write_line(sys.stderr, answers.getvalue().strip() or "There is no answer.")
        return is_command
    write_answer(sys.stdout, session.answer)
    return True


class _Session:
    """What one process shows of one conversation, from its first line to its last. ``shown``: the terminal, where
    somebody sits at one."""

    def __init__(self, settings: Settings, address: Address, shown: Shown | None, *, insists: bool) -> None:
        self._settings = settings
        self._address = address
        self._shown = shown
        self._insists = insists
        self._began = 0.0
        self.leaves: Sequence[str] = ()
        """What is said at the end: what it has used, where that was anything, and what becomes of reminders."""
        self.answer: str | None = None
        """Of its last turn, where that has one."""

    async def run(self, connector: Connector) -> None:
        """Until the connector has ended."""
        from bot.app.deferred_connector import DeferredConnector

        deferred = DeferredConnector(connector)
        serving = asyncio.create_task(
            serve_chat(self._settings, self._address, deferred, before=self._begin, after=self._look_back)
        )
        try:
            await asyncio.wait({deferred.running, serving}, return_when=asyncio.FIRST_COMPLETED)
            if not deferred.running.done():
                await serving
            elif deferred.is_received:
                await asyncio.wait({serving}, timeout=_END_SECONDS)
        finally:
            await deferred.close()
            await stop(deferred.running, serving)
        for task in (deferred.running, serving):
            if not task.cancelled():
                task.result()

    async def _begin(self, resources: Resources) -> None:
        """The book is open: where the conversation stood is shown."""
        from bot.app.conversations import ago
        from bot.store.operators.terminal import last_exchange

        resources.chains.insists = self._insists
        self._began = resources.database.clock()
        if self._shown is None:
            return
        async with resources.database.read() as tx:
            last = await last_exchange(tx, self._address.agent_id)
        if last:
            note = f"Going on with {self._address.agent_id}, last used {ago(last.at, self._began)}; /new starts afresh."
            await self._shown.show_before(note, last.said, last.answer)

    async def _look_back(self, resources: Resources) -> None:
        """The person has left: what it took, or came to."""
        from bot.app.conversations import in_words, left_behind
        from bot.store import appointments
        from bot.store.operators.terminal import last_turn, used_since
        from bot.store.turns import TurnState

        async with resources.database.read() as tx:
            if self._shown:
                took = in_words(await used_since(tx, self._address.agent_id, self._began))
                left = left_behind(len(await appointments.coming(tx, self._address.agent_id)), self._address)
                self.leaves = [line for line in (took, left) if line]
            elif last := await last_turn(tx, self._address.agent_id, since=self._began):
                state, text = last
                self.answer = text if state is TurnState.DONE and text.strip() else None


async def serve_chat(
    settings: Settings,
    address: Address,
    connector: Connector,
    *,
    model: Link | None = None,
    before: Callable[[Resources], Awaitable[None]] | None = None,
    after: Callable[[Resources], Awaitable[None]] | None = None,
) -> None:
    """The agents, the worker and the gateway of one conversation, until the connector has nothing more to receive.
    ``model``: in the place of those that the settings name; ``before`` anything runs and ``after`` it has ended there
    is something to do with what is open."""
    with without_collecting():
        await load("stores", "bot.app.resources", "bot.gateway.gateway")
        from bot.app.resources import open_resources
        from bot.bus.leases import CONNECTOR

        loading = begun(load("agents", *AGENTS, *WORKER, *(() if model else clients(settings))))
        opening = open_resources(settings, listen=(connector.name,), model=model)
        async with loading as agents_there, opening as resources:
            if before:
                await before(resources)
            await agents_there
            keep_what_is_loaded()
            inner = inner_roles(resources, ("agents", "worker"))
            gateway = gateway_for(resources, connector, CONNECTOR.of(address.agent_id), chat=address.chat)
            resources.bus.ring(topics.inbox(address.agent_id))  # its agent shows how full it is
            await run_together([gateway.run(), *inner], until_first=True)
            if after:
                await after(resources)
