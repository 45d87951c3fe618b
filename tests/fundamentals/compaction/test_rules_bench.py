"""A sample of `python -m tests.bench.rules`: what it plays, and that it would see a loss. FEATURES G15."""

from __future__ import annotations

from pathlib import Path

from bot.store import Database, standing_rules
from tests.bench.rules.playing import Playing, opened, play, strategies
from tests.bench.rules.scenarios import LANGUAGES, scenario

ROUNDS = 20


async def test_after_twenty_compactions_by_all_strategies_each_request_holds_each_pinned_rule(data_dir: Path) -> None:
    async with opened(data_dir) as services:
        played = await play(services, scenario(13, ROUNDS), list(strategies().values()))
    assert played.compactions >= ROUNDS
    assert played.held > ROUNDS
    assert played.behind_system
    assert (played.lost, played.revived) == ([], [])


async def test_a_rule_that_is_lost_is_seen(data_dir: Path) -> None:
    async with opened(data_dir) as services:
        playing = Forgetful(services, scenario(1, 2), list(strategies().values()))
        assert (await playing.play()).lost


class Forgetful(Playing):
    """Something takes the rows away."""

    async def _wake(self) -> None:
        await super()._wake()
        self.database: Database = self._services.database

    async def _compact(self, number: int) -> None:
        async with self.database.write() as tx:
            rules = await standing_rules.load(tx, self._context.agent_id)
            await standing_rules.put(tx, self._context.agent_id, [rule.forgotten(0) for rule in rules])
        await self._wake()
        await super()._compact(number)


def test_scenarios_are_in_four_languages_and_the_same_each_time() -> None:
    assert [scenario(number, 5).language for number in range(4)] == list(LANGUAGES)
    assert scenario(7, 5) == scenario(7, 5)
