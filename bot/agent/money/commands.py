"""`/usage` and `/budget`: what was spent, what is left, and who may spend how much."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.context import Context
from bot.agent.money import texts
from bot.agent.money.saved import saved_by_compacting
from bot.agent.money.texts import BUDGET_FORMS, NOT_YOURS, Spent
from bot.runtime.access import Access
from bot.runtime.prices import form_of, how_to_add
from bot.runtime.utc_day import day_of
from bot.store import Database, Tx
from bot.store.inbox import Waiting
from bot.store.money import budgets, spending
from bot.store.money.choices import choice, whose_budget
from bot.store.money.limits import Limits
from bot.store.money.spending import Total

_TOP = 5


class MoneyCommands:
    """Of one agent."""

    def __init__(self, context: Context, database: Database, limits: Limits, access: Access) -> None:
        self._context = context
        self._database = database
        self._limits = limits
        self._access = access

    async def usage(self, message: Waiting) -> str:
        """What whoever asks has spent, and this chat; to those who run the program, what all have."""
        context, now = self._context, self._database.clock()
        today = day_of(now)
        month, connector = f"{today[:6]}01", context.address.connector
        of_person, here = spending.of_person(connector, message.person), spending.of_conversation(context.agent_id)
        async with self._database.read() as tx:
            lines = [
                texts.spent_line("You", await self._spent(tx, of_person, today, month)),
                texts.spent_line("This chat", await self._spent(tx, here, today, month)),
            ]
            lines += self._left(await self._limits.standings(tx, connector, message.person, context.agent_id), now)
            if saved := await saved_by_compacting(tx, context.agent_id, since=month):
                lines.append(texts.saved_line(saved))
            # In a group others read along.
            is_admin = self._access.is_admin(context.address, message.person) and not message.speaker
            if is_admin:
                lines += await self._of_all(tx, message.person, today, month)
            unpriced = await spending.by(tx, ("model",), here & spending.is_unpriced(), month, today)
        if is_admin:
            lines += [how_to_add(name) for (name,) in unpriced]
            if unpriced:
                lines.append(
                    f"In that file, e.g. prices.toml (PRICES=prices.toml):\n{form_of(next(iter(unpriced))[0])}"
                )
        return "\n".join(lines)

    async def _spent(self, tx: Tx, whose: spending.Condition, today: str, month: str) -> Spent:
        days = await spending.by(tx, ("day",), whose, month, today)
        return Spent(days.get((today,), Total()), sum(days.values(), Total()))

    def _left(self, stand: Sequence[budgets.Standing], now: float) -> list[str]:
        return [texts.left_line(one, now, self._context.zone) for one in stand]

    async def _of_all(self, tx: Tx, asks: str, today: str, month: str) -> list[str]:
        """Without who and where, if that is whoever asks and this chat alone: that was said already."""
        address, here = self._context.address, self._context.agent_id
        people, chats, models = [
            await spending.by(tx, names, spending.of_all(), month, today, most=_TOP)
            for names in (("connector", "person"), ("agent_id",), ("model",))
        ]
        listed = [("models", models)]
        lines: list[str] = []
        if set(chats) - {(here,)} or {key for key in people if key[-1]} - {(address.connector, asks)}:
            days = await spending.by_day(tx, month, today)
            spent = Spent(days.get(today, Total()), sum(days.values(), Total()))
            lines, listed = [texts.spent_line("Everybody", spent)], [("people", people), ("chats", chats), *listed]
        for what, top in listed:
            lines.append(texts.top_line(what, {":".join(filter(None, key)): each for key, each in top.items()}))
        return lines

    async def budget(self, argument: str, message: Waiting) -> str:
        """Which budgets hold here; those who run the program choose others."""
        if not argument:
            return await self._budgets(message)
        if not self._access.is_admin(self._context.address, message.person):
            return NOT_YOURS
        word, _, written = argument.partition(" ")
        whose = whose_budget(word, self._context.agent_id)
        if whose is None or not written.strip():
            return BUDGET_FORMS
        try:
            made = choice(whose, written)
        except ValueError as error:
            return f"{written.strip()} {error}."
        now = self._database.clock()
        async with self._context.step() as step:
            if made.budget:
                await budgets.choose(step.tx, made.budget, now=now)
            else:
                await budgets.take_back(step.tx, whose)
        self._limits.look_again()
        return texts.chosen(whose, made.budget)

    async def _budgets(self, message: Waiting) -> str:
        context, now = self._context, self._database.clock()
        async with self._database.read() as tx:
            stand = await self._limits.standings(tx, context.address.connector, message.person, context.agent_id)
            is_admin = self._access.is_admin(context.address, message.person)
            others = await budgets.chosen(tx) if is_admin else []
        lines = self._left(stand, now) or ["There is no budget here."]
        lines += [texts.chosen_line(one) for one in others]
        if is_admin:
            lines += [texts.NOBODY_STOPS_YOU, BUDGET_FORMS]
        return "\n".join(lines)
