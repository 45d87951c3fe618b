"""Runs in the book: one at a time, one job at a time, and one end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from bot.compaction.plan import Trigger
from bot.history import Layer, Usage
from bot.messages import AgentId
from bot.store import Database, Tx, histories, runs, work
from bot.store.runs import NewRun, Result, Run, RunState, SummaryRequest
from tests.unit.one_run import PLAN, a_meter

ADA = AgentId("room-1")
RESULT = Result("summary", "it was said", "", Usage(input=3), (SummaryRequest("conversation", reply="it was said"),))


async def begin(
    tx: Tx, run_id: str = "run1", *, trigger: Trigger = "auto", at: float = 1.0, agent: AgentId = ADA
) -> None:
    await runs.begin(
        tx,
        NewRun(
            id=run_id, agent_id=agent, trigger=trigger, strategy="reset", focus="names", turn_id="turn1", status_slot=5,
            stack=(1, 2), plan=PLAN.as_json(), head="hash", model="claude-test", limit=1_000,
            meter_before=a_meter(900),
        ),
        now=at,
    )  # fmt: skip


async def end(tx: Tx, state: RunState, run_id: str = "run1", reason: str = "") -> bool:
    after = a_meter(100) if state is RunState.DONE else None
    return await runs.end(tx, run_id, state, reason=reason, meter_after=after, now=9.0)


async def got(tx: Tx, run_id: str = "run1") -> Run:
    run = await runs.get(tx, run_id)
    assert run
    return run


async def in_its_own(database: Database, work: Any) -> Any:
    """Run this in a transaction of its own."""
    async with database.write() as tx:
        return await work(tx)


async def test_a_run_comes_back_as_it_was_begun(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        run = await got(tx)
    assert (run.state, run.trigger, run.focus, run.stack, run.plan) == (
        RunState.PLANNED, "auto", "names", (1, 2), run_plan(),
    )  # fmt: skip
    assert (run.job_id, run.jobs, run.result, run.finished_at, run.trace, run.meter_after) == (None, 0) + (None,) * 4


def run_plan() -> Any:
    import json

    return json.loads(json.dumps(PLAN.as_json()))


async def test_there_is_no_run_of_an_unknown_name(database: Database) -> None:
    async with database.read() as tx:
        assert await runs.get(tx, "none") is None
        assert await runs.open_run(tx, ADA) is None
        assert await runs.latest(tx, ADA) is None


async def test_an_agent_has_one_open_run_at_a_time(database: Database) -> None:
    await in_its_own(database, begin)
    with pytest.raises(IntegrityError):
        async with database.write() as tx:
            await begin(tx, "run2")
    async with database.write() as tx:
        await begin(tx, "other", agent=AgentId("room-2"))
        assert await end(tx, RunState.EMPTY)
        await begin(tx, "run2")
        assert (await runs.open_run(tx, ADA)) == await got(tx, "run2")


@pytest.mark.parametrize("first", [RunState.ABORTED, RunState.DONE, RunState.FAILED, RunState.EMPTY])
async def test_a_run_ends_once(database: Database, first: RunState) -> None:
    async with database.write() as tx:
        await begin(tx)
        assert await end(tx, first, reason="the first")
        for state in (RunState.ABORTED, RunState.DONE):
            assert not await end(tx, state, reason="too late")
        run = await got(tx)
    assert (run.state, run.reason, run.finished_at) == (first, "the first", 9.0)


@pytest.mark.parametrize("_", range(5))
async def test_of_an_abort_and_a_commit_at_the_same_moment_exactly_one_happens(database: Database, _: int) -> None:
    await in_its_own(database, begin)

    def ends(state: RunState) -> Coroutine[Any, Any, bool]:
        return in_its_own(database, lambda tx: end(tx, state))

    states = [RunState.ABORTED, RunState.DONE] * 3
    happened = await asyncio.gather(*map(ends, states))
    assert happened.count(True) == 1
    async with database.read() as tx:
        assert (await got(tx)).state is states[happened.index(True)]


async def test_a_commit_that_lost_against_an_abort_leaves_no_layer(database: Database) -> None:
    class TooLate(Exception):
        pass

    await in_its_own(database, begin)
    await in_its_own(database, lambda tx: end(tx, RunState.ABORTED))

    async def commit() -> None:
        async with database.write() as tx:
            layer, inserted = PLAN.layer(1, 10, run="run1", summary="s")
            await histories.put(tx, ADA, layer, inserted, now=1.0)
            if not await end(tx, RunState.DONE):
                raise TooLate

    with pytest.raises(TooLate):
        await commit()
    async with database.read() as tx:
        assert (await histories.load(tx, ADA)).layers == ()
        assert await histories.last_seq(tx, ADA) == 0


async def test_only_the_job_that_a_run_names_may_work_on_it(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        assert not await runs.heartbeat(tx, "run1", "job1", now=2.0), "no job is named yet"
        assert await runs.name_job(tx, "run1", "job1", now=2.0)
        assert await runs.heartbeat(tx, "run1", "job1", now=3.0)
        assert not await runs.heartbeat(tx, "run1", "job2", now=3.0)
        run = await got(tx)
    assert (run.state, run.job_id, run.jobs, run.heartbeat_at) == (RunState.RUNNING, "job1", 1, 3.0)


async def test_a_job_that_was_replaced_is_a_zombie_and_its_result_counts_for_nothing(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        await runs.name_job(tx, "run1", "job1", now=2.0)
        await runs.heartbeat(tx, "run1", "job1", now=3.0)
        assert await runs.name_job(tx, "run1", "job2", now=9.0)
        renamed = await got(tx)
        assert not await runs.heartbeat(tx, "run1", "job1", now=10.0)
        assert not await runs.report(tx, "run1", "job1", RESULT)
        assert (await got(tx)).result is None
        assert await runs.report(tx, "run1", "job2", RESULT)
        assert (await got(tx)).result == RESULT
    assert (renamed.state, renamed.jobs, renamed.heartbeat_at, renamed.enqueued_at) == (RunState.PLANNED, 2, None, 9.0)


async def test_a_run_that_its_job_gives_back_may_have_another_one_and_one_with_a_result_keeps_it(
    database: Database,
) -> None:
    async with database.write() as tx:
        await begin(tx)
        await runs.name_job(tx, "run1", "first", now=2.0)
        assert not await runs.give_back(tx, "run1", "another")
        assert await runs.give_back(tx, "run1", "first")
        assert ((await got(tx)).state, (await got(tx)).job_id) == (RunState.PLANNED, None)
        await runs.name_job(tx, "run1", "second", now=3.0)
        await runs.report(tx, "run1", "second", RESULT)
        assert not await runs.give_back(tx, "run1", "second")
        assert (await got(tx)).job_id == "second"


@pytest.mark.parametrize("state", [RunState.ABORTED, RunState.DONE, RunState.FAILED, RunState.EMPTY])
async def test_a_run_that_ended_wants_no_job_no_heart_and_no_result(database: Database, state: RunState) -> None:
    async with database.write() as tx:
        await begin(tx)
        await runs.name_job(tx, "run1", "job1", now=2.0)
        await end(tx, state)
        assert not await runs.name_job(tx, "run1", "job2", now=3.0)
        assert not await runs.heartbeat(tx, "run1", "job1", now=3.0)
        assert not await runs.report(tx, "run1", "job1", RESULT)
        run = await got(tx)
    assert (run.state, run.job_id, run.result) == (state, "job1", None)


async def test_a_result_ends_nothing_by_itself(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        await runs.name_job(tx, "run1", "job1", now=2.0)
        await runs.report(tx, "run1", "job1", RESULT)
        assert (await got(tx)).state is RunState.PLANNED
        assert await end(tx, RunState.ABORTED)
        assert (await got(tx)).result == RESULT


async def test_the_latest_run_is_the_one_begun_last(database: Database) -> None:
    async with database.write() as tx:
        for at, (name, state) in enumerate([("a", RunState.DONE), ("b", RunState.DONE), ("c", RunState.FAILED)], 1):
            await begin(tx, name, at=float(at))
            await end(tx, state, name)
            if state is RunState.DONE:
                await histories.put(tx, ADA, Layer(at, upto=at, run=name), [], now=float(at))
        latest = [await runs.latest(tx, ADA), await runs.latest(tx, ADA, done=True)]
        latest += [await runs.latest(tx, ADA, done=True, before=2.0), await runs.latest(tx, ADA, before=1.0)]
        await histories.take_off(tx, ADA, 2, now=4.0)
        latest.append(await runs.latest(tx, ADA, done=True))
    assert [run and run.id for run in latest] == ["c", "b", "a", None, "a"]


async def test_it_is_known_whether_a_run_is_under_way(database: Database) -> None:
    async with database.write() as tx:
        assert not await runs.is_under_way(tx, ADA)
        await begin(tx, "ahead")
        assert await runs.is_under_way(tx, ADA)
        assert not await runs.is_under_way(tx, AgentId("room-2"))
        await end(tx, RunState.DONE, "ahead")
        assert not await runs.is_under_way(tx, ADA)


async def test_a_section_that_is_not_in_its_file_yet_is_found_again_oldest_first(database: Database) -> None:
    async with database.write() as tx:
        for at, name in enumerate(("a", "b", "c")):
            await begin(tx, name, at=float(10 - at))
            await end(tx, RunState.DONE, name)
        await begin(tx, "open", at=20.0)
        await runs.set_record(tx, "a", ["## section"])
        assert [run.id for run in await runs.untraced(tx, ADA)] == ["c", "b", "a"]
        await runs.traced(tx, "b")
        assert [(run.id, run.record) for run in await runs.untraced(tx, ADA)] == [("c", None), ("a", ["## section"])]


async def test_agents_with_a_run_to_see_to_its_end_are_found(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        await begin(tx, "run2", agent=AgentId("room-2"))
        await end(tx, RunState.ABORTED, "run2")
        await runs.traced(tx, "run2")
        assert await work.waiting_agents(tx, 10, now=0.0) == [ADA]
        await end(tx, RunState.DONE)
        assert await work.waiting_agents(tx, 10, now=0.0) == [ADA], "its section is not written"
        await runs.traced(tx, "run1")
        assert await work.waiting_agents(tx, 10, now=0.0) == []


async def test_another_plan_may_be_carried_out_than_the_one_it_began_with(database: Database) -> None:
    async with database.write() as tx:
        await begin(tx)
        await runs.replan(tx, "run1", {**PLAN.as_json(), "strategy": "fallback"})
        assert (await got(tx)).plan["strategy"] == "fallback"


async def test_running_summaries_are_found_newest_first_until_somebody_takes_words_back(database: Database) -> None:
    async with database.write() as tx:
        for number in (1, 2):
            await begin(tx, f"fold{number}", trigger="rolling", at=float(number))
            await end(tx, RunState.DONE, f"fold{number}")
        await begin(tx, "run1", at=3.0)
        assert [run.id for run in await runs.folds(tx, ADA)] == ["fold2", "fold1"]
        await runs.discard_errands(tx, ADA, now=9.0)
        assert await runs.folds(tx, ADA) == []
        assert [(await got(tx, name)).state for name in ("fold2", "run1")] == [RunState.FAILED, RunState.PLANNED]


async def test_what_a_model_read_for_facts_is_known_by_its_last_answer_and_one_under_way_ends_with_words_taken_back(
    database: Database,
) -> None:
    async with database.write() as tx:
        for number, state in enumerate((RunState.DONE, RunState.EMPTY, RunState.FAILED), 1):
            await begin(tx, f"facts{number}", trigger="facts", at=float(number))
            await end(tx, state, f"facts{number}")
        await begin(tx, "facts4", trigger="facts", at=4.0)
        last = await runs.last_extraction(tx, ADA)
        assert last
        assert last.id == "facts2", "one that failed has read nothing"
        assert not await runs.is_under_way(tx, ADA), "nobody waits for it"
        assert await runs.latest(tx, ADA) is None, "it is no compaction"
        await runs.discard_errands(tx, ADA, now=9.0)
        assert [(await got(tx, name)).state for name in ("facts1", "facts4")] == [RunState.DONE, RunState.FAILED]
