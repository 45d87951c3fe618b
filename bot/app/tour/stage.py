"""The program of the tour: `python -m bot.app.tour.stage DATA_DIR PACE`, a process that can be killed.

It is the program as `palimpsest chat` starts it, with the scripted model in the place of a real one and a connector
whose platform is whoever started it: a line of JSON on standard input is what the person says, and each line of JSON
on standard output is something that was delivered to them. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from bot.app.chat import serve_chat
from bot.app.tour.script import HERE, LIMIT, Script
from bot.connector import Intake
from bot.messages import Address, Attachment, Edit, Inbound, Outbound, Say
from bot.model import Limits, Link
from bot.model.scripted import ScriptedModel
from bot.runtime.settings import AgentsSettings, Settings


class Stage:
    """A :class:`bot.connector.Connector` between two pipes."""

    name = HERE.connector

    async def run(self, intake: Intake) -> None:
        """What was left open is seen through; then each line is said, and the next one read when all has come to
        rest."""
        await self._rest(intake)
        order = time.time_ns()
        while line := await asyncio.to_thread(sys.stdin.readline):
            order += 1
            key = f"tour-{order}"
            await intake.store([Inbound(HERE, key, "message", order, "you", json.loads(line), ref=key)])
            await self._rest(intake)

    async def _rest(self, intake: Intake) -> None:
        await intake.settled(HERE)
        _tell(kind="rest")

    def pace(self, address: Address) -> float:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`."""
        return 0.05

    def drafts(self, address: Address) -> bool:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`."""
        return False

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """See :class:`bot.connector.Connector`. A message is known by its token, also to the next process."""
        if not isinstance(outbound, Say | Edit):
            return ()
        key = outbound.refs[0] if isinstance(outbound, Edit) and outbound.refs else outbound.token
        kind = "notice" if outbound.notice else "reply"
        _tell(kind=kind, key=key, text=outbound.text, partial=outbound.partial)
        return (key,)

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See :class:`bot.connector.Connector`: nobody attaches anything."""

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`: nothing can be read back from a pipe."""
        return None

    async def close(self) -> None:
        """See :class:`bot.connector.Connector`."""


def _tell(**said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


async def stage(data_dir: Path, pace: float) -> None:
    """Play until the input ends."""
    settings = Settings(
        _env_file=None,
        data_dir=data_dir,
        # There is a model that writes summaries; and a zone is each machine's own.
        agents=AgentsSettings(emergency_context_limit=LIMIT, strategy="reset", tell_time=False),
        log_level="ERROR",
    )
    model = ScriptedModel(Script(pace), limits=Limits(window=8_000, answer=400, known=True))
    link = Link(model, "scripted", uses_tools=False)
    await serve_chat(settings, HERE, Stage(), model=link)


if __name__ == "__main__":
    from bot.runtime import logs

    where = Path(sys.argv[1])
    with (where / "tour.log").open("a", encoding="utf-8") as log:
        logs.configure(Settings(_env_file=None), file=log)
        asyncio.run(stage(where, float(sys.argv[2])))
