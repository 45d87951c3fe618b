"""Where the page is served, if somebody else has that place."""

from __future__ import annotations

import socket

from bot.app.doctor.bind import check_bind
from bot.app.doctor.case import Case
from bot.app.doctor.web import Web
from bot.app.setup.env_lines import Changes
from bot.app.setup.settings_file import SettingsFile
from bot.runtime.checks import Finding, ok

_FURTHER = 50


class AddressStep:
    """Reads and writes ``file``; asks over ``web``."""

    def __init__(self, file: SettingsFile, web: Web) -> None:
        self._file = file
        self._web = web
        self.finding: Finding = ok("http", "")
        """What is to be said of the place that is set."""

    async def instead(self) -> str:
        """Another place, where the one that is set is taken; empty where it is not."""
        settings = self._file.settings()
        (self.finding,) = await check_bind(Case(settings, self._web))
        host, _, port = settings.http_bind.rpartition(":")
        if self.finding.state == "ok" or "HTTP_BIND" in self._file.overruled({"HTTP_BIND": ""}):
            return ""
        return next((f"{host}:{one}" for one in range(int(port) + 1, int(port) + _FURTHER) if _is_free(host, one)), "")

    def keep(self, bind: str) -> Changes:
        """Write it down; returns what that changed."""
        changes = {"HTTP_BIND": bind}
        self._file.keep(changes, heading="Its page")
        return changes


def _is_free(host: str, port: int) -> bool:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host.strip("[]"), port), family=family).close()
    except (OSError, OverflowError):
        return False
    return True
