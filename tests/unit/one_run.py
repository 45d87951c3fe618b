"""A compaction's row, for tests that only read it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.compaction import Plan
from bot.compaction.plan import Inserted
from bot.estimate.meter import MeterRecord
from bot.history import EntryKind, Usage
from bot.messages import AgentId, Message
from bot.store.runs import Result, Run, RunState, SummaryRequest

PLAN = Plan(
    strategy="reset",
    upto=9,
    floor=8,
    hidden=((1, 7), (9, 9)),
    inserted=(Inserted(8, EntryKind.MARKER, "marker"), Inserted(8, EntryKind.SUMMARY, "summary")),
    summarise=(1, 2, 9),
)
STARTED = 1_700_000_000.0
"""2023-11-14 22:13:20 UTC"""


def meter_json(total: int) -> dict[str, Any]:
    """A meter as a run's row has it."""
    return {
        "total": total, "limit": 1_000, "share": total / 1_000, "source": "usage", "level": "ok",
        "parts": {"conversation": total, "tools": 0},
    }  # fmt: skip


def a_meter(total: int, messages: int | None = None) -> MeterRecord:
    """The same, as it is read."""
    return replace(MeterRecord.from_json(meter_json(total)), messages=messages)


def a_run(**changes: Any) -> Run:
    """A run that ended well, with these changes."""
    values: dict[str, Any] = {
        "id": "run1", "agent_id": AgentId("room-1"), "trigger": "auto", "strategy": "reset", "focus": "",
        "state": RunState.DONE, "turn_id": "turn1", "status_slot": 1, "stack": (), "plan": PLAN.as_json(),
        "head": "hash", "model": "claude-sonnet-4-5", "limit": 1_000, "job_id": "job1", "jobs": 1,
        "heartbeat_at": None, "meter_before": a_meter(900), "meter_after": a_meter(120), "reason": "",
        "started_at": STARTED, "enqueued_at": STARTED, "finished_at": STARTED + 2.5, "trace": None,
        "result": Result(
            "summary", "the summary", "", Usage(input=1_000, cache_read=900, cache_creation=0, output=50),
            (SummaryRequest("conversation", "Be kind.", (Message(role="user", content="hi"),), reply="the summary"),),
        ),
        **changes,
    }  # fmt: skip
    return Run(**values)
