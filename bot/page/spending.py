"""What models cost: by day, by person, by conversation, by model; how budgets stand; and all of it as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.messages import AgentId
from bot.page.context import PageContext
from bot.page.figures import Bar, Figure
from bot.page.query import chosen
from bot.page.refusal import Refused, not_found
from bot.runtime.amounts import in_words
from bot.runtime.prices import how_to_add
from bot.runtime.utc_day import bounds_of, day_of
from bot.store import Tx, agents
from bot.store.money import budgets, ledger, spending
from bot.store.money.budgets import Budget, Scope, Standing
from bot.store.money.choices import choice, whose_budget
from bot.store.money.figures import most_spent
from bot.store.money.limits import limits_of
from bot.store.money.spending import Total
from bot.store.schema import ledger as rows_of

log = structlog.get_logger(__name__)

_DAYS = 28
_LATE = 7
_TOP = 10
_LONGEST = 200
_WHOSE = {
    Scope.PERSON: "in a day by",
    Scope.CHAT: "in a day in",
    Scope.DAY: "today by all",
    Scope.MONTH: "this month by all",
}
_COLUMNS = [column.name for column in rows_of.c]


class SpendingPage:
    """`/spending`, and what it adds up as files."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._limits = limits_of(context.settings.budget, context.database)
        self.routes = [
            Route("/spending", self._page, methods=["GET"]),
            Route("/spending/budget", self._choose, methods=["POST"]),
            Route("/spending.csv", self._by_day, methods=["GET"]),
            Route("/ledger.csv", self._rows, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        database, now = self._context.database, self._context.database.clock()
        today = day_of(now)
        days, month = last_days(now), f"{today[:6]}01"
        async with database.read(long=True) as tx:
            by_day = await spending.by_day(tx, min(days[0], month), today)
            by_model = await spending.by(tx, ("model", "purpose"), spending.of_all(), month, today)
            tops = [
                (title, await self._top(tx, names, month, today))
                for title, names in (
                    ("People", ("connector", "person")),
                    ("Conversations", ("agent_id",)),
                )
            ]
            stand = await most_spent(tx, self._limits.usual, now=now, most=_TOP)
            unlimited = [one for one in await budgets.chosen(tx) if one.amount is None]
        return self._context.answer(
            request,
            "spending.html",
            here="spending",
            title="Spending",
            figures=figures(by_day, days, now),
            tops=[*tops, ("Models", _listed(merged(by_model, 0))), ("For what", _listed(merged(by_model, 1)))],
            budgets=[_budget(one) for one in stand],
            unlimited=[_whose(one) for one in unlimited],
            done=chosen(request, "done", ("no", "yes")),
            notes=[how_to_add(name) for (name,), one in merged(by_model, 0).items() if one.unpriced],
        )

    async def _choose(self, request: Request) -> Response:
        """As `/budget` does it in a chat."""
        async with request.form(max_files=0, max_fields=5) as form:
            word, name, written = (str(form.get(field, "")).strip()[:_LONGEST] for field in ("whose", "name", "amount"))
        whose = (
            Budget(Scope.CHAT, None, "", name) if word == "chat" else whose_budget(name if word == "person" else word)
        )
        if whose is None:
            raise Refused(
                HTTPStatus.BAD_REQUEST, "A person is written as telegram:12345: the connector, and their number."
            )
        try:
            made = choice(whose, written)
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{written or 'Nothing'} {error}.") from error
        database = self._context.database
        async with database.write() as tx:
            if whose.scope is Scope.CHAT and not await agents.is_known(tx, AgentId(whose.subject)):
                raise not_found(
                    "There is no conversation of this name: the page of a conversation has it in its address."
                )
            if made.budget:
                await budgets.choose(tx, made.budget, now=database.clock())
            else:
                await budgets.take_back(tx, whose)
        log.info("page_budget", scope=whose.scope.value, amount=_shown(made.budget))
        return RedirectResponse("/spending?done=yes", HTTPStatus.SEE_OTHER)

    async def _top(self, tx: Tx, names: Sequence[str], first: str, last: str) -> list[tuple[str, str, str, int]]:
        return _listed(await spending.by(tx, names, spending.of_all(), first, last, most=_TOP))

    async def _by_day(self, _request: Request) -> Response:
        """What `spending` holds, all of it."""
        names = spending.KEY
        async with self._context.database.read(long=True) as tx:
            found = await spending.by(tx, names, spending.of_all(), "00000000", "99999999", kinds=True)
        lines = [
            [
                *names,
                "requests",
                "estimated",
                "unpriced",
                "input",
                "cache_read",
                "cache_creation",
                "output",
                "nano_dollars",
            ]
        ]
        for key, one in sorted(found.items()):
            used = one.usage
            counts = (one.requests, one.estimated, one.unpriced, used.input, used.cache_read, used.cache_creation)
            lines.append([*key, *map(str, (*counts, used.output, one.cost))])
        return _file("spending.csv", iter([_csv(lines)]))

    async def _rows(self, request: Request) -> Response:
        """The ledger itself, of one month: ``?month=202611``; unset: this one."""
        month = request.query_params.get("month", "") or day_of(self._context.database.clock())[:6]
        try:
            begins = bounds_of(f"{month[:6]}01")[0]
        except ValueError:
            begins = bounds_of(f"{day_of(self._context.database.clock())[:6]}01")[0]
        ends = Budget(Scope.MONTH, None).ends(begins)

        async def written() -> AsyncIterator[str]:
            yield _csv([_COLUMNS])
            after: tuple[float, str] | None = None
            while True:
                async with self._context.database.read(long=True) as tx:
                    some = await ledger.rows(tx, since=begins, before=ends, after=after)
                if not some:
                    return
                yield _csv([["" if row[name] is None else str(row[name]) for name in _COLUMNS] for row in some])
                after = (some[-1]["at"], some[-1]["id"])

        return _file(f"ledger-{day_of(begins)[:6]}.csv", written())


def merged(totals: Mapping[tuple[str, ...], Total], at: int) -> Mapping[tuple[str, ...], Total]:
    """By what stands at this place of their keys alone, those that cost most first."""
    found: dict[tuple[str, ...], Total] = {}
    for key, one in totals.items():
        found[(key[at],)] = found.get((key[at],), Total()) + one
    return dict(sorted(found.items(), key=lambda each: (-each[1].cost, -each[1].tokens)))


def _listed(totals: Mapping[tuple[str, ...], Total]) -> list[tuple[str, str, str, int]]:
    return [
        (":".join(filter(None, key)) or "forgotten", in_words(one.cost), in_words(one.tokens, "tokens"), one.requests)
        for key, one in totals.items()
    ][:_TOP]


def last_days(now: float) -> list[str]:
    """The last four weeks, the oldest day first."""
    here = datetime.fromtimestamp(now, UTC)
    return [(here - timedelta(days=back)).strftime("%Y%m%d") for back in reversed(range(_DAYS))]


def figures(by_day: Mapping[str, Total], days: Sequence[str], now: float) -> list[Figure]:
    """Today, with the four weeks before as bars; this month, and what it comes to if it goes on like this."""
    this_month = sum((one for day, one in by_day.items() if day[:6] == day_of(now)[:6]), Total())
    each = [by_day.get(day, Total()) for day in days]
    costs, tokens = [one.cost for one in each], [one.tokens for one in each]
    here = datetime.fromtimestamp(now, UTC)
    begins = bounds_of(f"{day_of(now)[:6]}01")[0]
    ends = Budget(Scope.MONTH, None).ends(now)
    passed = max(1.0, (now - begins) / 86_400)
    month_days = (ends - begins) / 86_400
    projected = round(this_month.cost * month_days / passed)
    return [
        Figure(
            "Cost today", in_words(costs[-1]), _without(each[-1]), *_bars(costs, "cost at most " + in_words(max(costs)))
        ),
        Figure(
            "Tokens today",
            f"{tokens[-1]:,}",
            (f"{each[-1].requests:,} requests",),
            *_bars(tokens, f"{max(tokens):,} tokens at most"),
        ),
        Figure("This month", in_words(this_month.cost), _without(this_month)),
        Figure("At the end of the month", f"about {in_words(projected)}", (f"if {here:%B} goes on like this",)),
    ]


def _without(total: Total) -> tuple[str, ...]:
    notes = [f"{total.estimated:,} of {total.requests:,} requests estimated"] if total.estimated else []
    return (*notes, f"{total.unpriced:,} without a known price") if total.unpriced else tuple(notes)


def _bars(amounts: Sequence[int], said: str) -> tuple[tuple[Bar, ...], str]:
    highest = max(amounts)
    if not highest:
        return (), ""
    bars = [Bar(at, amount * 100 / highest, at >= _DAYS - _LATE) for at, amount in enumerate(amounts) if amount]
    return tuple(bars), f"The last 28 days, a day a bar: {said}."


def _whose(budget: Budget) -> str:
    return f"{_WHOSE[budget.scope]} {':'.join(filter(None, (budget.connector, budget.subject)))}".strip()


def _shown(budget: Budget | None) -> str:
    if budget is None:
        return "default"
    return budget.amount.in_words if budget.amount else "off"


def _budget(standing: Standing) -> dict[str, object]:
    budget = standing.budget
    return {
        "whose": _whose(budget),
        "spent": in_words(standing.spent, standing.limit.unit),
        "limit": standing.limit.in_words,
        "reserved": in_words(standing.reserved, standing.limit.unit) if standing.reserved else "",
        "share": standing.share,
        "level": "critical" if standing.is_used_up else "warning" if standing.share >= 0.8 else "ok",  # noqa: PLR2004
    }


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _csv(lines: Sequence[Sequence[str]]) -> str:
    """What begins as a formula would, a spreadsheet would calculate."""
    text = io.StringIO()
    writer = csv.writer(text)
    for line in lines:
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in line])
    return text.getvalue()


def _file(name: str, text: object) -> StreamingResponse:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(text, media_type="text/csv", headers=headers)  # type: ignore[arg-type]  # lines, or some to come
