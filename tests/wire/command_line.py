"""A book with compactions in it, and the command line beside it, inside the test's process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from bot.agent.compacting.trace import render
from bot.app.cli.main import app
from bot.history import Layer, Usage
from bot.messages import Address, AgentId
from bot.store import Database, Tx, agents, histories, runs, turns
from bot.store.runs import NewRun, Result, RunState, SummaryRequest
from bot.store.traces import records
from tests.unit.entries import said
from tests.unit.one_run import PLAN, a_meter

ADA, BOB = Address("telegram", "1001"), Address("telegram", "1002")
NOON = 1_795_262_400.0
"""2026-11-21 12:00:00 UTC"""


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its one document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Its lines on standard output."""
        return self.out.splitlines()


@dataclass(frozen=True)
class CommandLine:
    """Calls commands on the stores that this environment names."""

    data: Path
    database: Database
    environment: Mapping[str, str]

    async def __call__(self, *words: str, said: str = "") -> Answer:
        """One command, to its end. A loop of its own runs it, so it has a thread of its own."""
        result = await asyncio.to_thread(CliRunner().invoke, app, list(words), input=said, env=dict(self.environment))
        return Answer(result.exit_code, result.stdout, result.stderr)

    def file(self, address: Address, day: str) -> Path:
        """A daily file."""
        return self.data / "agents" / address.agent_id / f"compaction_{day}.md"


async def ran(
    database: Database,
    run_id: str,
    address: Address = ADA,
    *,
    at: float = NOON,
    state: RunState = RunState.DONE,
    inference: str = "",
    **changes: Any,
) -> None:
    """A compaction that ended so, 2.5 s after it began; with its section, as the agent writes it."""
    async with database.write() as tx:
        await agents.ensure(tx, address, now=at)
        await _begin(tx, run_id, address.agent_id, at, changes)
        usage = Usage(input=1_000, cache_read=0, cache_creation=0, output=100)
        asked = (SummaryRequest("conversation", reply=inference),) if inference else ()
        if state is not RunState.ABORTED:
            await runs.name_job(tx, run_id, "job", now=at)
            await runs.report(tx, run_id, "job", Result("summary", f"summary of {run_id}", "", usage, asked))
        if state in runs.OPEN:
            return
        after = a_meter(100, messages=3) if state is RunState.DONE else None
        reason = "" if state is RunState.DONE else f"it was {state.value} \x1b[31mred"
        await runs.end(tx, run_id, state, reason=reason, meter_after=after, now=at + 2.5)
        run = await runs.get(tx, run_id)
        assert run
        section = render(run, tools=(), previous_summary=None, layer=None)
        await runs.set_record(tx, run_id, records.record_of(section, await records.sources_of(tx, run)))


async def _begin(tx: Tx, run_id: str, agent_id: AgentId, at: float, changes: Mapping[str, Any]) -> None:
    values: dict[str, Any] = {
        "trigger": "auto", "strategy": "reset", "focus": "", "turn_id": "turn1", "status_slot": 5, "stack": (),
        "plan": PLAN.as_json(), "head": "hash", "model": "claude-sonnet-4-5", "limit": 1_000,
        "meter_before": a_meter(900, messages=9), **changes,
    }  # fmt: skip
    await runs.begin(tx, NewRun(id=run_id, agent_id=agent_id, **values), now=at)


async def undone(database: Database, run_id: str, address: Address = ADA) -> None:
    """The layer of this run was put down, and taken off."""
    async with database.write() as tx:
        await histories.put(tx, address.agent_id, Layer(1, 9, ((1, 7),), run=run_id), (), now=NOON)
        await histories.take_off(tx, address.agent_id, 1, now=NOON)


async def talked(database: Database, address: Address, *lines: str, at: float = NOON) -> None:
    """Somebody said this, in a turn that is over."""
    async with database.write() as tx:
        await agents.ensure(tx, address, now=at)
        last = await histories.last_seq(tx, address.agent_id)
        turn = f"turn-{address.chat}-{last}"
        await turns.begin(tx, turn, address.agent_id, 0, now=at)
        entries = [said(last + at_, line, turn=turn, person=address.chat) for at_, line in enumerate(lines, 1)]
        await histories.append(tx, address.agent_id, entries, now=at)
        await turns.end(tx, turn, turns.TurnState.DONE, Usage(), now=at)
