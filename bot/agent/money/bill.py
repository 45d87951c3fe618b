"""The bill of one turn: what its requests may cost is reserved where there are budgets, and what each did cost is
written with the step that comes next.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import structlog

from bot.agent.context import Context
from bot.agent.money import texts
from bot.agent.step import Step
from bot.errors import Cause, StoreUnavailable
from bot.history import Usage
from bot.model import Attempt, Head, Payer
from bot.model.charges import charge_of, reservation
from bot.model.charges import expected as expected_usage
from bot.runtime.telemetry import telemetry
from bot.store import Database, Tx
from bot.store.money import budgets, ledger
from bot.store.money.budgets import Standing
from bot.store.money.ledger import ESTIMATED, Charge
from bot.store.money.limits import Limits
from bot.store.money.lines import Key, Wait
from bot.store.turns import TurnRow

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 60.0
"""For which others, whose answers may use up what is left, are waited for."""
TOLD_AT = (80, 100)
"""Percent of a budget at which people are told."""


class UsedUpError(Exception):
    """Nothing may be spent on an answer; the text tells people why, and when it goes on."""

    cause = Cause.BUDGET


class Bill:
    """Of one turn. ``passes``: nothing stops whoever it is for."""

    def __init__(self, row: TurnRow, context: Context, database: Database, limits: Limits, *, passes: bool) -> None:
        self.context = context
        self.database = database
        self.limits = limits
        self._turn = row.id
        self._person = row.person
        self.passes = passes
        self.is_careful = False
        """Whether each request is written down before it is sent, where nothing is limited, too: after a kill it is
        known of the first one of a step alone, without that, that it was under way."""
        self.was_limited = False
        """Whether something was reserved, or might have been."""

    def charge(self) -> Charge:
        """What is asked now, by whom it is asked."""
        context, now = self.context, self.database.clock()
        return Charge(
            ledger.new_id(now),
            context.agent_id,
            now,
            "turn",
            context.window.model_name,
            connector=context.address.connector,
            person=self._person,
            provider=context.window.link.model.provider,
            turn=self._turn,
        )

    async def look(self) -> None:
        """Before anything is done for an answer. Raises UsedUpError where nothing is left for it."""
        if self.passes or not await self.limits.are_any():
            return
        context = self.context
        async with self.database.read() as tx:
            stand = await self.limits.standings(tx, context.address.connector, self._person, context.agent_id)
        asked = reservation(self.charge(), prompt=Usage(input=context.meter.total), answer=0)
        full = budgets.in_the_way(stand, is_free=not asked.cost)
        if full and full.is_used_up:
            raise UsedUpError(self.refusal(full))

    @asynccontextmanager
    async def request(self, head: Head, prompt: int) -> AsyncIterator[Payer]:
        """One request, made in this block, of ``prompt`` tokens by our own meter; gives who pays for it."""
        request = _Request(self, head, prompt)
        try:
            yield request
        finally:
            request.end()

    async def expected(self, tx: Tx, asked: Charge, prompt: int) -> Usage:
        """What the cache is likely to have of a request that is sent now."""
        context = self.context
        kept = None if context.meter.source == "usage" else context.head_tokens
        last = await ledger.last_of(tx, context.agent_id, asked.model, now=asked.at)
        return expected_usage(prompt, last, asked, kept=kept)

    def likely(self, asked: Charge, prompt: int) -> Usage:
        """The same by what was asked in this process."""
        context = self.context
        kept = None if context.meter.source == "usage" else context.head_tokens
        return expected_usage(prompt, context.unbooked.last.get(asked.model), asked, kept=kept)

    def refusal(self, full: Standing) -> str:
        telemetry.budget_refused("turn", full.budget.scope)
        log.info("budget_used_up", scope=full.budget.scope.value, limit=full.limit.in_words)
        return texts.refusal(full, self.database.clock(), self.context.zone)

    async def close(self, step: Step) -> None:
        """The turn ends in this step: nothing stays reserved for it, and people are told once of what they have spent
        most of."""
        if not self.was_limited and not await self.limits.are_any(step.tx):
            return
        context = self.context
        await context.unbooked.write(step.tx, context.agent_id)
        await ledger.close(step.tx, context.agent_id, turn=self._turn)
        step.afterwards.append(self.limits.lines.given_back)
        connector = context.address.connector
        for standing in await self.limits.standings(step.tx, connector, self._person, context.agent_id):
            reached = [percent for percent in TOLD_AT if 100 * standing.spent >= percent * standing.limit.number]
            new = [one for one in reached if await budgets.to_be_told(step.tx, standing, one, now=step.now)]
            if reached and reached[-1] in new:
                await step.say(texts.reached(standing, reached[-1], step.now, context.zone))

    async def resume(self, step: Step) -> None:
        """The process died, or was taken away, while the turn was asking: of a request of which nothing is known is
        counted what was sent."""
        context = self.context
        await context.unbooked.write(step.tx, context.agent_id)
        self.is_careful = True
        if await ledger.close(step.tx, context.agent_id, turn=self._turn) or await self.limits.are_any(step.tx):
            return
        if not await ledger.is_accounted(step.tx, context.agent_id, self._turn):
            asked = self.charge()
            usage = await self.expected(step.tx, asked, context.meter.total)
            await ledger.record(step.tx, [replace(asked, usage=usage, state=ESTIMATED).priced()])


class _Request:
    """One request of a turn, whose tries are paid one by one: a :class:`bot.model.base.Payer`."""

    def __init__(self, bill: Bill, head: Head, prompt: int) -> None:
        self._bill = bill
        self._head = head
        self._prompt = prompt
        self._tries = 0
        self._asked: Charge | None = None
        """The try that is under way."""
        self._is_reserved = False
        self._wait = Wait(bill.limits.lines, bill.database, PATIENCE_SECONDS)

    async def begins(self) -> bool:
        """See there. Raises UsedUpError."""
        bill = self._bill
        self._asked, self._is_reserved = bill.charge(), False
        self._tries += 1
        if not (bill.is_careful or self._tries > 1 or await bill.limits.are_any()):
            return True
        bill.was_limited = True
        if key := self._ahead():
            self._wait.key = key
            return False
        full = await self._reserve()
        if full is None:
            return self._is_reserved
        if full.is_used_up or self._wait.is_over:
            raise UsedUpError(bill.refusal(full))
        self._wait.key = full.budget.key
        return False

    def _ahead(self) -> Key | None:
        """A budget that others wait for here already."""
        bill = self._bill
        if bill.passes or self._wait.has_begun:
            return None
        return bill.limits.waited_for(self._most(bill.charge(), Usage(input=self._prompt)))

    def _most(self, asked: Charge, prompt: Usage) -> Charge:
        return reservation(asked, prompt=prompt, answer=self._head.max_tokens)

    async def _reserve(self) -> Standing | None:
        """The budget that is in the way, if any. What is in doubt is given back later."""
        bill = self._bill
        unbooked, agent_id = bill.context.unbooked, bill.context.agent_id
        asked = bill.charge()
        try:
            async with bill.database.write() as tx:
                await bill.limits.one_by_one(tx)
                written = await unbooked.write(tx, agent_id)
                prompt = await bill.expected(tx, asked, self._prompt)
                asked = self._most(asked, prompt)
                full = await bill.limits.reserve(tx, asked, passes=bill.passes)
        except StoreUnavailable as error:  # it may have been written all the same
            unbooked.released.append(asked.id)
            log.warning("store_unavailable", reason=str(error))
            self._wait.key = None
            return None
        except BaseException:
            unbooked.released.append(asked.id)
            raise
        unbooked.forget(written)
        if full is None:
            self._asked, self._is_reserved = asked, True
            self._wait.succeeded()
        return full

    async def until_it_may(self) -> None:
        """See there."""
        await self._wait.until_it_may()

    def spent(self, attempt: Attempt) -> None:
        """See there."""
        assert self._asked, "nothing is sent before it begins"
        bill, asked = self._bill, self._asked
        prompt = replace(asked.usage, output=0) if self._is_reserved else bill.likely(asked, self._prompt)
        bill.context.unbooked.add(charge_of(attempt, asked, prompt=prompt))
        self._asked, self._is_reserved = None, False

    async def failed(self) -> None:
        """See there. What was reserved for it is given back at once: some time may pass until the next step."""
        bill, unbooked = self._bill, self._bill.context.unbooked
        bill.is_careful = bill.is_careful or bool(unbooked.charges)
        if not self._is_reserved:
            return
        self.end()
        with suppress(StoreUnavailable):
            async with bill.database.write() as tx:
                written = await unbooked.write(tx, bill.context.agent_id)
            unbooked.forget(written)
            bill.limits.lines.given_back()

    def end(self) -> None:
        """Nothing is sent any more."""
        if self._is_reserved and self._asked:
            self._bill.context.unbooked.released.append(self._asked.id)
        self._asked, self._is_reserved = None, False
        self._wait.leave()
