"""What a job asks of the model for its run: each request is in the book before it is sent, and its cost is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from bot.errors import ModelError, StoreUnavailable
from bot.files.blocks import filled, folder_of
from bot.history import Usage
from bot.history.server_tools import uses_server_tools
from bot.messages import Message, text_of, tool_calls
from bot.model import Head, Reply
from bot.store import runs
from bot.store.runs import Result, Run, SummaryRequest
from workers.desk import Desk

log = structlog.get_logger(__name__)

_AGAIN_SECONDS = 1.0


class NotWantedError(Exception):
    """The run has ended, or another job has it."""


class NoAnswerError(Exception):
    """The answer is something else than what was asked for."""


@dataclass
class Requests:
    """Those of one run."""

    desk: Desk
    run: Run
    usage: Usage = field(default_factory=Usage)
    inference: list[SummaryRequest] = field(default_factory=list)

    def result(self, outcome: Literal["summary", "empty", "failed"], *, summary: str = "", reason: str = "") -> Result:
        """With what was used and asked on the way."""
        return Result(outcome, summary, reason, self.usage, tuple(self.inference))

    async def ask(self, head: Head, messages: Sequence[Message], mode: str) -> Reply:
        """Raises a ModelError, NoAnswerError where a tool is called, NotWantedError."""
        self.inference.append(SummaryRequest(mode.split(",", maxsplit=1)[0], head.prompt, tuple(messages)))
        await self._note()
        try:
            page = await asyncio.to_thread(filled, folder_of(self.desk.data_dir, self.run.agent_id), messages)
            reply = await self.desk.model.ask(head, page)
        except ModelError as error:
            self.inference[-1] = replace(self.inference[-1], error=str(error))
            raise
        self.usage += reply.usage
        self.inference[-1] = replace(self.inference[-1], reply=text_of(reply.blocks))
        if tool_calls(reply.blocks) or uses_server_tools(reply.blocks):
            raise NoAnswerError("the model called a tool")
        return reply

    async def _note(self) -> None:
        """In the book before it is sent, so that the trace has it whatever becomes of us. A book that is away is waited
        for. Raises NotWantedError."""
        while True:
            try:
                async with self.desk.database.write() as tx:
                    if not await runs.note_request(tx, self.run.id, self.run.job_id, self.inference):
                        raise NotWantedError
            except StoreUnavailable as error:
                log.warning("store_unavailable", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return
