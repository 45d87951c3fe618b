"""The windows of models as refusals stated them: see :mod:`bot.estimate.learned_windows`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, inspect, select

from bot.errors import StoreUnavailable
from bot.estimate.learned_windows import REMEMBERED_SECONDS, Learned, OwnWindows
from bot.store.database import Database
from bot.store.schema import learned_windows
from bot.store.tx import Tx, insert_into

_THIS = ("place", "model")


class BookWindows:
    """Kept in the book: every process reads the same. While the book is away, what was last read of it holds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read = OwnWindows()

    async def learned(self, place: str, model: str) -> Learned | None:
        """See :class:`bot.estimate.learned_windows.Windows`."""
        try:
            async with self._database.read() as tx:
                found = await of(tx, place, model, now=self._database.clock())
        except StoreUnavailable:
            return await self._read.learned(place, model)
        if found:
            await self._read.learn(place, model, found)
        else:
            await self._read.forget(place, model)
        return found

    async def learn(self, place: str, model: str, learned: Learned) -> None:
        """See :class:`bot.estimate.learned_windows.Windows`. A book that is away learns it from the next refusal."""
        await self._read.learn(place, model, learned)
        values = {"tokens": learned.window, "said": learned.said, "listed_tokens": learned.listed}
        try:
            async with self._database.write() as tx:
                new = {**values, "learned_at": self._database.clock()}
                insert = insert_into(tx, learned_windows).values(place=place, model=model, **new)
                await tx.execute(insert.on_conflict_do_update(index_elements=_THIS, set_=new))
        except StoreUnavailable:
            return

    async def forget(self, place: str, model: str) -> None:
        """See :class:`bot.estimate.learned_windows.Windows`."""
        await self._read.forget(place, model)
        this = (learned_windows.c.place == place, learned_windows.c.model == model)
        try:
            async with self._database.write() as tx:
                await tx.execute(delete(learned_windows).where(*this))
        except StoreUnavailable:
            return


async def of(tx: Tx, place: str, model: str, *, now: float) -> Learned | None:
    """What was learned of one model, unless that is too long ago."""
    this = (learned_windows.c.place == place, learned_windows.c.model == model)
    row = (await tx.execute(select(learned_windows).where(*this))).mappings().first()
    if row is None or row["learned_at"] + REMEMBERED_SECONDS < now:
        return None
    return Learned(row["tokens"], row["said"], row["listed_tokens"], row["learned_at"])


async def all_of(tx: Tx, *, now: float) -> Sequence[tuple[str, str, Learned]]:
    """Place, model and what was learned, of all that holds; of a book without the table nothing."""
    if not await tx.run_sync(lambda connection: inspect(connection).has_table(learned_windows.name)):
        return []
    rows = (await tx.execute(select(learned_windows).order_by(*_THIS))).mappings().all()
    return [
        (row["place"], row["model"], Learned(row["tokens"], row["said"], row["listed_tokens"], row["learned_at"]))
        for row in rows
        if row["learned_at"] + REMEMBERED_SECONDS >= now
    ]
