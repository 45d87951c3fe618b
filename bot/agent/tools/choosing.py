"""Which tools an agent has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.agent.services import Services
from bot.agent.tools.files import file_tools
from bot.agent.tools.recall import Recall
from bot.agent.tools.shell import shell
from bot.agent.tools.tool import Tool
from bot.history.server_tools import definitions
from bot.messages import AgentId
from bot.runtime.settings import Settings, ToolsSettings

MCP_SHARE = 0.2
"""Of the limit: what the definitions of the tools of MCP servers may take."""
_CHARACTERS_A_TOKEN = 2
"""Few."""


def tools_of(services: Services, agent_id: AgentId, limit: int = 0) -> tuple[Tool, ...]:
    """The tools of this agent, by the settings. ``limit``: of its context, in tokens; MCP servers get a share of it."""
    mcp = services.mcp.tools(agent_id, int(limit * MCP_SHARE * _CHARACTERS_A_TOKEN))
    recall = Recall(services.database, agent_id)
    return (recall, *_files(services.settings.tools), *_shell(services.settings), *mcp)


def _files(settings: ToolsSettings) -> Sequence[Tool]:
    return file_tools(settings.most_file_bytes, settings.most_folder_bytes)


def _shell(settings: Settings) -> Sequence[Tool]:
    """Offered to everybody where it is on, so that all turns have the same tools; it runs for admins alone."""
    chosen = settings.tools
    if chosen.shell == "off":
        return ()
    secret = tuple(path for path in (settings.data_dir, Path(".env"), settings.mcp_config) if path)
    return (shell(chosen.shell, network=chosen.shell_network, secret=secret),)


def provider_tools(settings: Settings) -> Sequence[Mapping[str, Any]]:
    """Definitions of tools that the provider runs itself."""
    return definitions("off" if settings.uses_local_model else settings.tools.web)
