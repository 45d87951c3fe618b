"""The volume that hosts share."""

from __future__ import annotations

from pathlib import Path

from bot.app.doctor.volume import check_volume
from bot.store.book import database_of
from bot.store.volume import settle
from tests.doctor.conftest import MakeCase, said, the_one


async def test_without_a_database_of_its_own_there_is_nothing_to_share(case: MakeCase) -> None:
    assert await said(check_volume, case()) == []


async def test_a_database_that_knows_no_volume_yet_is_well_and_stays_so(
    case: MakeCase, postgres_database: str, tmp_path: Path
) -> None:
    patient = case(database_url=postgres_database)
    (line,) = await said(check_volume, patient)
    assert line.startswith("ok: The database knows no volume yet")
    assert not (tmp_path / "data").exists()


async def test_the_right_volume_is_well_and_another_one_a_problem(
    case: MakeCase, postgres_database: str, tmp_path: Path
) -> None:
    patient = case(database_url=postgres_database)
    database = database_of(patient.settings)
    await database.open()
    await settle(database, patient.settings.data_dir)
    await database.close()
    assert await said(check_volume, patient) == [f"ok: {tmp_path / 'data'} is the volume of this database."]
    elsewhere = case(database_url=postgres_database, data_dir=tmp_path / "elsewhere")
    finding = await the_one(check_volume, elsewhere, "problem")
    assert "there is no agents/.volume in it" in finding.sentence
    assert "palimpsest volume adopt" in finding.advice


async def test_a_database_that_does_not_answer_is_left_to_its_own_check(case: MakeCase, free_port: int) -> None:
    assert await said(check_volume, case(database_url=f"postgresql://ada@127.0.0.1:{free_port}/talk")) == []
