"""Whether a process does what it is there for: what `/readyz` asks, and what is counted from its start.

Nothing here costs more than a look: no request is made to the model, and none to a platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot import __version__
from bot.compaction import STRATEGIES
from bot.compaction.fallback import FALLBACK
from bot.gateway import Gateway
from bot.gauges import Gauges
from bot.http import Check
from bot.metrics import METRICS
from bot.parts import Parts
from bot.redact import redact
from bot.strategies import configured
from bot.tools.mcp import McpServers
from bot.tools.mcp_state import State

if TYPE_CHECKING:
    from bot.app import Role


class Health:
    """That of one process. A role adds to ``checks`` what it needs, by the part's name."""

    def __init__(self, parts: Parts, roles: Sequence[Role], gateways: Sequence[Gateway] = ()) -> None:
        self._model = parts.model
        self._secrets = parts.settings.secrets
        self.checks: dict[str, Check] = {"database": parts.database.ping, "redis": parts.bus.ping}
        self.checks |= {gateway.name: gateway.check for gateway in gateways}
        if {"agents", "worker"} & set(roles):
            self.checks["model"] = self._check_model
        self.gauges = Gauges(
            parts, book=bool({"agents", "gateway"} & set(roles)), gateways=gateways, checks=self.checks
        )
        settings = parts.settings
        METRICS.started(
            __version__,
            roles,
            models={parts.model_name, settings.compaction_model or parts.model_name},
            strategies={*configured(STRATEGIES, settings).names, FALLBACK},
            connectors=[gateway.name for gateway in gateways],
        )

    def watch_servers(self, mcp: McpServers) -> None:
        """Say which MCP servers are away. Answers go on without them."""

        async def check() -> str | None:
            away = [status.name for status in mcp.status() if status.state is not State.CONNECTED]
            return f"without {', '.join(away)}" if away else None

        self.checks["mcp"] = check

    async def _check_model(self) -> str | None:
        """What is known from requests: whoever is not asked for long is taken to be there."""
        said = [
            f"{one.cause.words} ({one.model}, since {datetime.fromtimestamp(one.since, UTC):%Y-%m-%d %H:%M} UTC): "
            f"{redact(one.sentence, self._secrets)}"
            for one in self._model.troubles.now
        ]
        if seconds := self._model.queue.pause:
            said.append(f"wants no calls for {seconds:.0f} s")
        return "; ".join(said) or None
