"""A host that asks for money with others, and that somebody kills. Called with its name, the URL of the book, the
budgets as JSON, and a number from which its requests are counted; it reads what is asked, persons with numbers, and
says a line of each that has ended."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import structlog

from bot.errors import StoreUnavailable
from bot.history import Usage
from bot.messages import Address
from bot.model import Attempt, Head
from bot.model.calls import MOST_CALLS
from bot.runtime.amounts import Amount
from bot.store import Database, Tx
from bot.store.money import ledger
from bot.store.money.budgets import Usual
from bot.store.money.limits import Limits
from tests.house import MODEL
from workers.bill import NoBudgetError, RunBill, RunRequest

PROMPT, ANSWER = 1_000, 1_000
HEAD = Head(MODEL, ANSWER, "")


def run_of(host: str, person: str) -> Any:
    """What a request is a part of: people have a chat on each host, with one of it."""
    return SimpleNamespace(id=f"{host}.{person}", agent_id=address_of(host, person).agent_id, trigger="auto")


def address_of(host: str, person: str) -> Address:
    """The chat of a person on a host."""
    return Address("room", f"{person}-{host}")


async def main(host: str, url: str, budgets: dict[str, int], start: int, asked: list[tuple[str, int]]) -> None:
    """Until all have ended."""
    database = Database(url)
    limits = Limits(database, Usual(**{name: Amount(number) for name, number in budgets.items()}))

    async def write(what: Callable[[Tx], Awaitable[object]]) -> None:
        """Many processes write: as everywhere else, it is tried again."""
        while True:
            with suppress(StoreUnavailable):
                async with database.write() as tx:
                    await what(tx)
                return
            await database.until_back(1.0)

    async def take_up(tx: Tx) -> None:  # as a job does behind one that was killed
        for person in {person for person, _ in asked}:
            await ledger.close(tx, run_of(host, person).agent_id, run=run_of(host, person).id)

    await write(take_up)
    luck, places = random.Random(host), asyncio.Semaphore(MOST_CALLS)

    async def ask(person: str, number: int) -> None:
        bill = RunBill(run_of(host, person), limits, "room", person, passes=False)
        request = RunRequest(
            bill, database, HEAD, guessed=PROMPT, number=start + number, inside=False, provider="anthropic"
        )
        try:
            while True:
                async with places:
                    if await request.begins():
                        break
                await request.until_it_may()
        except NoBudgetError:
            end = "refused"
        else:
            await asyncio.sleep(luck.uniform(0.005, 0.05))  # while the model answers
            usage = Usage(input=PROMPT, output=luck.randint(ANSWER // 4, ANSWER))
            request.spent(Attempt(MODEL, "anthropic", is_taken=True, is_whole=True, usage=usage))
            await write(bill.book)
            bill.booked()
            limits.lines.given_back()
            end = "done"
        finally:
            request.end()
        sys.stdout.write(f"{json.dumps([end, person, number])}\n")
        sys.stdout.flush()

    async with asyncio.TaskGroup() as racing:
        for person, number in asked:
            racing.create_task(ask(person, number))
    await database.close()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    name, url, amounts, number = sys.argv[1:]
    asyncio.run(main(name, url, json.loads(amounts), int(number), json.loads(sys.stdin.read())))
