"""Which tools an agent has: by the settings, by what the MCP servers offer just now, and by how much fits."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.agent.tools.files import file_tools
from bot.agent.tools.mcp.servers import McpServers
from bot.agent.tools.recall import Recall
from bot.agent.tools.shell import shell
from bot.agent.tools.tool import Tool
from bot.agent.tools.toolbox import Toolbox
from bot.files.parser_pool import Parser
from bot.history.server_tools import definitions
from bot.messages import AgentId
from bot.runtime.providers import ANTHROPIC
from bot.runtime.settings import Settings, ToolsSettings
from bot.runtime.zones import default_zone
from bot.store import Database

OWN_SHARE = 0.05
"""Of the limit: what the definitions of tools may take that it can do without."""
MCP_SHARE = 0.2
"""Of the limit: what the definitions of the tools of MCP servers may take."""
_CHARACTERS_A_TOKEN = 2
"""Few."""


class ToolChoice:
    """Chooses the tools of one agent, which work in its ``folder``."""

    def __init__(
        self,
        agent_id: AgentId,
        folder: Path,
        *,
        settings: Settings,
        database: Database,
        mcp: McpServers,
        parser: Parser,
        own: Sequence[Tool] = (),
    ) -> None:
        """``own``: tools that belong to this conversation; where the context is so small that they would take much of
        it, it does without them."""
        self._agent_id = agent_id
        self._folder = folder
        self._settings = settings
        self._database = database
        self._mcp = mcp
        self._parser = parser
        self._own = own
        self._own_characters = sum(map(_characters, own))
        self.by_provider = provider_tools(settings)
        """Definitions of those that the provider runs itself."""

    async def look(self, waited_for: Collection[str]) -> None:
        """Take over which MCP servers there are now. ``waited_for``: tools whose servers are waited for a moment."""
        await self._mcp.look(waited_for=waited_for)

    def toolbox(self, limit: int = 0) -> Toolbox:
        """The tools that there are now, in a context of so many tokens."""
        tools = tools_of(self._settings, self._database, self._mcp, self._agent_id, limit)
        own = self._own if self._own_characters <= limit * OWN_SHARE * _CHARACTERS_A_TOKEN else ()
        return Toolbox(self._folder, self._parser, (*own, *tools))

    def nothing(self) -> Toolbox:
        """For a model that can use none."""
        return Toolbox(self._folder, self._parser, ())


def _characters(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters)))


def tools_of(
    settings: Settings, database: Database, mcp: McpServers, agent_id: AgentId, limit: int = 0
) -> tuple[Tool, ...]:
    """The tools of this agent, by the settings. ``limit``: of its context, in tokens; MCP servers get a share of it."""
    offered = mcp.tools(agent_id, int(limit * MCP_SHARE * _CHARACTERS_A_TOKEN))
    return (
        Recall(database, agent_id, default_zone(settings.timezone)),
        *_files(settings.tools),
        *_shell(settings),
        *offered,
    )


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
    return definitions(settings.tools.web if settings.talker.provider == ANTHROPIC else "off")
