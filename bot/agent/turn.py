"""A turn: from taken inbox rows to a committed reply. Read this file first.

::

    begin ─▶ make room ─▶ ask the model ─▶ no tool calls: finish
               ▲   │            │
               │   compaction   └ tool calls: record, run each, record each result ─┐
               └────────────────────────────────────────────────────────────────────┘

Each arrow that changes something is one fenced step (:meth:`bot.agent.context.Context.step`), so that a crash at any
moment costs at most the request that was under way; :meth:`Turn.run` on a turn that was cut off goes on from its last
step. Only waiting is ever interrupted by an abort, never a step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import uuid4

import structlog

from bot.agent.abort import AbortedError, AbortSignal
from bot.agent.compacting.compactor import Compactor
from bot.agent.context import Context
from bot.agent.outage import see_written, telling, until_back
from bot.agent.step import Step
from bot.agent.tools.tool import INTERRUPTED, Done, result_block
from bot.agent.turns.ending import Ending
from bot.agent.turns.incoming import Incoming, portion, unmark, without_media
from bot.agent.turns.make_room import CannotGoOnError, RoomMaker
from bot.agent.turns.timing import Timing
from bot.agent.turns.tool_use import ToolUse
from bot.agent.turns.wait_notice import Told
from bot.bus.live_events import LiveReply
from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused
from bot.history import Anchor, EntryKind, Usage, replies
from bot.history.replies import for_people, spoken
from bot.history.server_tools import PAUSED, open_calls, uses_server_tools
from bot.messages import Audience, Block, text_block, text_of, tool_calls
from bot.model import Reply
from bot.runtime.tasks import stop
from bot.runtime.telemetry import telemetry
from bot.store import turns
from bot.store.inbox import Waiting
from bot.store.turns import TurnRow, TurnState

log = structlog.get_logger(__name__)

BARE_REFUSAL_SHARE = 0.9
"""Above it a bad request without a reason is taken for an overflow."""
NO_MORE_TOOLS = "[No more tools in this answer. Say what you have found, and what is missing.]"
TOO_MANY_TOOLS = "I used tools {} times without coming to an answer, and stopped."
TOGETHER_SECONDS = 1.0
"""What comes within so long of each other may be pieces of one thing."""
NOT_FINISHED = "[The search was not finished. Go on without it.]"


class NothingWaitsError(Exception):
    """What was to be answered waits no more."""


class _MoreCameError(Exception):
    """What is to be answered goes on."""


class Turn:
    """One turn of one agent."""

    def __init__(self, context: Context, compactor: Compactor, row: TurnRow) -> None:
        self.id = row.id
        self.tries = row.tries
        """How often it was begun or gone on with since it last came any further."""
        self._context = context
        self._slot = row.slot
        self._usage = Usage()
        self._abort_signal = AbortSignal()
        self._timing = Timing(row.received_at, row.started_at)
        self._ending = Ending(context, row, self._timing)
        self._room = RoomMaker(context, compactor, self._abort_signal, row, self._timing)
        self._joining: dict[int, Waiting] = {}
        self._people: frozenset[str] = frozenset()
        """Whom it answers. Of a turn that is gone on with that is not known, and nothing joins it."""
        self._last_received_at = row.received_at
        self._forget()

    def _forget(self) -> None:
        """What is known of this try alone."""
        self._written = ""
        self._anchor: Anchor | None = None
        self._tools = ToolUse(self._context, self.id, self._slot)
        self._rounds = 0
        self._is_seen = False
        """Whether people see anything of the answer."""
        self._more, self._more_until = asyncio.Event(), 0.0
        self._told = Told(self._context, self._slot)

    @classmethod
    async def begin(cls, context: Context, compactor: Compactor, taken: Sequence[Waiting]) -> Turn:
        """Take inbox rows: from here on they belong to this turn, and what they say is in the history. Where that is
        nothing (a broken picture without a word), the turn ends at once, with a sentence about it.

        Raises NothingWaitsError where nobody waits for an answer any more; then nothing has begun."""
        turn_id = uuid4().hex
        tries = 1 + max(message.tries for message in taken)
        incoming = await Incoming.opened(context, taken)
        async with context.step() as step:
            slot = await step.open_slot(answers=taken[-1].ref)
            now = context.services.database.clock()
            came = min(message.received_at for message in taken)
            row = await turns.begin(step.tx, turn_id, context.agent_id, slot, now=now, tries=tries, received_at=came)
            turn, appended = cls(context, compactor, row), await incoming.append_to(step, turn_id, begins=True)
            if not appended.messages:
                raise NothingWaitsError
            if appended.apology:
                await turn._ending.write(step, TurnState.DONE, appended.apology, Usage())  # its own
        unmark(context, taken)
        turn._people = frozenset(message.person for message in taken)
        turn._last_received_at = max(message.received_at for message in taken)
        return turn

    async def run(self) -> None:
        """Answer. Ends the turn whatever happens, except when the host loses the agent or the store."""
        with structlog.contextvars.bound_contextvars(turn=self.id):
            try:
                async with self._context.presence:
                    await self._answer()
            except AbortedError as aborted:
                await self._ending.aborted(self._written.strip(), self._usage, str(aborted))
            except (CannotGoOnError, ModelError) as error:
                is_provider = isinstance(error, ModelError)
                await self._ending.failed(str(error), self._usage, error.cause, for_operators=is_provider)

    @property
    def state(self) -> TurnState:
        """How far it is."""
        return self._ending.state

    @property
    def said_stopped(self) -> bool:
        """Whether people see by the answer itself that it was stopped."""
        return self._ending.said

    @property
    def waits_for_compaction(self) -> bool:
        """Whether it asks nothing before a compaction has ended."""
        return self._room.waits

    def leave_whole(self) -> None:
        """The compaction that it waits for was stopped, perhaps before it came to wait: it goes on without one."""
        self._room.leave_whole()

    async def again(self) -> bool:
        """Something broke: begin from the last step once more, which counts as a try. False when it had ended."""
        await self._context.reload()
        async with self._context.step() as step:
            running = await turns.running(step.tx, self._context.agent_id)
            if running is None or running.id != self.id:
                return False
            await turns.count_try(step.tx, self.id)
        self.tries = running.tries + 1
        self._forget()
        return True

    async def after_outage(self) -> bool:
        """The book was away: begin from the last step once it is back, which is no other try. False when the turn has
        ended in it."""
        async with self._context.presence, telling(self._context, self._slot, self._written):
            await until_back(self._context)
        async with self._context.services.database.read() as tx:
            running = await turns.running(tx, self._context.agent_id)
        self._forget()
        return running is not None and running.id == self.id

    async def pause(self, seconds: float) -> None:
        """Before another try; an abort ends it."""
        await self._abort_signal.pause(seconds)

    async def hand_over(self) -> None:
        """The host ends: the try that was under way does not count."""
        async with self._context.step() as step:
            await turns.give_back_try(step.tx, self.id)

    async def put_aside(self, reason: str) -> None:
        """It is not tried any more. Bad for the person, but the conversation goes on."""
        await self._context.reload()
        await self._ending.put_aside(reason, self._usage)

    def steer(self, messages: Sequence[Waiting]) -> None:
        """These wait. They join at the next tool boundary; where none comes, they are left to the next turn."""
        self._joining.update((message.id, message) for message in messages)

    def may_take_along(self, messages: Sequence[Waiting]) -> bool:
        """Whether these belong to what is being answered: pieces (of what is forwarded, of a long text) that came right
        after it and from nobody else, while nothing of the answer is seen."""
        if self._is_seen or self._rounds or self.state is not TurnState.RUNNING:
            return False
        own = [message for message in messages if message.person in self._people]
        gaps = pairwise([self._last_received_at, *(message.received_at for message in own)])
        are_close = all(later - earlier < TOGETHER_SECONDS for earlier, later in gaps)
        return len(own) == len(messages) and any(message.expects for message in own) and are_close

    def take_along(self, messages: Sequence[Waiting], seconds: float) -> None:
        """The model is asked again with these, when no more has come for so long."""
        self.steer(messages)
        self._more_until = asyncio.get_running_loop().time() + seconds
        self._more.set()

    def abort(self) -> None:
        """Stop waiting for anything; the turn then ends by itself."""
        self._abort_signal.set()

    async def _answer(self) -> None:
        await self._context.choose_tools()
        await self._settle_open_calls()
        self._rounds = replies.replies(self._context.history, self.id)
        while self._rounds < self._context.services.settings.tools.most_rounds:
            try:
                reply = _as_far_as_meant(await self._ask())
            except _MoreCameError:
                await self._abort_signal.unless(self._more_has_come())
                await self._join()
                continue
            calls = tool_calls(reply.blocks)
            if not calls and reply.stop_reason != PAUSED:
                await self._finish(reply)
                return
            await self._record(reply)
            self._rounds += 1
            self._more.clear()  # what came in the moment of the reply is no reason to give up the next one
            if calls:
                self._tools.next_reply()
                await self._use(calls)
                if await self._join():
                    self._tools.forget_repeats()
            if stuck := self._tools.stuck:
                await self._finish(await self._last_word(stuck), below=stuck)
                return
        await self._finish(await self._last_word(TOO_MANY_TOOLS.format(self._rounds)))

    async def _more_has_come(self) -> None:
        while self._more.is_set():
            self._more.clear()
            await asyncio.sleep(self._more_until - asyncio.get_running_loop().time())

    async def _unless_more(self, ask: Callable[[], Coroutine[Any, Any, Reply]]) -> Reply:
        """The answer, unless what it is to answer goes on before anything of it is seen: then it is given up."""
        task, more = asyncio.create_task(ask()), asyncio.create_task(self._more.wait())
        try:
            await asyncio.wait({task, more}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise _MoreCameError
            return task.result()
        finally:
            await stop(task, more)

    def _on_text(self, live: LiveReply) -> Callable[[str], None]:
        """Shows what is written, unless it is given up."""

        def hear(text: str) -> None:
            if not self._more.is_set():
                self._is_seen = self._is_seen or bool(text.strip())
                live.update(text)

        return hear

    async def _last_word(self, why: str) -> Reply:
        """The model has used tools often enough, and is to answer with what it has. ``why``: what people are told where
        it has nothing to say."""
        await self._note(NO_MORE_TOOLS)
        reply = await self._ask(may_call=False)
        reply = _without_calls(reply)
        if not text_of(reply.blocks).strip():
            raise CannotGoOnError(why, cause=Cause.STUCK)
        return reply

    async def _note(self, text: str) -> None:
        """The program tells the model something."""
        async with self._context.step() as step:
            await step.append("user", [text_block(text)], EntryKind.NOTE, turn=self.id, audience=Audience.MODEL)

    async def _join(self) -> bool:
        """What people said meanwhile, if it is to steer this turn; whether there was anything."""
        messages, self._joining = portion([*self._joining.values()], self._context), {}  # the rest comes again
        if not messages:
            return False
        self._last_received_at = max(message.received_at for message in messages)
        incoming = await Incoming.opened(self._context, messages)
        async with self._context.step() as step:
            joined = (await incoming.append_to(step, self.id)).messages
        unmark(self._context, joined)
        log.info("turn_steered", messages=len(joined))
        return bool(joined)

    async def _ask(self, *, may_call: bool = True) -> Reply:
        """One reply of the model. A context that the provider refuses is compacted, and sent again."""
        while True:
            await self._room.make()
            context = self._context
            stack, guessed = context.history.stack, context.guessed
            before = spoken(replies.paused(context.history, self.id))
            try:
                async with LiveReply(context.services.bus, context.address, self._slot, before) as live:
                    try:
                        hear = self._timing.hearing(self._on_text(live))
                        below = self._told.below(before)
                        ask = partial(context.ask, hear, may_call=may_call, on_wait=below)  # after an abort: not at all
                        with self._timing.of("model"):
                            reply = await self._abort_signal.unless(self._unless_more(ask))
                    finally:
                        self._written = live.text
            except ModelRefused as refused:
                if refused.bare and context.meter.share > BARE_REFUSAL_SHARE:
                    await self._room.recover(str(refused))
                elif not (refused.of_content and (await self._go_on_alone() or await self._go_on_without_media())):
                    raise
                continue
            except ModelOverflow as overflow:
                if overflow.asked:
                    context.correct(overflow.asked)
                await context.learn_limits()
                await self._room.recover(str(overflow))
                continue
            several = uses_server_tools(reply.blocks)  # the provider then reports the sum of its own requests
            self._anchor = Anchor(reply.usage, stack, guessed) if reply.usage.context and not several else None
            self._usage += reply.usage
            return reply

    async def _go_on_alone(self) -> bool:
        """A server may refuse to go on with a search that it paused: then that is over."""
        if not open_calls(replies.paused(self._context.history, self.id)):
            return False
        await self._note(NOT_FINISHED)
        return True

    async def _go_on_without_media(self) -> bool:
        """A server may refuse what is no text: then what came in this turn goes first, and after that all of it."""
        plan = without_media(self._context.history.visible, self.id)
        if plan is None:
            return False
        async with self._context.step() as step:
            await step.put(plan)
            await step.say("The model's server did not take the files. I go on with only their names in view.")
        return True

    async def _record(self, reply: Reply) -> None:
        """A reply with tool calls: written before any of them runs."""

        async def write() -> None:
            async with self._context.step() as step:
                await self._append_reply(step, reply)
                if not tool_calls(reply.blocks):  # what they come to decides whether it came further
                    await self._progressed(step)

        await self._see_written(write)

    async def _progressed(self, step: Step) -> None:
        """What breaks from here on is something else."""
        if self.tries:
            await turns.progressed(step.tx, self.id)
            self.tries = 0

    async def _use(self, calls: Sequence[Block]) -> None:
        for call in calls:
            with self._timing.of("tools"):
                done = await self._abort_signal.unless(self._tools.run(call, written=self._written))
            await self._record_result(done)
            failed = bool(done.block.get("is_error"))
            telemetry.tool_called(self._context.toolbox.kind_of(call["name"]), failed=failed)
            log.info("tool_called", tool=call["name"], failed=failed)

    async def _record_result(self, done: Done, *, interrupted: bool = False) -> None:
        async def write() -> None:
            async with self._context.step() as step:
                await step.append("user", [done.block], EntryKind.RESULT, turn=self.id)
                if done.sending:
                    await step.send_file(done.sending.file, done.sending.caption)
                if not interrupted:
                    await self._progressed(step)

        await self._see_written(write)

    async def _settle_open_calls(self) -> None:
        """After a crash: calls without a result were cut off, and only idempotent ones are run again."""
        for call in self._context.history.open_calls():
            if self._context.toolbox.may_run_again(call):
                await self._use([call])
            else:
                await self._record_result(Done(result_block(call, INTERRUPTED, error=True)), interrupted=True)

    async def _finish(self, reply: Reply, *, below: str = "") -> None:
        """The last step: the reply, the end of the turn, its inbox rows and its slot, in one transaction. ``below``:
        what the program says below the reply."""
        whole = [*replies.paused(self._context.history, self.id), *reply.blocks]
        shown = for_people(whole, reply.stop_reason, below)

        async def write() -> None:
            async with self._context.step() as step:
                await self._append_reply(step, reply)
                await self._ending.write(step, TurnState.DONE, shown, self._usage)

        await self._see_written(write)

    async def _see_written(self, write: Callable[[], Awaitable[None]]) -> None:
        """What the model or a tool has said is not thrown away because the book is away for a while."""
        await see_written(self._context, self.id, self._slot, self._written, write)

    async def _append_reply(self, step: Step, reply: Reply) -> None:
        blocks = [b for b in reply.blocks if b.get("type") != "text" or b["text"].strip()] or [
            text_block("(no answer)")
        ]
        await step.append("assistant", blocks, EntryKind.REPLY, turn=self.id, anchor=self._anchor)


def _as_far_as_meant(reply: Reply) -> Reply:
    """What was declined in the middle of a call is not called."""
    return _without_calls(reply) if reply.stop_reason == "refusal" else reply


def _without_calls(reply: Reply) -> Reply:
    return replace(reply, blocks=tuple(block for block in reply.blocks if block.get("type") != "tool_use"))
