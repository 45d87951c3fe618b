"""The bill of one turn: what its requests may cost is reserved where there are budgets, and what each did cost is
written with the step that comes next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from bot.agent.context import Context
from bot.agent.money import texts
from bot.agent.step import Step
from bot.errors import Cause, StoreUnavailable
from bot.history import Usage
from bot.model import Attempt, Head, OnSpent
from bot.model.charges import charge_of, reservation
from bot.runtime.telemetry import telemetry
from bot.store import Database
from bot.store.money import budgets, ledger
from bot.store.money.budgets import Standing
from bot.store.money.ledger import ESTIMATED, Charge
from bot.store.money.limits import Limits
from bot.store.turns import TurnRow

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 60.0
"""For which others, whose answers may use up what is left, are waited for."""
_LOOK_SECONDS = 0.2
_AWAY_SECONDS = 5.0
"""After so long it is tried again, whatever is known of the book."""
TOLD_AT = (80, 100)
"""Percent of a budget at which people are told."""


class UsedUpError(Exception):
    """Nothing may be spent on an answer; the text tells people why, and when it goes on."""

    cause = Cause.BUDGET


class Bill:
    """Of one turn. ``passes``: nothing stops whoever it is for."""

    def __init__(self, row: TurnRow, context: Context, database: Database, limits: Limits, *, passes: bool) -> None:
        self._context = context
        self._database = database
        self._limits = limits
        self._turn = row.id
        self._person = row.person
        self._passes = passes
        self._was_limited = False
        """Whether something was reserved, or might have been."""

    def _charge(self) -> Charge:
        """What is asked now, by whom it is asked."""
        context, now = self._context, self._database.clock()
        return Charge(
            ledger.new_id(now),
            context.agent_id,
            now,
            "turn",
            context.window.model_name,
            connector=context.address.connector,
            person=self._person,
            turn=self._turn,
        )

    async def look(self) -> None:
        """Before anything is done for an answer. Raises UsedUpError where nothing is left for it."""
        if self._passes or not await self._limits.are_any():
            return
        context = self._context
        async with self._database.read() as tx:
            stand = await self._limits.standings(tx, context.address.connector, self._person, context.agent_id)
        asked = reservation(self._charge(), prompt=context.meter.total, answer=0)
        full = budgets.in_the_way(stand, is_free=not asked.cost)
        if full and full.is_used_up:
            raise UsedUpError(self._refusal(full))

    @asynccontextmanager
    async def request(self, head: Head, prompt: int) -> AsyncIterator[OnSpent]:
        """One request, made in this block, of ``prompt`` tokens by our own meter; gives what is told of its tries.
        Raises UsedUpError."""
        reserved = None
        if await self._limits.are_any():
            reserved = await self._reserved(head, prompt)
        unbooked, asked = self._context.unbooked, reserved or self._charge()
        taken = 0

        def spent(attempt: Attempt) -> None:
            nonlocal taken, asked
            unbooked.charges.append(charge_of(attempt, asked, prompt=prompt))
            taken += 1
            asked = self._charge()

        try:
            yield spent
        finally:
            if reserved and not taken:
                unbooked.released.append(reserved.id)

    async def _reserved(self, head: Head, prompt: int) -> Charge:
        """What others reserved is waited for: as a rule they spend less."""
        self._was_limited = True
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_SECONDS
        while True:
            asked = reservation(self._charge(), prompt=prompt, answer=head.max_tokens)
            try:
                async with self._database.write() as tx:
                    written = await self._context.unbooked.write(tx, self._context.agent_id)
                    full = await self._limits.reserve(tx, asked, passes=self._passes)
            except StoreUnavailable as error:  # it may have been written all the same
                self._context.unbooked.released.append(asked.id)
                log.warning("store_unavailable", reason=str(error))
                await self._database.until_back(_AWAY_SECONDS)
                continue
            except BaseException:
                self._context.unbooked.released.append(asked.id)
                raise
            self._context.unbooked.forget(written)
            if full is None:
                return asked
            if full.is_used_up or loop.time() > until:
                raise UsedUpError(self._refusal(full))
            await asyncio.sleep(_LOOK_SECONDS)

    def _refusal(self, full: Standing) -> str:
        telemetry.budget_refused("turn", full.budget.scope)
        log.info("budget_used_up", scope=full.budget.scope.value, limit=full.limit.in_words)
        return texts.refusal(full, self._database.clock(), self._context.zone)

    async def close(self, step: Step) -> None:
        """The turn ends in this step: nothing stays reserved for it, and people are told once of what they have spent
        most of."""
        if not self._was_limited and not await self._limits.are_any(step.tx):
            return
        context = self._context
        await context.unbooked.write(step.tx, context.agent_id)
        await ledger.close(step.tx, context.agent_id, turn=self._turn)
        connector = context.address.connector
        for standing in await self._limits.standings(step.tx, connector, self._person, context.agent_id):
            reached = [percent for percent in TOLD_AT if 100 * standing.spent >= percent * standing.limit.number]
            new = [one for one in reached if await budgets.to_be_told(step.tx, standing, one, now=step.now)]
            if reached and reached[-1] in new:
                await step.say(texts.reached(standing, reached[-1], step.now, context.zone))

    async def resume(self, step: Step) -> None:
        """The process died, or was taken away, while the turn was asking: of a request of which nothing is known is
        counted what was sent."""
        context = self._context
        await context.unbooked.write(step.tx, context.agent_id)
        if await ledger.close(step.tx, context.agent_id, turn=self._turn):
            return
        if not await ledger.is_accounted(step.tx, context.agent_id, self._turn):
            sent = replace(self._charge(), usage=Usage(input=context.meter.total), state=ESTIMATED)
            await ledger.record(step.tx, [sent.priced()])
