"""MCP servers: is `mcp.json` right, and does each server start and list its tools."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence

from bot.agent.tools.mcp.config import McpConfig, ServerConfig, config_path, read_config
from bot.agent.tools.mcp.state import Lost
from bot.app.doctor.case import Case
from bot.errors import ConfigurationError
from bot.runtime.checks import Finding, ok, problem, warning
from bot.runtime.settings_check import mcp_file

PART = "mcp"
_SHAPE = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'
_SECONDS = 7.0
"""For one server, beside the four that it may take to end."""


async def check_mcp(case: Case) -> Sequence[Finding]:
    """Each server is started beside one that may run already, asked for its tools, and ended."""
    settings = case.settings
    if missing := list(mcp_file(settings)):
        return missing
    path = config_path(settings.data_dir, settings.mcp_config)
    try:
        config = read_config(path, case.variables, required=settings.mcp_config is not None)
    except ConfigurationError as error:
        advice = f"Correct {path}, e.g. {_SHAPE}. The program runs without the servers meanwhile."
        return [problem(PART, str(error), advice)]
    there = f"{path} names no servers" if await asyncio.to_thread(path.exists) else f"There is no {path}"
    return await _findings(config) or [ok(PART, f"{there}: there are only the tools of our own.")]


async def _findings(config: McpConfig) -> list[Finding]:
    wrong = [
        problem(PART, f"{name}: {reason.rstrip('.')}.", "Correct it in mcp.json; it is left out until then.")
        for name, reason in config.problems.items()
    ]
    if config.servers:
        await asyncio.to_thread(importlib.import_module, "bot.agent.tools.mcp.session")  # it takes a second
    return [*wrong, *await asyncio.gather(*(_check(server) for server in config.servers.values()))]


async def _check(server: ServerConfig) -> Finding:
    from bot.agent.tools.mcp.session import connected

    try:
        async with asyncio.timeout(_SECONDS), connected(server) as session:
            offered = [offer.name for offer in await session.offers() if server.offers(offer.name)]
            count = f"{len(offered)} {'tool' if len(offered) == 1 else 'tools'}"
            left_out = session.left_out
    except TimeoutError:
        advice = "The first start of a server that is downloaded takes longer: start it once by hand, then ask again."
        return problem(PART, f"{server.name}: it does not answer within {_SECONDS:.0f} s.", advice)
    except Lost as lost:
        said = f" It said: {lost.last_words}" if lost.last_words else ""
        return problem(PART, f"{server.name}: {str(lost).rstrip('.')}.{said}", lost.hint or _advice(server))
    if left_out:
        advice = "These tools break the protocol or what models take; the others can be used."
        return warning(PART, f"{server.name}: {count}; left out: {'; '.join(left_out[:3])}.", advice)
    if not offered:
        return warning(PART, f"{server.name}: it offers no tools.", "Look at allow and deny, or take the server away.")
    return ok(PART, f"{server.name}: {count} ({', '.join(offered[:5])}{', …' if offered[5:] else ''}).")


def _advice(server: ServerConfig) -> str:
    if server.transport == "stdio":
        return "Start its command by hand in the folder of the program, and look at what it says."
    return "Look whether its url and headers are right, and whether the server runs."
