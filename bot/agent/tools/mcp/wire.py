"""Between the SDK's session and the wire: one tool that breaks the protocol must not cost all of a server's tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from bot.agent.tools.mcp.tools import mended_listing


class MendingDispatcher:
    """A dispatcher of the SDK whose listings of tools are mended before the session checks them.

    ``on_left_out`` is told which tools were left out of a page, and why; ``on_closed`` that nothing more will come.
    """

    def __init__(
        self,
        inner: JSONRPCDispatcher[Any],
        on_left_out: Callable[[Sequence[str]], None],
        on_closed: Callable[[], None],
    ) -> None:
        self._inner = inner
        self._on_left_out = on_left_out
        self._on_closed = on_closed

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """As the inner one."""
        result = await self._inner.send_raw_request(method, params, opts)
        if method != "tools/list":
            return result
        tools, left_out = await asyncio.to_thread(mended_listing, result.get("tools"))
        self._on_left_out(left_out)
        return {**result, "tools": tools}

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """As the inner one."""
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """As the inner one."""
        try:
            await self._inner.run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._on_closed()
