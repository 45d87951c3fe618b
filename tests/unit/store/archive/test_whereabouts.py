"""Where a person talked is looked up by the person, however much others said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import Database
from bot.store.archive import whereabouts
from tests.unit.store.plans import Planned


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


async def test_what_a_person_said_and_who_quotes_them_is_looked_up_by_the_person(database: Database) -> None:
    async with database.read() as tx:
        planned = Planned(tx)
        assert (await whereabouts.where(planned, "telegram", "12345")).whole == []
    of_entries = {look for look in planned.looks if " entries " in look}
    assert "SEARCH entries USING INDEX entries_person (person=?)" in of_entries
    assert "SEARCH entries USING INDEX entries_quoted_person (quoted_person=?)" in of_entries
    assert not [look for look in of_entries if look.startswith("SCAN")]
