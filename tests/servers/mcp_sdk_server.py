"""An MCP server made with the SDK, so that it speaks the newest protocol, as a program.

``TRANSPORT PORT``: ``stdio``, ``streamable-http`` or ``sse``; after ``stdio`` may stand how many seconds it sleeps
before it reads what it is asked. The tool ``grow`` adds a tool and says so to who listens.
"""

from __future__ import annotations

import sys
import time
from typing import Any, cast

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("growing", log_level="ERROR")


@server.tool()
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


@server.tool()
async def grow(context: Context[Any, Any]) -> str:
    """Learn to shrink."""

    def shrink() -> str:
        return "small"

    server.add_tool(shrink, description="Become small.")
    await context.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    transport = sys.argv[1]
    if transport == "stdio":
        time.sleep(float(sys.argv[2]) if sys.argv[2:] else 0)
        server.run("stdio")
    else:
        server.run(cast("Any", transport), host="127.0.0.1", port=int(sys.argv[2]))
