"""A turn: from taken inbox rows to a committed reply. Read this file first.

::

    begin ─▶ who is asked ─▶ make room ─▶ ask the model ─▶ no tool calls: finish
               ▲  ▲             │            │    │
               │  │       compaction         │    └ tool calls: record, run each, record each result ─┐
               │  └── an outage: the next ◀──┘                                                       │
               └─────────────────────────────────────────────────────────────────────────────────────┘

Each arrow that changes something is one fenced step (:meth:`bot.agent.context.Context.step`), so that a crash at any
moment costs at most the request that was under way; :meth:`Turn.run` on a turn that was cut off goes on from its last
step. Only waiting is ever interrupted by an abort, never a step. How it begins and ends, how room is made and how tools
run is in :mod:`bot.agent.turns`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from bot.agent.abort import AbortedError, AbortSignal
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.model_requests import ModelRequests
from bot.agent.money.bill import Bill, UsedUpError
from bot.agent.step import Step
from bot.agent.store_outage import StoreOutage
from bot.agent.tools.tool import INTERRUPTED, Done, result_block
from bot.agent.turns.ending import Ending
from bot.agent.turns.incoming import without_media
from bot.agent.turns.make_room import CannotGoOnError, RoomMaker
from bot.agent.turns.patience import Patience, Question
from bot.agent.turns.steering import MoreCameError, Steering
from bot.agent.turns.timing import Timing
from bot.agent.turns.tool_use import ToolUse
from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused
from bot.history import Anchor, EntryKind, Usage, replies
from bot.history.replies import for_people, spoken
from bot.history.server_tools import PAUSED, open_calls, uses_server_tools
from bot.messages import Audience, Block, text_block, text_of, tool_calls
from bot.model import Reply
from bot.runtime.access import TERMINAL
from bot.runtime.telemetry import telemetry
from bot.store import turns
from bot.store.inbox import Waiting
from bot.store.turns import TurnRow, TurnState

log = structlog.get_logger(__name__)

BARE_REFUSAL_SHARE = 0.9
"""Above it a bad request without a reason is taken for an overflow."""
NO_MORE_TOOLS = "[No more tools in this answer. Say what you have found, and what is missing.]"
TOO_MANY_TOOLS = "I used tools {} times without coming to an answer, and stopped."
NOT_FINISHED = "[The search was not finished. Go on without it.]"


@dataclass
class _Try:
    """What is known of one try alone."""

    tools: ToolUse
    rounds: int = 0
    """How often tools were used."""
    written: str = ""
    """What people see of the answer."""
    anchor: Anchor | None = None


class Turn:
    """One turn of one agent. ``tools``: makes what uses them in one try."""

    def __init__(
        self,
        row: TurnRow,
        context: Context,
        *,
        requests: ModelRequests,
        bill: Bill,
        steering: Steering,
        room: RoomMaker,
        tools: Callable[[], ToolUse],
        patience: Patience,
        ending: Ending,
        live: LiveView,
        outage: StoreOutage,
        timing: Timing,
        abort_signal: AbortSignal,
        most_rounds: int,
    ) -> None:
        self.id = row.id
        self.tries = row.tries
        """How often it was begun or gone on with since it last came any further."""
        self._slot = row.slot
        self._context = context
        self._requests = requests
        self._bill = bill
        self._steering = steering
        self._room = room
        self._new_tools = tools
        self._patience = patience
        self._ending = ending
        self._live = live
        self._outage = outage
        self._timing = timing
        self._abort_signal = abort_signal
        self._most_rounds = most_rounds
        self._usage = Usage()
        self._try = _Try(tools())

    async def run(self) -> None:
        """Answer. Ends the turn whatever happens, except when the host loses the agent or the store."""
        with structlog.contextvars.bound_contextvars(turn=self.id):
            try:
                async with self._live.at_work:
                    await self._answer()
            except AbortedError as aborted:
                await self._ending.aborted(self._try.written.strip(), self._usage, str(aborted))
            except (CannotGoOnError, UsedUpError, ModelError) as error:
                wait = self._patience.wanted_wait if isinstance(error, ModelError) else None
                await self._ending.failed(str(error), self._usage, error.cause, wait=wait)

    async def _answer(self) -> None:
        await self._context.choose_tools()
        await self._settle_open_calls()
        self._try.rounds = replies.replies(self._context.history, self.id)
        while self._try.rounds < self._most_rounds:
            try:
                reply = _as_far_as_meant(await self._ask())
            except MoreCameError:
                await self._abort_signal.unless(self._steering.until_complete())
                await self._steering.join(self.id)
                continue
            calls = tool_calls(reply.blocks)
            if not calls and reply.stop_reason != PAUSED:
                await self._finish(reply)
                return
            self._try.tools.next_reply()
            await self._record(reply)
            self._try.rounds += 1
            self._steering.replied()
            if calls:
                await self._use([call for call in calls if call["id"] not in reply.broken])
                if await self._steering.join(self.id):
                    self._try.tools.forget_repeats()
            if stuck := self._try.tools.stuck:
                await self._finish(await self._last_word(stuck), below=stuck)
                return
        await self._finish(await self._last_word(TOO_MANY_TOOLS.format(self._try.rounds)))

    async def _ask(self, *, may_call: bool = True) -> Reply:
        """One reply of a model: of the next one of the chain where one is away. A context that the provider refuses is
        compacted, and sent again."""
        async with self._patience.question() as question:
            while True:
                await question.take_up()
                await self._abort_signal.unless(self._bill.look())
                await self._room.make()
                context = self._context
                stack, guessed, model = context.history.stack, context.guessed, context.window.model_name
                try:
                    reply = await self._written_by_model(question, may_call=may_call)
                except ModelRefused as refused:
                    if refused.bare and context.meter.share > BARE_REFUSAL_SHARE:
                        await self._room.recover(str(refused))
                    elif not (refused.of_content and (await self._go_on_alone() or await self._go_on_without_media())):
                        await self._ask_another(question, refused)
                except ModelOverflow as overflow:
                    if overflow.asked:
                        context.correct(overflow.asked)
                    longest = context.window.head.max_tokens
                    await context.window.learn()
                    if context.meter.over or context.window.head.max_tokens >= longest:
                        await self._room.recover(str(overflow))
                    # Else only the room for the answer was too large. It has become smaller, and it is asked again.
                except ModelError as error:
                    await self._ask_another(question, error)
                else:
                    break
        several = uses_server_tools(reply.blocks)  # the provider then reports the sum of its own requests
        is_measured = reply.usage.context and not several
        self._try.anchor = Anchor(reply.usage, stack, guessed, model) if is_measured else None
        self._usage += reply.usage
        question.answered()
        await self._patience.look_whether_cut()
        return reply

    async def _ask_another(self, question: Question, error: ModelError) -> None:
        """Whoever was asked is away. What it had begun with a search of its own nobody else goes on with."""
        await question.failed(error, self._try.written)
        if self._patience.has_others:
            await self._go_on_alone()

    async def _written_by_model(self, question: Question, *, may_call: bool) -> Reply:
        """A reply, which people see while it is written."""
        before = spoken(replies.paused(self._context.history, self.id))
        async with self._live.reply(self._slot, before) as live:
            try:
                on_text = question.hearing(self._timing.hearing(self._steering.shown_by(live)))
                on_wait = self._live.show_wait(self._slot, before)
                patience = question.search.short_patience
                ask = partial(self._requests.ask, on_text, may_call=may_call, on_wait=on_wait, patience=patience)
                with self._timing.of("model"):  # the request is a function: after an abort none is made
                    return await self._abort_signal.unless(self._steering.unless_more(ask))
            finally:
                self._try.written = live.text

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
        """A reply with tool calls: written before any of them runs, with what becomes of those that cannot run."""
        broken = [call for call in tool_calls(reply.blocks) if call["id"] in reply.broken]
        results = [self._try.tools.broken(call) for call in broken]

        async def write() -> None:
            async with self._context.step() as step:
                await self._append_reply(step, reply)
                for result in results:
                    await step.append("user", [result], EntryKind.RESULT, turn=self.id)
                if results or not tool_calls(reply.blocks):  # what they come to decides whether it came further
                    await self._progressed(step)

        await self._see_written(write)
        for call in broken:
            log.info("call_broken_off", tool=call["name"])

    async def _use(self, calls: Sequence[Block]) -> None:
        for call in calls:
            kind = self._context.window.toolbox.kind_of(call["name"])
            with self._timing.of("tools"), telemetry.tool_span(kind, call) as span:
                done = await self._abort_signal.unless(self._try.tools.run(call, written=self._try.written))
                span.returned(done.block)
            await self._record_result(done)
            failed = bool(done.block.get("is_error"))
            telemetry.tool_called(kind, failed=failed)
            log.info("tool_called", tool=call["name"], failed=failed)

    async def _record_result(self, done: Done, *, interrupted: bool = False) -> None:
        async def write() -> None:
            async with self._context.step() as step:
                block = await done.writing(step) if done.writing else done.block
                await step.append("user", [block], EntryKind.RESULT, turn=self.id)
                if done.sending:
                    await step.send_file(done.sending.file, done.sending.caption)
                if not interrupted:
                    await self._progressed(step)

        await self._see_written(write)

    async def _settle_open_calls(self) -> None:
        """After a crash: calls without a result were cut off, and only idempotent ones are run again."""
        for call in self._context.history.open_calls():
            if self._context.window.toolbox.may_run_again(call):
                await self._use([call])
            else:
                await self._record_result(Done(result_block(call, INTERRUPTED, error=True)), interrupted=True)

    async def _last_word(self, why: str) -> Reply:
        """The model has used tools often enough, and is to answer with what it has. ``why``: what people read where it
        has nothing to say."""
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

    async def _finish(self, reply: Reply, *, below: str = "") -> None:
        """The last step: the reply, the end of the turn, its inbox rows and its slot, in one transaction. ``below``:
        what the program says below the reply."""
        whole = [*replies.paused(self._context.history, self.id), *reply.blocks]
        changed, is_here = self._patience.changed, self._context.address.connector == TERMINAL
        notes = " ".join(note for note in (below, "" if is_here else changed) if note)
        shown = for_people(whole, reply.stop_reason, notes)

        async def write() -> None:
            async with self._context.step() as step:
                await self._append_reply(step, reply)
                await self._ending.write(step, TurnState.DONE, shown, self._usage)
                if changed and is_here:  # where an answer may be read by a program
                    await step.say(changed)

        await self._see_written(write)

    async def _see_written(self, write: Callable[[], Awaitable[None]]) -> None:
        """What the model or a tool has said is not thrown away because the book is away for a while."""
        await self._outage.see_written(self.id, self._slot, self._try.written, write)

    async def _append_reply(self, step: Step, reply: Reply) -> None:
        blocks = [b for b in reply.blocks if b.get("type") != "text" or b["text"].strip()] or [
            text_block("(no answer)")
        ]
        await step.append("assistant", blocks, EntryKind.REPLY, turn=self.id, anchor=self._try.anchor)

    async def _progressed(self, step: Step) -> None:
        """What breaks from here on is something else."""
        if self.tries:
            await turns.progressed(step.tx, self.id)
            self.tries = 0

    # What others ask of it, or do to it, while it runs.

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

    def abort(self) -> None:
        """Stop waiting for anything; the turn then ends by itself."""
        self._abort_signal.set()

    def steer(self, messages: Sequence[Waiting]) -> None:
        """These wait, and join at the next tool boundary."""
        self._steering.steer(messages)

    def may_take_along(self, messages: Sequence[Waiting]) -> bool:
        """Whether these are pieces of what is being answered, and nothing came of the answer yet."""
        return not self._try.rounds and self.state is TurnState.RUNNING and self._steering.belong(messages)

    def take_along(self, messages: Sequence[Waiting], seconds: float) -> None:
        """The model is asked again with these, when no more has come for so long."""
        self._steering.take_along(messages, seconds)

    async def end_with(self, step: Step, text: str) -> None:
        """There is nothing to answer, for which the text says why: as part of the step that begins it."""
        await self._ending.write(step, TurnState.DONE, text, Usage())

    # When a try has come to nothing (:mod:`bot.agent.retries`).

    async def again(self, *, was_killed: bool = False) -> bool:
        """Something broke: begin from the last step once more, which counts as a try. False when it had ended.
        ``was_killed``: the process that was at it is no more, and nobody knows what it had asked."""
        await self._context.reload()
        async with self._context.step() as step:
            running = await turns.running(step.tx, self._context.agent_id)
            if running is None or running.id != self.id:
                return False
            await turns.count_try(step.tx, self.id)
            if was_killed and self._may_have_asked:
                await self._bill.resume(step)
        self.tries = running.tries + 1
        self._begin_try()
        return True

    @property
    def _may_have_asked(self) -> bool:
        """Whether it is a request of its own that may have been under way, and no tool or compaction."""
        return not (self._context.history.open_calls() or self._room.waits)

    async def after_outage(self) -> bool:
        """The book was away: begin from the last step once it is back, which is no other try. False when the turn has
        ended in it."""
        async with self._live.at_work, self._outage.telling(self._slot, self._try.written):
            await self._outage.until_back()
        goes_on = await self._outage.has_kept(self.id)
        self._begin_try()
        return goes_on

    def _begin_try(self) -> None:
        self._try = _Try(self._new_tools())
        self._steering.next_try()

    async def pause(self, seconds: float) -> None:
        """Before another try; an abort ends it."""
        await self._abort_signal.pause(seconds)

    async def hand_over(self) -> None:
        """The host ends: the try that was under way does not count."""
        async with self._context.step() as step:
            await turns.give_back_try(step.tx, self.id)

    async def put_aside(self, reason: str, *, was_killed: bool = False) -> None:
        """It is not tried any more. Bad for the person, but the conversation goes on. ``was_killed``: as above."""
        await self._context.reload()
        if was_killed and self._may_have_asked:
            async with self._context.step() as step:
                await self._bill.resume(step)
        await self._ending.put_aside(reason, self._usage)


def _as_far_as_meant(reply: Reply) -> Reply:
    """What was declined in the middle of a call is not called."""
    return _without_calls(reply) if reply.stop_reason == "refusal" else reply


def _without_calls(reply: Reply) -> Reply:
    return replace(reply, blocks=tuple(block for block in reply.blocks if block.get("type") != "tool_use"))
