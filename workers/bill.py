"""What the requests of one run cost, whoever works on it: each is in the ledger once, also where its worker was killed.

A row is named by the run, the number of the request and that of the try. So a request that a worker was killed at is
counted, by what was sent, by the one that goes on; and where that worker lives after all, its figures take the place
of the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.estimate import family_of, message_tokens, text_tokens
from bot.history import Usage
from bot.messages import Message
from bot.model import Attempt, Head, OnSpent
from bot.model.charges import charge_of, reservation
from bot.store import Tx
from bot.store.money import ledger
from bot.store.money.budgets import Standing
from bot.store.money.ledger import ESTIMATED, Charge
from bot.store.money.limits import Limits
from bot.store.runs import Run, SummaryRequest


@dataclass
class RunBill:
    """Of one run. ``person``: for whom it is; ``passes``: nothing stops them."""

    run: Run
    limits: Limits
    connector: str
    person: str
    passes: bool
    _unbooked: list[Charge] = field(default_factory=list)
    _reserved: Charge | None = None

    def charge(self, number: int, model: str, at: float, attempt: int = 0) -> Charge:
        """Of a try of the request of this number."""
        purpose: ledger.Purpose = "facts" if self.run.trigger == "facts" else "summary"
        name = f"{self.run.id}.{number}.{attempt}"
        return Charge(
            name,
            self.run.agent_id,
            at,
            purpose,
            model,
            connector=self.connector,
            person=self.person,
            run=self.run.id,
        )

    async def before(self, tx: Tx, number: int, head: Head, prompt: Callable[[], int], at: float) -> Standing | None:
        """This request is about to be sent, as this transaction says; returns the budget in whose way that is."""
        await self.book(tx)
        if not await self.limits.are_any(tx):
            return None
        asked = reservation(self.charge(number, head.model, at), prompt=prompt(), answer=head.max_tokens)
        full = await self.limits.reserve(tx, asked, passes=self.passes)
        if full is None:
            self._reserved = asked
        return full

    def spent_on(self, number: int, prompt: Callable[[], int], at: float) -> OnSpent:
        """What is told of the tries of this request. ``prompt``: counts what is sent, by our own meter."""
        attempts = 0

        def spent(attempt: Attempt) -> None:
            nonlocal attempts
            asked = self.charge(number, attempt.model, at, attempts)
            self._unbooked.append(charge_of(attempt, asked, prompt=0 if attempt.usage.context else prompt()))
            self._reserved = None
            attempts += 1

        return spent

    async def book(self, tx: Tx) -> None:
        """What is not in the ledger yet, and what was reserved for nothing. Doing it again changes nothing."""
        await ledger.record(tx, self._unbooked)
        if self._reserved:
            await ledger.release(tx, self.run.agent_id, [self._reserved.id])

    def booked(self) -> None:
        """The transaction is committed."""
        self._unbooked.clear()

    async def left_behind(self, tx: Tx, asked: Sequence[SummaryRequest], at: float) -> None:
        """A worker before this one was killed while it asked: the last of its requests was sent."""
        if await ledger.close(tx, self.run.agent_id, run=self.run.id) or not asked or not asked[-1].is_cut_off:
            return
        sent = prompt_of(asked[-1].system, asked[-1].messages, self.run.model)
        cut = self.charge(len(asked) - 1, self.run.model, at)
        await ledger.record(tx, [replace(cut, usage=Usage(input=sent), state=ESTIMATED).priced()])


def prompt_of(system: str, messages: Sequence[Message], model: str) -> int:
    """Tokens, about."""
    family = family_of(model)
    return round(text_tokens(system, family=family) + sum(message_tokens(one, family=family) for one in messages))
