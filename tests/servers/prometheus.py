"""A real Prometheus on loopback, where one is installed (Debian, Ubuntu: the package `prometheus`)."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp
import pytest
import yaml

from tests.ports import free_port

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
AMTOOL, _DEBIANS = shutil.which("amtool"), shutil.which("prometheus-alertmanager")
_TEMPLATES = Path("/usr/share/prometheus/alertmanager/default.tmpl")
"""Without them Debian's Alertmanager does not begin, as where its package was unpacked and not installed."""
ALERTMANAGER = (_DEBIANS if _TEMPLATES.exists() else None) or shutil.which("alertmanager")
_INSTALL = "is not installed (Debian, Ubuntu: apt-get install prometheus prometheus-alertmanager)"
needs_prometheus = pytest.mark.skipif(not PROMETHEUS, reason=f"prometheus {_INSTALL}")
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason=f"promtool {_INSTALL}")
needs_alertmanager = pytest.mark.skipif(not (PROMETHEUS and ALERTMANAGER), reason=f"alertmanager {_INSTALL}")
needs_amtool = pytest.mark.skipif(not AMTOOL, reason=f"amtool {_INSTALL}")
_SECONDS = 60.0
_PAUSE = 0.2


@dataclass(frozen=True)
class Ringing:
    """An alert: ``pending`` or ``firing``."""

    name: str
    state: str
    labels: Mapping[str, str]
    summary: str


class Prometheus:
    """`async with Prometheus(folder, configuration) as prometheus`. ``configuration`` is that of a prometheus.yml,
    whose rule files are named in full."""

    def __init__(self, folder: Path, configuration: Mapping[str, Any]) -> None:
        self._folder = folder
        self._configuration = dict(configuration)
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = f"http://127.0.0.1:{free_port()}"

    async def __aenter__(self) -> Self:
        """Start it; returns when it answers."""
        assert PROMETHEUS
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "prometheus.yml"
        path.write_text(yaml.safe_dump(self._configuration), encoding="utf-8")
        with (self._folder / "log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                PROMETHEUS,
                f"--config.file={path}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address={self.url.removeprefix('http://')}",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))
        await self.until(self._is_ready, "it is ready")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop it."""
        if self._session:
            await self._session.close()
        assert self._process
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def until(self, condition: Callable[[], Any], what: str, seconds: float = _SECONDS) -> Any:
        """Ask again and again: it tells nobody by itself. Returns what the condition does when that is true."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := await condition()):
                    assert self._process
                    assert self._process.returncode is None, self._last_words()
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            raise AssertionError(f"not within {seconds:.0f} s: {what}") from None
        return found

    async def ask(self, path: str, **parameters: str) -> Any:
        """The data of an answer of its API, such as `targets`."""
        assert self._session
        async with self._session.get(f"{self.url}/api/v1/{path}", params=parameters) as answer:
            answer.raise_for_status()
            return (await answer.json())["data"]

    async def values(self, query: str) -> list[tuple[Mapping[str, str], float]]:
        """What a query comes to now: labels and a value each."""
        found = await self.ask("query", query=query)
        return [(one["metric"], float(one["value"][1])) for one in found["result"]]

    async def ringing(self) -> Sequence[Ringing]:
        """All alerts that are pending or firing."""
        found = (await self.ask("alerts"))["alerts"]
        return [
            Ringing(one["labels"]["alertname"], one["state"], one["labels"], one["annotations"]["summary"])
            for one in found
        ]

    async def _is_ready(self) -> bool:
        assert self._session
        try:
            async with self._session.get(f"{self.url}/-/ready") as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    def _last_words(self) -> str:
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-20:])
