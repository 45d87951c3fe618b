"""How a summary is come by: from inside the conversation, so that the prompt cache is read; or from its transcript,
whole, without tool results, or in chunks. Then it is checked, and corrected once.

::

    the conversation's model, and it fits ─▶ conversation + instruction ─┐
    otherwise ─▶ transcript (0/10/20/50/100 % of the tool results gone) ─▶ chunks ─┴▶ checks ─▶ result
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from bot.compaction import Plan
from bot.compaction.goal import DETAILS_RATE, SUMMARY_SHARE, frame_tokens
from bot.compaction.summary.checks import is_no_summary, missing, supplemented
from bot.compaction.summary.details import Page, completed
from bot.compaction.summary.frames import details_in
from bot.compaction.summary.instruction import GO_ON, SYSTEM, correction, from_outside, instruction, shorter
from bot.compaction.summary.transcript import (
    EARLIER,
    REMOVAL_SHARES,
    chunks,
    render,
    turns_of,
    without_tool_results,
)
from bot.errors import ModelError, ModelOverflow
from bot.estimate import block_tokens, family_of, message_tokens, text_tokens
from bot.estimate.cuts import beginning
from bot.history import Entry, EntryKind, History, as_request, valid_request
from bot.messages import Message, text_block, text_of
from bot.model import CUT_OFF, Head, Limits, Reply
from bot.runtime.redact import redact
from bot.store import histories
from bot.store.runs import Result, Run
from workers.desk import Desk
from workers.requests import NoAnswerError, NotWantedError, Requests, guess

log = structlog.get_logger(__name__)

_SHORTEST = 200
_MARGIN = 0.9
"""Guesses may be wrong by so much before a request is not even tried."""
_MARGIN_COUNTED = 0.97
"""The same of a conversation that a provider has counted."""
_MOST_CHUNKS = 40
_SPOKEN = (EntryKind.SAID, EntryKind.REPLY)
_BEGINNING = 60
"""Characters by which a message is told from others."""


async def write_summary(desk: Desk, run: Run) -> Result:
    """The result of a run. What goes wrong with the model is a result too."""
    requests = Requests.of(desk, run)

    async def write() -> str:
        return await (await _Writer.of(desk, run, requests)).write()

    try:
        summary = await requests.answer(write)
    except ModelError as error:
        return requests.result("failed", reason=str(error))
    except NoAnswerError as error:
        return requests.result("empty", reason=str(error))
    except NotWantedError:
        return requests.result("failed", reason="the run has ended")  # which is nothing to it
    if is_no_summary(summary):
        return requests.result("empty", summary=summary, reason="the model wrote no summary")
    return requests.result("summary", summary=summary)


@dataclass
class _Question:
    """What is asked for a summary. ``mode``: how it is come by, for the book; ``room``: tokens of the window that it
    may take with its answer; ``taken``: those that it takes, by a guess until a provider has counted it."""

    head: Head
    messages: Sequence[Message]
    mode: str
    room: float
    taken: float

    @property
    def left(self) -> float:
        """Tokens for its answer."""
        return self.room - self.taken


@dataclass
class _Writer:
    desk: Desk
    run: Run
    plan: Plan
    head: Head
    page: tuple[Entry, ...]
    limits: Limits
    requests: Requests

    @classmethod
    async def of(cls, desk: Desk, run: Run, requests: Requests) -> _Writer:
        """Read what the run names: the page as it was planned on, and the head of its requests; for the model that is
        asked now, whoever was meant to be."""
        plan, link = Plan.from_json(run.plan), requests.link
        run = replace(run, model=link.name)
        async with desk.database.read() as tx:
            history = await histories.load(tx, run.agent_id)
            head = Head.from_json(await histories.head(tx, run.head))
        layers = tuple(layer for layer in history.layers if layer.number in run.stack)
        covered = tuple(entry for entry in history.entries if entry.seq <= plan.upto or entry.layer is not None)
        page = History(covered, layers).visible
        limits = await link.model.limits(link.name)
        return cls(desk, run, plan, head, page, limits, requests)

    async def write(self) -> str:
        """A checked summary, or a text that is none. Raises a ModelError when there is no way left."""
        if inside := self._inside():
            try:
                return await self._checked(inside)
            except _CutOffError:
                raise
            except NoAnswerError:
                log.info("summary_from_transcript", reason="the model called a tool")
            except ModelOverflow as overflow:
                log.info("summary_from_transcript", reason=str(overflow))
        return await self._from_transcript()

    def _inside(self) -> _Question | None:
        """Word for word what the conversation sends, and one more message: what comes before it is in the cache. None
        where that is another model's, or leaves no room for a summary."""
        is_the_conversations = self.requests.link in self.desk.talkers and self.run.model == self.head.model
        if self.plan.running or not is_the_conversations or self.run.trigger == "recovery":
            return None
        task = _user(self._task)
        messages = valid_request([*as_request(self.page), task])
        before = self.run.meter_before
        is_counted = before.source == "usage"
        taken = before.total + self._tokens([task])
        if not is_counted:  # a model that counted less of another page than we guessed may count more of this one
            taken = max(taken, self.requests.factor * guess(self.head, messages))
        room = self.limits.window * (_MARGIN_COUNTED if is_counted else _MARGIN)
        question = _Question(self.head, messages, "conversation", room, taken)
        return question if question.left >= self._room else None

    async def _from_transcript(self) -> str:
        wanted = set(self.plan.summarise)
        talk = turns_of(entry for entry in self.page if entry.seq in wanted)
        if self.plan.running:
            talk.insert(0, {"role": EARLIER, "content": self.plan.running})
        head = Head(self.run.model, self._room, SYSTEM)
        roomy = replace(head, max_tokens=self.limits.answer)  # answers come out longer than they were asked to be
        tried = ""
        for share in REMOVAL_SHARES:
            text = render(without_tool_results(talk, share))
            mode = f"transcript, {share:.0%} of the tool results removed"
            question = self._outside(roomy, from_outside(text, self._task), mode) if text != tried else None
            if question is None or question.left < self._room:
                continue
            tried = text
            try:
                return await self._checked(question)
            except ModelOverflow as overflow:
                log.info("summary_overflow", share=share, reason=str(overflow))
        return await self._in_chunks(head, render(without_tool_results(talk, 1.0)))

    async def _in_chunks(self, head: Head, text: str) -> str:
        """Each chunk by itself, and then one summary of the summaries; chunks get smaller while they do not fit."""
        size = self.limits.window * 0.4
        while True:
            pieces = chunks(text, max(_SHORTEST, int(size)), family=family_of(head.model))
            if len(pieces) > _MOST_CHUNKS:
                raise ModelError("The conversation is too large to be summarised, even in parts.")
            try:
                return await self._chunked(head, pieces)
            except ModelOverflow as overflow:
                if size <= _SHORTEST:
                    raise ModelError("Even small parts of the conversation do not fit into the model.") from overflow
                size /= 2

    async def _chunked(self, head: Head, pieces: Sequence[str]) -> str:
        summaries: list[str] = []
        for number, piece in enumerate(pieces, 1):
            content = from_outside(piece, self._task, part=number, parts=len(pieces))
            said = await self._ask(self._outside(head, content, f"chunk {number} of {len(pieces)}"))
            if not is_no_summary(said):
                summaries.append(said)
        if len(summaries) <= 1:
            return await self._with_details(summaries[0]) if summaries else ""
        joined = "\n\n".join(summaries)
        return await self._checked(self._outside(head, from_outside(joined, self._task), "summary of the chunks"))

    async def _checked(self, question: _Question) -> str:
        """A summary; what somebody demanded and it lacks is asked for, once. What is still missing is added."""
        summary = await self._ask(question)
        if is_no_summary(summary):
            return summary
        lacking = missing(summary, self.plan.must_keep)
        if lacking:
            summary = await self._supplemented(question, summary, lacking)
        return await self._with_details(summary)

    async def _supplemented(self, question: _Question, summary: str, lacking: Sequence[str]) -> str:
        """The same summary, and lines that hold what it lacks: whatever the model answers, nothing of it goes."""
        said = [Message(role="assistant", content=[text_block(summary.rstrip())]), _user(correction(lacking))]
        try:
            reply = await self._request(self._followed(question, said, "corrected"))
        except (ModelError, NoAnswerError) as error:
            log.info("summary_not_corrected", reason=str(error))
            return summary
        added = text_of(reply.blocks)
        if reply.stop_reason == CUT_OFF:  # its last line may end within a value
            added = added.rpartition("\n")[0]
        return supplemented(summary, added, lacking)

    async def _with_details(self, summary: str) -> str:
        """Without secrets, and with exact details below it: what of the messages that go is neither in it nor in those
        that stay."""

        def told() -> str:
            own = self._redact(summary)
            return completed(own, self._gone_and_kept(), self._room_for_details(own))

        return await asyncio.to_thread(told)

    def _redact(self, text: str) -> str:
        return redact(text, self.desk.secrets)

    def _gone_and_kept(self) -> Page:
        plan = self.plan
        layer, _ = plan.layer(-1, 0, run=None)
        stays = {entry.seq for entry in History(self.page).covered(layer, ()).visible}
        goes = {*plan.summarise, *plan.replaced}
        return Page(
            gone=tuple(entry for entry in self.page if entry.seq in goes),
            kept=tuple(entry for entry in self.page if entry.seq in stays - goes),
            running=plan.running,
            demanded=plan.must_keep,
            redact=self._redact,
        )

    def _room_for_details(self, summary: str) -> float:
        """A share of the limit, but at most what earlier details take, and a part of what the compaction wins besides:
        it is to make the context smaller."""
        goes = {*self.plan.summarise, *self.plan.folded}
        family = family_of(self.run.model)
        taken = text_tokens(summary, family=family) + frame_tokens(self.plan.inserted)
        gone = [entry for entry in self.page if entry.seq in goes]
        won = max(0.0, sum(entry.tokens for entry in gone) - taken)
        earlier = min(won, sum(text_tokens(details_in(entry), family=family) for entry in gone))
        return min(self.plan.details_share * self.run.limit, earlier + DETAILS_RATE * (won - earlier))

    async def _ask(self, question: _Question) -> str:
        """A whole answer. One that ran into its end is none: what comes last in a summary (what is open, the latest
        request) would be missing, and nobody would see it. Raises _CutOffError where that happens again."""
        reply = await self._request(question)
        text = text_of(reply.blocks).strip()
        if reply.stop_reason != CUT_OFF:
            return text
        # A model that had room enough is to be shorter; one that cannot answer at such length is to go on.
        goes_on = self._most_tokens(question) < self._wanted
        begun = text.rpartition("\n")[0].rstrip() if goes_on else text  # the last line may end within a value
        ask = GO_ON if goes_on and begun else shorter(self._room)
        log.info("summary_cut_off", tokens=reply.usage.output, goes_on=ask is GO_ON)
        said = [Message(role="assistant", content=[text_block(begun or "(cut off)")]), _user(ask)]
        again = await self._request(self._followed(question, said, "cut off"))
        if again.stop_reason == CUT_OFF:
            raise _CutOffError("the summary came to no end, and one so long would not make the context smaller")
        rest = text_of(again.blocks).strip()
        return f"{begun}\n{rest}" if ask is GO_ON else rest

    async def _request(self, question: _Question) -> Reply:
        """With room for the answer: many servers count that into the window. Raises ModelOverflow where there is none,
        as the server would."""
        if question.left < _SHORTEST:
            raise ModelOverflow("There is no room left for an answer.")
        head = replace(question.head, max_tokens=self._most_tokens(question))
        reply = await self.requests.ask(head, question.messages, question.mode)
        question.taken = max(question.taken, reply.usage.context)
        return reply

    def _followed(self, question: _Question, said: Sequence[Message], mode: str) -> _Question:
        """With these messages behind it."""
        messages, taken = valid_request([*question.messages, *said]), question.taken + self._tokens(said)
        return _Question(question.head, messages, f"{question.mode}, {mode}", question.room, taken)

    def _tokens(self, said: Sequence[Message]) -> float:
        """As the model that is asked would count them."""
        family = family_of(self.run.model)
        return self.requests.factor * sum(message_tokens(message, family=family) for message in said)

    def _most_tokens(self, question: _Question) -> int:
        return min(question.head.max_tokens, self.limits.answer, self._room * 2, int(question.left))

    @property
    def _wanted(self) -> int:
        """Tokens that a summary may take."""
        return int(self.run.limit * SUMMARY_SHARE)

    @property
    def _room(self) -> int:
        return max(_SHORTEST, min(self._wanted, self.limits.answer))

    @property
    def _task(self) -> str:
        updates = bool(self.plan.running) or any(entry.kind is EntryKind.SUMMARY for entry in self.page)
        return instruction(focus=self.run.focus, updates=updates, room=self._room, asks=self.plan.asks, part=self._part)

    @property
    def _part(self) -> tuple[str, str] | None:
        """Where what is summarised begins and ends, if talk stays in view beside it: by words of people and of the
        model. Words of a file or of a tool have no place in what the model is told to do."""
        wanted = set(self.plan.summarise)
        talk = (EntryKind.REPLY, EntryKind.RESULT)
        if not any(entry.kind in talk and entry.seq not in wanted for entry in self.page):
            return None
        said = (entry for entry in self.page if entry.seq in wanted and entry.kind in _SPOKEN)
        texts = [text for entry in said if (text := _beginning(entry))]
        return (texts[0], texts[-1]) if texts else None

    def _outside(self, head: Head, content: str, mode: str) -> _Question:
        """One message, and what was made of the conversation in it."""
        asked = [_user(content)]
        taken = self._tokens(asked) + self.requests.factor * block_tokens(head.prompt, family=family_of(head.model))
        return _Question(head, asked, mode, self.limits.window * _MARGIN, taken)


class _CutOffError(NoAnswerError):
    """The answer has no end, twice."""


def _beginning(entry: Entry) -> str:
    line = " ".join(text_of(entry.blocks).split()).replace("“", '"').replace("”", '"')
    return beginning(line, _BEGINNING)


def _user(text: str) -> Message:
    return Message(role="user", content=[text_block(text)])
