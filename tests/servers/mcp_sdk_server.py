"""An MCP server made with the SDK, so that it speaks the newest protocol, as a program.

``TRANSPORT PORT``: ``stdio``, ``streamable-http`` or ``sse``; after ``stdio`` may stand how many seconds it sleeps
before it reads what it is asked, or ``early``: it grows once it has listed its tools, and before anybody listens. The
tool ``grow`` adds a tool and says so to who listens.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, cast

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("growing", log_level="ERROR")


@server.tool()
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


@server.tool()
async def grow(context: Context[Any, Any]) -> str:
    """Learn to shrink."""
    _grow()
    await context.notify_tools_changed()
    return "grown"


def _grow() -> None:
    def shrink() -> str:
        return "small"

    server.add_tool(shrink, description="Become small.")


class _GrowsEarly:
    """Lets nobody listen before the tools were listed, and grows then."""

    def __init__(self) -> None:
        self._listed = asyncio.Event()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "subscriptions/listen":
            await self._listed.wait()
        result = await call_next(ctx)
        if ctx.method == "tools/list" and not self._listed.is_set():
            _grow()
            self._listed.set()
        return result


if __name__ == "__main__":
    transport = sys.argv[1]
    if transport == "stdio":
        if sys.argv[2:] == ["early"]:
            server.middleware.append(_GrowsEarly())
        else:
            time.sleep(float(sys.argv[2]) if sys.argv[2:] else 0)
        server.run("stdio")
    else:
        server.run(cast("Any", transport), host="127.0.0.1", port=int(sys.argv[2]))
