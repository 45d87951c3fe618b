"""A run whose summary is to be written, and answers of a model to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.compaction import PlanContext
from bot.compaction.plan import Trigger
from bot.compaction.strategies.reset import Reset, ResetOptions
from bot.estimate import Family
from bot.history import Entry, History
from bot.history.entries import entry_tokens
from bot.messages import AgentId
from bot.model import Head
from bot.store import histories, runs
from bot.store.runs import NewRun, Result, Run
from tests.servers.messages.server import Brain, MessagesRequest, Reply
from tests.unit.entries import full, replied, returned, said
from tests.unit.one_run import a_meter
from workers.desk import Desk

ADA = AgentId("room-1")
TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)
HEAD = Head("claude-test", 1_000, "Be kind.", TOOLS)
TALK = (
    said(1, "The deploy key is KEY-4711, and never touch /srv/prod."),
    replied(2, "", "a"),
    returned(3, "a", "a fox"),
    replied(4, "I saw a fox."),
    said(5, "What now?"),
)
GOOD = "The key is KEY-4711; constraint: never touch /srv/prod. The deploy key is KEY-4711. A fox was seen; all done."


async def planned(
    desk: Desk,
    entries: Sequence[Entry] = TALK,
    *,
    limit: int = 16_000,
    trigger: Trigger = "auto",
    model: str = HEAD.model,
    focus: str = "",
    total: int = 500,
    rules: tuple[str, ...] = (),
) -> Run:
    """A run over this talk, as an agent begins it."""
    counted = [replace(e, tokens=entry_tokens(e.role, e.blocks, Family.NEWER)) for e in entries]
    history = History(tuple(counted))
    plan = Reset(ResetOptions(keep_exchange_share=0)).plan(
        history.visible, full(total, limit), PlanContext(focus=focus, rules=rules)
    )
    assert plan
    async with desk.database.write() as tx:
        await histories.append(tx, ADA, counted, now=1.0)
        await histories.remember_head(tx, HEAD.digest, HEAD.as_json())
        new = NewRun(
            id="run", agent_id=ADA, trigger=trigger, strategy="reset", focus=focus, turn_id=None, status_slot=1,
            stack=(), plan=plan.as_json(), head=HEAD.digest, model=model, limit=limit, meter_before=a_meter(total),
        )  # fmt: skip
        await runs.begin(tx, new, now=1.0)
        run = await runs.get(tx, "run")
    assert run
    return run


def says(*answers: str | Reply) -> Brain:
    """One answer after the other; the last again and again."""
    left = list(answers)

    def brain(_: MessagesRequest) -> Reply:
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer if isinstance(answer, Reply) else Reply(answer)

    return brain


def modes(result: Result) -> list[Any]:
    return [request.mode for request in result.inference]
