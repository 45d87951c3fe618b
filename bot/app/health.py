"""Whether a process does what it is there for: what `/readyz` asks, and what is counted from its start.

Nothing here costs more than a look: no request is made to the model, and none to a platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot import __version__
from bot.agent.commands.table import offered
from bot.app.gauges import Gauges
from bot.app.resources import Resources
from bot.compaction import STRATEGIES
from bot.compaction.fallback import FALLBACK
from bot.gateway.gateway import Gateway
from bot.messages import Address, AgentId
from bot.model.provider_errors import RETRIED
from bot.runtime.access import CONNECTORS
from bot.runtime.checks import Check
from bot.runtime.redact import redact
from bot.runtime.strategies import configured
from bot.runtime.telemetry import Known, telemetry

if TYPE_CHECKING:
    from bot.agent.services import Services
    from bot.app.main import Role


class Health:
    """That of one process. A role adds to ``checks`` what it needs, by the part's name."""

    def __init__(self, resources: Resources, roles: Sequence[Role], gateways: Sequence[Gateway] = ()) -> None:
        self._resources = resources
        self._secrets = resources.settings.secrets
        self.checks: dict[str, Check] = {"database": resources.database.ping, "redis": resources.bus.ping}
        self.checks["background"] = resources.bus.supervisor.check
        self.checks |= {gateway.name: gateway.check for gateway in gateways}
        if {"agents", "worker"} & set(roles):
            self.checks["model"] = self._check_model
        self.gauges = Gauges(
            resources, book=bool({"agents", "gateway"} & set(roles)), gateways=gateways, checks=self.checks
        )
        settings = resources.settings
        served = [gateway.name for gateway in gateways]
        known = Known(
            models=sorted({link.name for link in resources.chains.links}),
            strategies=sorted({*configured(STRATEGIES, settings).names, FALLBACK}),
            served=served,
            connectors=sorted({*CONNECTORS, *served}),
            commands=[command.name for command in offered()],
            retried=RETRIED,
        )
        telemetry.started(__version__, roles, known)

    def watch_tools(self, services: Services) -> None:
        """Say which MCP servers are away. Answers go on without them."""
        from bot.agent.appointments.keeping import Appointments
        from bot.agent.appointments.tools import appointment_tools
        from bot.agent.tools.choosing import tools_of
        from bot.agent.tools.mcp.state import State

        mcp = services.mcp
        servers = [f"mcp:{status.name}" for status in mcp.status()]
        database, settings = services.database, services.settings
        keeping = Appointments(Address("", ""), settings.appointments, "")
        own = appointment_tools(keeping, database, AgentId(""))
        ours = (*own, *tools_of(settings, database, mcp, AgentId("")))
        telemetry.tools_known([*(tool.name for tool in ours), *servers])

        async def check() -> str | None:
            away = [status.name for status in mcp.status() if status.state is not State.CONNECTED]
            return f"without {', '.join(away)}" if away else None

        self.checks["mcp"] = check

    async def _check_model(self) -> str | None:
        """What is known from requests: whoever is not asked for long is taken to be there."""
        models = self._resources.models
        said = [
            f"{one.cause.words} ({one.model}, since {datetime.fromtimestamp(one.since, UTC):%Y-%m-%d %H:%M} UTC): "
            f"{redact(one.sentence, self._secrets)}"
            for model in models
            for one in model.troubles
        ]
        said += [
            f"{link.called} wants no calls for {seconds:.0f} s"
            for model, link in models.items()
            if (seconds := model.load.pause)
        ]
        return "; ".join(said) or None
