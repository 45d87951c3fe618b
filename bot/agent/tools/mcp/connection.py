"""The connection to one MCP server: made, kept, and made again with growing pauses, until it is cancelled.

One task owns the session, since what the SDK opens has to be closed in the task that opened it.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import structlog

from bot.agent.tools.mcp.config import ServerConfig
from bot.agent.tools.mcp.state import Lost, ServerStatus, State
from bot.agent.tools.mcp.tools import Offer
from bot.agent.tools.tool import ToolError

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from bot.agent.tools.mcp.session import Session

log = structlog.get_logger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 300.0
_STEADY_SECONDS = 60.0
"""A connection that lasted so long begins again with the first pause."""
_LISTING_PAUSE = 1.0


class Connection:
    """What it offers stays offered while it is made again: what a model is offered is the head of a prompt cache."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.offers: tuple[Offer, ...] = ()
        self.settled = asyncio.Event()
        """It was connected, or could not be, at least once."""
        self._state = State.STARTING
        self._reason = ""
        self._session: Session | None = None
        self._reached = False
        self._logged: frozenset[str] = frozenset()

    @property
    def status(self) -> ServerStatus:
        """How it stands."""
        offered = sum(self.config.offers(offer.name) for offer in self.offers)
        return ServerStatus(self.config.name, self._state, offered, self._reason)

    async def run(self) -> None:
        """Keep it until cancelled."""
        await asyncio.to_thread(importlib.import_module, "bot.agent.tools.mcp.session")  # it takes a second
        pause, legacy = _FIRST_PAUSE, False
        while True:
            began, self._reached, hint = time.monotonic(), False, ""
            try:
                await self._keep(legacy=legacy)
            except Lost as lost:
                self._reason, hint = str(lost), lost.hint
            except Exception as error:  # one server must not end another, nor the program
                log.exception("mcp_connection_crashed", server=self.config.name)
                self._reason = _defect(error)
            if not self._reached:
                legacy = not legacy  # some older servers end when they are asked for the newer protocol
            pause = _FIRST_PAUSE if time.monotonic() - began > _STEADY_SECONDS else pause
            self._note(State.FAILED, self._reason)
            reason = f"{self._reason}. {hint}" if hint else self._reason
            log.warning("mcp_server_lost", server=self.config.name, reason=reason, seconds=pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def broke(self, error: BaseException) -> None:
        """What keeps it has ended by a defect; nobody waits for it."""
        self._note(State.FAILED, _defect(error))

    async def _keep(self, *, legacy: bool) -> None:
        from bot.agent.tools.mcp.session import connected

        async with connected(self.config, legacy=legacy) as session:
            try:
                await self._list(session)
                self._session, self._reached = session, True
                self._note(State.CONNECTED)
                log.info("mcp_server_connected", server=self.config.name, tools=self.status.tools)
                while True:
                    await session.news.wait()
                    session.news.clear()
                    await self._list(session)  # of a connection that is over, or a server that hangs, this is the end
                    await asyncio.sleep(_LISTING_PAUSE)
            finally:
                self._session = None
                if self._reached:
                    self._note(State.FAILED, "its connection is over")

    async def _list(self, session: Session) -> None:
        self.offers = await session.offers()
        for problem in session.left_out:
            if problem not in self._logged:
                log.warning("mcp_tool_left_out", server=self.config.name, reason=problem)
        self._logged = frozenset(session.left_out)

    def _note(self, state: State, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self.settled.set()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """What the tool gives. Raises ToolError with a sentence for the model."""
        if self._session is None:
            reason = f" ({self._reason})" if self._reason else ""
            raise ToolError(f"The server {self.config.name} is not connected now{reason}; try again later.")
        if not any(offer.name == tool for offer in self.offers):
            raise ToolError(f"The server {self.config.name} does not have the tool {tool[:80]!r} any more.")
        return await self._session.call(tool, arguments)


def _defect(error: BaseException) -> str:
    return f"{type(error).__name__} in this program"
