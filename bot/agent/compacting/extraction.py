"""Facts by a model (`MEMORY__EXTRACTOR=model`): now and then it is asked what the last messages change in memory, and
what of its answer holds is taken over (:mod:`bot.compaction.extraction`), beside what is found without it.

Nobody waits for it. It is asked when enough was said since it was asked last: the newest run that came to an answer
says up to where. Of more than one request holds only the end is read; memory has read all of it by itself.
"""

from __future__ import annotations

from typing import Any

from bot.agent.compacting.errand import FEWEST_ENTRIES, Errand
from bot.agent.memory import AgentMemory
from bot.agent.step import Step
from bot.compaction import Plan
from bot.compaction.extraction import is_talk
from bot.store import Database, facts, runs
from bot.store.runs import Run, RunState

_LEAST_TOKENS = 2_000
"""Of fewer messages than :data:`FEWEST_ENTRIES`, that are worth a request."""
_MOST_TOKENS = 16_000
_MOST_ENTRIES = 2_000
_LANDED = "taken into memory"
_OUT_OF_MEMORY = "a new conversation began"


class FactExtraction(Errand):
    """Those of one agent. ``is_on``: whether a model is to be asked at all."""

    trigger = "facts"

    def __init__(self, *shared: Any, database: Database, memory: AgentMemory, is_on: bool, **more: Any) -> None:
        super().__init__(*shared, **more)
        self._database = database
        self._memory = memory
        self._is_on = is_on

    @property
    def is_wanted(self) -> bool:
        """See the errand's."""
        return self._is_on and self._memory.collects

    async def _plan(self) -> Plan | None:
        context, floor = self._context, self._context.history.floor
        async with self._database.read() as tx:
            last = await runs.last_extraction(tx, context.agent_id)
            upto = max(floor, Plan.from_json(last.plan).upto if last else 0)
            unread = await facts.unread(tx, context.agent_id, upto, _MOST_ENTRIES)
        talk = [entry for entry in unread if is_talk(entry)]
        tokens, shown = 0, list[int]()
        for entry in reversed(talk):
            tokens += entry.tokens
            if shown and tokens > min(_MOST_TOKENS, context.window.limit // 3):
                break
            shown.append(entry.seq)
        if len(talk) < FEWEST_ENTRIES and tokens < _LEAST_TOKENS:
            return None
        seqs = tuple(reversed(shown))
        return Plan(context.strategy.name, upto=unread[-1].seq, floor=seqs[0], summarise=seqs)

    def _outcome(self, run: Run) -> tuple[RunState, str]:
        result = run.result
        if result is None or result.outcome == "failed":
            return RunState.FAILED, result.reason if result else "no worker answered"
        if result.outcome == "empty":
            return RunState.EMPTY, result.reason
        if self._context.history.floor >= Plan.from_json(run.plan).floor:
            return RunState.ABORTED, _OUT_OF_MEMORY
        return RunState.DONE, _LANDED

    async def _land(self, step: Step, run: Run) -> None:
        answer = run.result.summary if run.result else ""
        await self._memory.take_in(step, answer, Plan.from_json(run.plan).summarise)
