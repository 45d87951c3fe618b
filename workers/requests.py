"""What a job asks of a model for its run: each request is in the book before it is sent, and its cost is counted.

::

    a link is chosen ─▶ the work, with that one's window ─▶ result
          ▲                    │ an outage
          └────────────────────┘ the next link, from the beginning; where all are down, after a while
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeVar

import structlog

from bot.errors import ModelError, StoreUnavailable
from bot.files.blocks import filled, folder_of
from bot.history import Usage
from bot.history.server_tools import uses_server_tools
from bot.messages import Message, text_of, tool_calls
from bot.model import Head, Link, Reply
from bot.model.chain import Search, is_outage
from bot.runtime.telemetry import telemetry
from bot.store import runs
from bot.store.money.budgets import Usual
from bot.store.money.limits import Limits
from bot.store.runs import Result, Run, SummaryRequest
from workers.bill import RunBill, prompt_of
from workers.desk import Desk

log = structlog.get_logger(__name__)

T = TypeVar("T")
_AGAIN_SECONDS = 1.0
_BUDGET_SECONDS = 20.0
_NO_BUDGET = "the budget is used up"


class NotWantedError(Exception):
    """The run has ended, or another job has it."""


class NoAnswerError(Exception):
    """The answer is something else than what was asked for."""


@dataclass
class Requests:
    """Those of one run."""

    desk: Desk
    run: Run
    search: Search
    bill: RunBill
    usage: Usage = field(default_factory=Usage)
    inference: list[SummaryRequest] = field(default_factory=list)

    @classmethod
    def of(cls, desk: Desk, run: Run) -> Requests:
        """With what other jobs have asked for it."""
        search = Search(desk.summaries, desk.patience, run.agent_id)
        bill = desk.bill_of_run or RunBill(run, Limits(desk.database, Usual()), "", "", passes=True)
        return cls(desk, run, search, bill, inference=list(run.asked))

    @property
    def link(self) -> Link:
        """Who is asked."""
        return self.search.asked.link if self.search.asked else self.desk.summaries.first

    async def answer(self, work: Callable[[], Awaitable[T]]) -> T:
        """What comes of it with the first model that does it: ``work`` begins anew with each that is asked. Raises
        what it raises, and the error of the model that is wanted most where none is there."""
        while True:
            while self.search.choose() is None:
                if self.search.is_over:
                    raise self.search.error
                await asyncio.sleep(self.search.pause)
            try:
                found = await work()
            except ModelError as error:
                if not is_outage(error):
                    raise
                log.warning("model_down", model=self.link.name, cause=error.cause.value, reason=str(error))
                if not self.search.failed(error):
                    raise self.search.error from error
            except NoAnswerError:
                self.search.answered()
                raise
            else:
                self.search.answered()
                return found

    def result(self, outcome: Literal["summary", "empty", "failed"], *, summary: str = "", reason: str = "") -> Result:
        """With what was used and asked on the way."""
        return Result(outcome, summary, reason, self.usage, tuple(self.inference), self.link.name)

    async def ask(self, head: Head, messages: Sequence[Message], mode: str) -> Reply:
        """Raises a ModelError, NoAnswerError where a tool is called, NotWantedError."""
        self.inference.append(SummaryRequest(mode.split(",", maxsplit=1)[0], head.prompt, tuple(messages)))
        at, number = self.desk.database.clock(), len(self.inference) - 1
        prompt = partial(prompt_of, head.prompt, messages, head.model)
        await self._note(head, number, prompt, at)
        try:
            page = await asyncio.to_thread(filled, folder_of(self.desk.data_dir, self.run.agent_id), messages)
            spent = self.bill.spent_on(number, prompt, at)
            reply = await self.link.model.ask(head, page, patience=self.search.short_patience, on_spent=spent)
        except ModelError as error:
            self.inference[-1] = replace(self.inference[-1], error=str(error))
            raise
        self.usage += reply.usage
        self.inference[-1] = replace(self.inference[-1], reply=text_of(reply.blocks))
        if tool_calls(reply.blocks) or uses_server_tools(reply.blocks):
            raise NoAnswerError("the model called a tool")
        return reply

    async def _note(self, head: Head, number: int, prompt: Callable[[], int], at: float) -> None:
        """In the book before it is sent, so that the trace has it whatever becomes of us, with what it may cost. A book
        that is away is waited for. Raises NotWantedError, and NoAnswerError where no budget is left for it."""
        looked = 0.0
        while True:
            try:
                async with self.desk.database.write() as tx:
                    full = await self.bill.before(tx, number, head, prompt, at)
                    wanted = full or await runs.note_request(tx, self.run.id, self.run.job_id, self.inference)
                    if not wanted:
                        raise NotWantedError
                self.bill.booked()
                if full:  # unless it is used up, what others reserved may be given back in a moment
                    if full.is_used_up or looked > _BUDGET_SECONDS:
                        telemetry.budget_refused("compaction", full.budget.scope)
                        log.info("budget_used_up", scope=full.budget.scope.value, limit=full.limit.in_words)
                        self.inference[-1] = replace(self.inference[-1], error=_NO_BUDGET)
                        raise NoAnswerError(_NO_BUDGET)
                    looked += _AGAIN_SECONDS
                    await asyncio.sleep(_AGAIN_SECONDS)
                    continue
            except StoreUnavailable as error:
                log.warning("store_unavailable", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return
