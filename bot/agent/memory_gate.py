"""A call of a tool, given what memory knows before it runs: the folder that was meant, where the model left it out.

What was put in is said, to the model with the result, to people and to machines (FEATURES A10).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from zlib import crc32

import structlog

from bot.agent.context import Context
from bot.agent.memory import AgentMemory, with_notice
from bot.agent.tools.calls import Progress
from bot.compaction.memory_gate.gate import Rewrite, looks_for_a_folder, rewrite
from bot.history import EntryKind
from bot.messages import Block, text_of
from bot.runtime.redact import redact
from bot.runtime.settings import MemorySettings
from bot.store import facts

log = structlog.get_logger(__name__)


class MemoryGate:
    """The calls of one turn. ``secrets``: what nothing that is said may hold."""

    def __init__(
        self, context: Context, memory: AgentMemory, settings: MemorySettings, secrets: Collection[str]
    ) -> None:
        self._context = context
        self._memory = memory
        self._settings = settings
        self._secrets = secrets
        self._just_rewritten: object = None
        """What a model called last, if that was run with what memory knows: once more, and it means what it says."""

    async def rewritten(self, call: Block) -> Rewrite | None:
        """The call with what memory knows in it; None: it runs as it is."""
        given = call.get("input")
        off = not (self._settings.pre_tool_gate and self._memory.collects)
        if off or not isinstance(given, dict) or not looks_for_a_folder(str(call.get("name")), given):
            self._just_rewritten = None
            return None
        insists, self._just_rewritten = given == self._just_rewritten, None
        if insists:
            return None
        found = rewrite(str(call.get("name")), given, await self._memory.known() or (), self._asked())
        if found:
            self._just_rewritten = given
            await self._say(found)
        return found

    def show(self, progress: Progress, found: Rewrite) -> None:
        """A line for people, while the tool runs."""
        if self._settings.visibility != "off":
            progress.note(redact(found.brief, self._secrets))

    async def _say(self, found: Rewrite) -> None:
        """Machines are told of each call, in the log and in the trace; people once of each place, in a message that
        stays: the line beside the reply goes with it."""
        for notice in found.notices:
            log.info("memory_gate", notice=notice)
        async with self._context.step() as step:
            row = await facts.get(step.tx, self._context.agent_id)
            for notice in found.notices:
                row = replace(row, told=with_notice(row, notice, self._secrets))
            places = {folder: crc32(path.encode()) for folder, path in found.folders}
            if places.items() - row.line.places.items() and self._settings.visibility != "off":
                payload = redact("\n".join(found.notices), self._secrets)
                await step.say(redact(found.lasting, self._secrets), payload=payload)
                row = replace(row, line=replace(row.line, places={**row.line.places, **places}))
            await facts.put(step.tx, self._context.agent_id, row)

    def _asked(self) -> str:
        """What people said in this turn."""
        said = [entry for entry in self._context.history.entries if entry.kind is EntryKind.SAID]
        return "\n".join(text_of(entry.blocks) for entry in said if entry.turn == said[-1].turn)
