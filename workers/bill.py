"""What the requests of one run cost, whoever works on it: each is in the ledger once, also where its worker was killed.

A row is named by the run, the number of the request and that of the try, and stands there, reserved, before it is sent.
So a request that a worker was killed at is counted, by what was sent, by the one that goes on; and where that worker
lives after all, its figures take the place of the estimate.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from bot.errors import StoreUnavailable
from bot.history import Usage
from bot.model import Attempt, Head
from bot.model.charges import charge_of, expected, reservation
from bot.runtime.telemetry import telemetry
from bot.store import Database, Tx
from bot.store.money import ledger
from bot.store.money.budgets import Standing
from bot.store.money.ledger import Charge
from bot.store.money.limits import Limits
from bot.store.money.lines import Wait
from bot.store.runs import Run

log = structlog.get_logger(__name__)

BUDGET_SECONDS = 20.0
"""For which others, who may use up what is left, are waited for."""


class NoBudgetError(Exception):
    """Nothing may be spent on it."""

    def __init__(self) -> None:
        super().__init__("the budget is used up")


@dataclass
class RunBill:
    """Of one run. ``person``: for whom it is; ``passes``: nothing stops them; ``factors``: what a model counts for each
    token that we guess, by its name."""

    run: Run
    limits: Limits
    connector: str
    person: str
    passes: bool
    factors: dict[str, float] = field(default_factory=dict)
    reserved: Charge | None = None
    """The try that is under way."""
    _unbooked: list[Charge] = field(default_factory=list)

    def charge(self, name: str, at: float, model: str, provider: str) -> Charge:
        """Of a try of this name."""
        return Charge(
            name,
            self.run.agent_id,
            at,
            "facts" if self.run.trigger == "facts" else "summary",
            model,
            connector=self.connector,
            person=self.person,
            provider=provider,
            run=self.run.id,
        )

    async def reserve(self, tx: Tx, asked: Charge, answer: int) -> Standing | None:
        """This try is about to be sent, as this transaction says; returns the budget in whose way that is. Its usage is
        what its prompt is expected to be charged as; ``answer``: tokens that it may give."""
        await self.limits.one_by_one(tx)
        await self.book(tx)
        return await self.limits.reserve(tx, reservation(asked, prompt=asked.usage, answer=answer), passes=self.passes)

    def spent(self, charge: Charge) -> None:
        """A try of a request is over, and to be paid."""
        self._unbooked.append(charge)
        self.reserved = None

    async def book(self, tx: Tx) -> None:
        """What is not in the ledger yet, and what was reserved for nothing. Doing it again changes nothing."""
        await ledger.record(tx, self._unbooked)
        if self.reserved:
            await ledger.release(tx, self.run.agent_id, [self.reserved.id])

    def booked(self) -> None:
        """The transaction is committed."""
        self._unbooked.clear()
        self.reserved = None


class RunRequest:
    """One request of a run, of this number, whose tries are paid one by one: a :class:`bot.model.base.Payer`.
    ``guessed``: tokens of its prompt; ``inside``: it is the conversation's own page, with one message behind it;
    ``provider``: whose endpoint is asked."""

    def __init__(
        self,
        bill: RunBill,
        database: Database,
        head: Head,
        *,
        guessed: int,
        number: int,
        inside: bool,
        provider: str,
    ) -> None:
        self._bill = bill
        self._database = database
        self._head = head
        self._name = f"{bill.run.id}.{number}"
        self._inside = inside
        self._provider = provider
        self._prompt = round(guessed * bill.factors.get(head.model, 1.0))
        self._tries = 0
        self._wait = Wait(bill.limits.lines, database, BUDGET_SECONDS)

    async def begins(self) -> bool:
        """See there. Raises NoBudgetError."""
        bill, at, asked = self._bill, self._database.clock(), f"{self._name}.{self._tries}"
        charge, self._wait.key = bill.charge(asked, at, self._head.model, self._provider), None
        if not self._wait.has_begun and not bill.passes:
            most = reservation(charge, prompt=Usage(input=self._prompt), answer=self._head.max_tokens)
            if key := bill.limits.waited_for(most):
                self._wait.key = key
                return False
        try:
            async with self._database.write() as tx:
                last = await ledger.last_of(tx, charge.agent_id, charge.model, now=at) if self._inside else None
                charge = replace(charge, usage=expected(self._prompt, last, charge))
                full = await bill.reserve(tx, charge, self._head.max_tokens)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return False
        bill.booked()
        if full is None:
            bill.reserved = charge
            self._wait.succeeded()
            return True
        if full.is_used_up or self._wait.is_over:
            telemetry.budget_refused("compaction", full.budget.scope)
            log.info("budget_used_up", scope=full.budget.scope.value, limit=full.limit.in_words)
            raise NoBudgetError
        self._wait.key = full.budget.key
        return False

    async def until_it_may(self) -> None:
        """See there."""
        await self._wait.until_it_may()

    def spent(self, attempt: Attempt) -> None:
        """See there."""
        bill = self._bill
        assert bill.reserved, "nothing is sent before it is reserved"
        bill.spent(charge_of(attempt, bill.reserved, prompt=bill.reserved.usage))
        self._tries += 1

    async def failed(self) -> None:
        """See there."""
        if self._bill.reserved is None:
            return
        with suppress(StoreUnavailable):
            async with self._database.write() as tx:
                await self._bill.book(tx)
            self._bill.booked()

    def end(self) -> None:
        """Nobody waits any more for others."""
        self._wait.leave()
