"""What a job asks of a model for its run: each request is in the book before it is sent, and its cost is counted.

::

    a link is chosen ─▶ the work, with that one's window ─▶ result
          ▲                    │ an outage
          └────────────────────┘ the next link, from the beginning; where all are down, after a while
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import structlog

from bot.errors import ModelError, StoreUnavailable
from bot.estimate import estimate_tokens, family_of, text_tokens
from bot.files.blocks import filled, folder_of
from bot.history import Usage
from bot.history.server_tools import uses_server_tools
from bot.messages import Message, text_of, tool_calls
from bot.model import Head, Link, Reply
from bot.model.chain import Search, is_outage
from bot.store import runs
from bot.store.money.budgets import Usual
from bot.store.money.limits import Limits
from bot.store.runs import Result, Run, SummaryRequest
from workers.bill import NoBudgetError, RunBill, RunRequest
from workers.desk import Desk

log = structlog.get_logger(__name__)

T = TypeVar("T")
_AGAIN_SECONDS = 1.0


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

    @property
    def factor(self) -> float:
        """What the model that is asked counts for each token that we guess: of other text than it has counted, one at
        least."""
        return max(1.0, self.bill.factors.get(self.link.name, 1.0))

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
        """Raises a ModelError, NoAnswerError where a tool is called or no budget is left for it, NotWantedError."""
        kind = mode.split(",", maxsplit=1)[0]
        self.inference.append(SummaryRequest(kind, head.prompt, tuple(messages)))
        await self._note()
        model, number = self.link.model, len(self.inference) - 1
        payer = RunRequest(
            self.bill,
            self.desk.database,
            head,
            guessed=await asyncio.to_thread(guess, head, messages),
            number=number,
            inside=kind == "conversation",
            provider=model.provider,
        )
        try:
            page = await asyncio.to_thread(filled, folder_of(self.desk.data_dir, self.run.agent_id), messages)
            reply = await model.ask(head, page, patience=self.search.short_patience, payer=payer)
        except (ModelError, NoBudgetError) as error:
            self.inference[-1] = replace(self.inference[-1], error=str(error))
            if isinstance(error, NoBudgetError):
                raise NoAnswerError(str(error)) from error
            raise
        finally:
            payer.end()
        self.usage += reply.usage
        self.inference[-1] = replace(self.inference[-1], reply=text_of(reply.blocks))
        if tool_calls(reply.blocks) or uses_server_tools(reply.blocks):
            raise NoAnswerError("the model called a tool")
        return reply

    async def _note(self) -> None:
        """In the book before it is sent, so that the trace has it whatever becomes of us. A book that is away is waited
        for. Raises NotWantedError."""
        while True:
            try:
                async with self.desk.database.write() as tx:
                    await self.bill.book(tx)
                    wanted = await runs.note_request(tx, self.run.id, self.run.job_id, self.inference)
            except StoreUnavailable as error:
                log.warning("store_unavailable", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            self.bill.booked()
            if not wanted:
                raise NotWantedError
            return


def guess(head: Head, messages: Sequence[Message]) -> int:
    """Tokens of a request."""
    tools = text_tokens(json.dumps([dict(tool) for tool in head.tools]), family=family_of(head.model))
    said = estimate_tokens(messages, system=head.prompt, model=head.model)
    return said + (round(tools) if head.tools else 0)
