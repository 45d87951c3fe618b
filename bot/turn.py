"""A turn: from taken inbox rows to a committed reply. Read this file first.

::

    begin ─▶ make room ─▶ ask the model ─▶ no tool calls: finish
               ▲   │            │
               │   compaction   └ tool calls: record, run each, record each result ─┐
               └────────────────────────────────────────────────────────────────────┘

Each arrow that changes something is one fenced step (:meth:`bot.context.Context.step`), so that a crash at any moment
costs at most the request that was under way; :meth:`Turn.run` on a turn that was cut off goes on from its last step.
Only waiting is ever interrupted by an abort, never a step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import uuid4

import structlog

from bot import begun, said
from bot.blame import Blame, blame
from bot.compactor import Compactor, Outcome, Request
from bot.context import Context, Step
from bot.errors import ModelError, ModelOverflow, ModelRefused
from bot.gate import Gate, before_request, is_automatic
from bot.hearing import Heard, unmark
from bot.history import Anchor, EntryKind, Usage
from bot.live import LiveReply
from bot.messages import Audience, Block, text_block, text_of, tool_calls
from bot.model import Reply
from bot.redact import redact
from bot.server_tools import PAUSED, open_calls, uses_server_tools
from bot.spoken import for_people, spoken
from bot.store import inbox, turns
from bot.store.inbox import Waiting
from bot.store.turns import TurnRow, TurnState
from bot.tasks import stop
from bot.tool_use import ToolUse
from bot.tools.tool import INTERRUPTED, Done, result_block

log = structlog.get_logger(__name__)
T = TypeVar("T")

MOST_COMPACTIONS = 3
BARE_REFUSAL_SHARE = 0.9
"""Above it a bad request without a reason is taken for an overflow."""
NO_MORE_TOOLS = "[No more tools in this answer. Say what you have found, and what is missing.]"
NOT_FINISHED = "[The search was not finished. Go on without it.]"
REACHED_MAXIMUM = (
    "Reached maximum compaction attempts. Please start a new session to continue. "
    "(/new starts one; /undo takes it back.)"
)


class Turn:
    """One turn of one agent."""

    def __init__(self, context: Context, compactor: Compactor, row: TurnRow) -> None:
        self.id = row.id
        self._context = context
        self._compactor = compactor
        self._slot = row.slot
        self._compactions = row.recoveries
        self._usage = Usage()
        self._aborted = asyncio.Event()
        self._written = ""
        self._anchor: Anchor | None = None
        self._tools = ToolUse(context, row.id, row.slot)
        self._rounds = 0
        self._joining: dict[int, Waiting] = {}
        self.state = TurnState.RUNNING

    @classmethod
    async def begin(cls, context: Context, compactor: Compactor, taken: Sequence[Waiting]) -> Turn:
        """Take inbox rows: from here on they belong to this turn, and what they say is in the history."""
        turn_id = uuid4().hex
        heard = await Heard.of(context, taken)
        async with context.step() as step:
            slot = await step.open_slot(answers=taken[-1].ref)
            row = await turns.begin(step.tx, turn_id, context.agent_id, slot, now=context.services.database.clock())
            await heard.enter(step, turn_id)
        unmark(context, taken)
        return cls(context, compactor, row)

    async def run(self) -> None:
        """Answer. Ends the turn whatever happens, except when the host loses the agent or the store."""
        with structlog.contextvars.bound_contextvars(turn=self.id):
            try:
                async with self._context.presence:
                    await self._answer()
            except _AbortedError:
                await self._end_aborted()
            except _CannotGoOnError as error:
                await self._end_failed(str(error))
            except ModelError as error:
                await self._end_failed(str(error))

    def steer(self, messages: Sequence[Waiting]) -> None:
        """These wait. They join at the next tool boundary; where none comes, they are left to the next turn."""
        self._joining.update((message.id, message) for message in messages)

    def abort(self) -> None:
        """Stop waiting for anything; the turn then ends by itself."""
        self._aborted.set()

    async def end_crashed(self) -> None:
        """A defect of this program stopped the turn."""
        await self._end_failed("Something went wrong in me, and it was written down. Your message is not lost.")

    async def _answer(self) -> None:
        await self._context.choose_tools()
        await self._settle_open_calls()
        self._rounds = begun.replies(self._context.history, self.id)
        while self._rounds < self._context.services.settings.tools.most_rounds:
            reply = await self._ask()
            calls = tool_calls(reply.blocks)
            if not calls and reply.stop_reason != PAUSED:
                await self._finish(reply)
                return
            await self._record(reply)
            self._rounds += 1
            if calls:
                await self._use(calls)
                await self._join()
        await self._finish(await self._last_word())

    async def _last_word(self) -> Reply:
        """The model has used tools often enough, and is to answer with what it has."""
        await self._note(NO_MORE_TOOLS)
        reply = await self._ask(may_call=False)
        blocks = tuple(block for block in reply.blocks if block.get("type") != "tool_use")
        if not text_of(blocks).strip():
            raise _CannotGoOnError(f"I used tools {self._rounds} times without coming to an answer, and stopped.")
        return replace(reply, blocks=blocks)

    async def _note(self, text: str) -> None:
        """The program tells the model something."""
        async with self._context.step() as step:
            await step.append("user", [text_block(text)], EntryKind.NOTE, turn=self.id, audience=Audience.MODEL)

    async def _join(self) -> None:
        """What people said meanwhile, if it is to steer this turn."""
        messages, self._joining = self._joining, {}
        if not messages:
            return
        heard = await Heard.of(self._context, list(messages.values()))
        async with self._context.step() as step:
            joined = await heard.enter(step, self.id)
        unmark(self._context, joined)
        log.info("turn_steered", messages=len(joined))

    async def _ask(self, *, may_call: bool = True) -> Reply:
        """One reply of the model. A context that the provider refuses is compacted, and sent again."""
        while True:
            await self._make_room()
            context = self._context
            stack, guessed = context.history.stack, context.guessed
            before = spoken(begun.paused(context.history, self.id))
            try:
                async with LiveReply(context.services.bus, context.address, self._slot, before) as live:
                    try:
                        asked = context.ask(live.update, may_call=may_call)
                        reply = await self._unless_aborted(asked)
                    finally:
                        self._written = live.text
            except ModelRefused as refused:
                if refused.bare and context.meter.share > BARE_REFUSAL_SHARE:
                    await self._recover(str(refused))
                elif not (refused.of_content and (await self._go_on_alone() or await self._go_on_without_media())):
                    raise
                continue
            except ModelOverflow as overflow:
                if overflow.asked:
                    context.correct(overflow.asked)
                await context.learn_limits()
                await self._recover(str(overflow))
                continue
            several = uses_server_tools(reply.blocks)  # the provider then reports the sum of its own requests
            self._anchor = Anchor(reply.usage, stack, guessed) if reply.usage.context and not several else None
            self._usage += reply.usage
            return reply

    async def _make_room(self) -> None:
        """The gate before every request."""
        context, settings = self._context, self._context.services.settings.agents
        automatic = is_automatic(settings.warning)
        while True:
            await self._unless_aborted(context.count())
            meter = context.meter
            if meter.over and (found := self._blame()):
                await self._give_up_on(found)
            running = self._compactor.running
            gate = before_request(meter, context.level, context.restraint, running=running, automatic=automatic)
            if gate is Gate.GO_ON:
                return
            if gate is Gate.COMPACT:
                self._compactor.start(Request("auto", turn=self.id))
            outcome = await self._unless_aborted(self._compactor.join())
            if gate is Gate.COMPACT and outcome is Outcome.ABORTED:
                raise _AbortedError
            if gate is Gate.COMPACT and (outcome is Outcome.NOTHING or context.meter.over):
                break
        if context.meter.over:
            await self._recover(f"{context.meter.total:,} of {context.meter.limit:,} tokens")

    async def _recover(self, overflow: str) -> None:
        """The context does not fit: compact it whatever it takes, or say which part is to blame."""
        context = self._context
        log.warning("context_overflow", reason=overflow, compactions=self._compactions)
        if found := self._blame():
            await self._give_up_on(found)
        if self._compactions >= MOST_COMPACTIONS:
            raise _CannotGoOnError(REACHED_MAXIMUM)
        self._compactions += 1
        async with context.step() as step:
            await turns.count_recovery(step.tx, self.id)
        if self._compactor.running:
            await self._unless_aborted(self._compactor.join())
        self._compactor.start(Request("recovery", turn=self.id))
        outcome = await self._unless_aborted(self._compactor.join())
        if outcome is Outcome.ABORTED:
            raise _AbortedError
        if outcome is Outcome.NOTHING:
            found = self._blame(surely=True)
            if context.meter.over or (found and found.plan):
                await self._give_up_on(found)
            # By our own count it fits, and nothing is left to compact: ask once more, which counts as an attempt.

    async def _go_on_alone(self) -> bool:
        """A server may refuse to go on with a search that it paused: then that is over."""
        if not open_calls(begun.paused(self._context.history, self.id)):
            return False
        await self._note(NOT_FINISHED)
        return True

    async def _go_on_without_media(self) -> bool:
        """A server may refuse what is no text: then what came in this turn goes first, and after that all of it."""
        plan = said.without_media(self._context.history.visible, self.id)
        if plan is None:
            return False
        async with self._context.step() as step:
            await step.put(plan)
            await step.say("The model's server did not take the files. I go on with only their names in view.")
        return True

    def _blame(self, *, surely: bool = False) -> Blame | None:
        context = self._context
        return blame(context.history, context.meter, context.head_tokens, context.factor, surely=surely)

    async def _give_up_on(self, found: Blame | None) -> None:
        """One part alone is too large. It is shown to the model in part from now on, so that the next message fits."""
        if found and found.plan:
            async with self._context.step() as step:
                await step.put(found.plan)
        raise _CannotGoOnError(found.sentence if found else REACHED_MAXIMUM)

    async def _record(self, reply: Reply) -> None:
        """A reply with tool calls: written before any of them runs."""
        async with self._context.step() as step:
            await self._append_reply(step, reply)

    async def _use(self, calls: Sequence[Block]) -> None:
        for call in calls:
            done = await self._unless_aborted(self._tools.run(call, written=self._written))
            await self._record_result(done)
            log.info("tool_called", tool=call["name"], failed=bool(done.block.get("is_error")))

    async def _record_result(self, done: Done) -> None:
        async with self._context.step() as step:
            await step.append("user", [done.block], EntryKind.RESULT, turn=self.id)
            if done.sending:
                await step.send_file(done.sending.file, done.sending.caption)

    async def _settle_open_calls(self) -> None:
        """After a crash: calls without a result were cut off, and only idempotent ones are run again."""
        for call in self._context.history.open_calls():
            if self._context.toolbox.may_run_again(call):
                await self._use([call])
            else:
                await self._record_result(Done(result_block(call, INTERRUPTED, error=True)))

    async def _finish(self, reply: Reply) -> None:
        """The last step: the reply, the end of the turn, its inbox rows and its slot, in one transaction."""
        whole = [*begun.paused(self._context.history, self.id), *reply.blocks]
        async with self._context.step() as step:
            await self._append_reply(step, reply)
            await self._end(step, TurnState.DONE, for_people(whole, reply.stop_reason))

    async def _end_aborted(self) -> None:
        """What people saw of the answer stays, marked; what was asked stays in any case."""
        partial = self._written.strip()
        async with self._context.step() as step:
            for call in self._context.history.open_calls():
                await step.append("user", [result_block(call, INTERRUPTED, error=True)], EntryKind.RESULT, turn=self.id)
            if partial:
                blocks = [text_block(f"{partial}\n[interrupted]")]
                await step.append("assistant", blocks, EntryKind.REPLY, turn=self.id, interrupted=True)
            shown = f"{partial} …\n(stopped)" if partial else "(stopped)" if self._rounds else ""
            await self._end(step, TurnState.ABORTED, shown)

    async def _end_failed(self, sentence: str) -> None:
        sentence = redact(sentence, self._context.services.settings.secrets)
        log.warning("turn_failed", reason=sentence)
        async with self._context.step() as step:
            await self._end(step, TurnState.FAILED, f"⚠️ {sentence}")

    async def _append_reply(self, step: Step, reply: Reply) -> None:
        blocks = [b for b in reply.blocks if b.get("type") != "text" or b["text"].strip()] or [
            text_block("(no answer)")
        ]
        await step.append("assistant", blocks, EntryKind.REPLY, turn=self.id, anchor=self._anchor)

    async def _end(self, step: Step, state: TurnState, text: str) -> None:
        context = self._context
        await turns.end(step.tx, self.id, state, self._usage, now=context.services.database.clock())
        await inbox.close_turn(step.tx, self.id)
        if text:
            await step.change(self._slot, text)
        else:
            await step.void(self._slot)
        step.rings.append(f"settled:{context.agent_id}")
        self.state = state
        log.info("turn_ended", state=state.value, tokens=self._usage.context, output=self._usage.output)

    async def _unless_aborted(self, work: Awaitable[T]) -> T:
        """Wait for something, but not longer than for an abort; what was waited for is then cancelled."""
        task = asyncio.ensure_future(work)
        told = asyncio.create_task(self._aborted.wait())
        try:
            await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise _AbortedError
            return task.result()
        finally:
            await stop(task, told)


class _AbortedError(Exception):
    """A person stopped the turn."""


class _CannotGoOnError(Exception):
    """The turn ends without an answer; the text tells people why."""
