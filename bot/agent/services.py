"""What every agent of a process shares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.agent.embeddings import Embedder
from bot.agent.tools.mcp.servers import McpServers
from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.files.blocks import folder_of
from bot.files.parser_pool import ParserPool
from bot.messages import AgentId
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.runtime.access import Access
from bot.runtime.settings import Settings
from bot.runtime.strategies import Strategies
from bot.store import Database
from bot.store.money.limits import Limits


@dataclass(frozen=True)
class Services:
    """The parts, and the settings they were made from."""

    settings: Settings
    database: Database
    bus: Bus
    jobs: Jobs
    chains: Chains
    """The models that talk, and those that write summaries."""
    strategies: Strategies
    access: Access
    embedder: Embedder
    mcp: McpServers
    parser: ParserPool
    limits: Limits
    """What may be spent."""

    @property
    def chain(self) -> Chain:
        """Those that talk where a conversation has not chosen."""
        return self.chains.usual

    def folder(self, agent_id: AgentId) -> Path:
        """The agent's own folder: its files and its traces."""
        return folder_of(self.settings.data_dir, agent_id)
