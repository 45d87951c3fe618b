"""The program as real processes, between platforms and a model that are the test's own, on stores that can fall."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from bot.runtime.tasks import stop
from tests.chaos.brain import ASKED, NOTES, TALK, AnsweringBrain
from tests.chaos.ledger import Ledger
from tests.chaos.people import People
from tests.chaos.plan import PEOPLE, PROGRAMS, HouseKind, Pooler
from tests.chaos.processes import START_SECONDS, Program, environment_of, eventually
from tests.chaos.stores import NAME, Postgres, Valkey
from tests.servers.discord.server import API, DiscordServer
from tests.servers.messages.server import MessagesServer
from tests.servers.pgbouncer import PGBOUNCER, pgbouncer
from tests.servers.proxy import Proxy, Target
from tests.servers.telegram.server import TOKEN, BotApiServer

WINDOW = 6_000
_CALM_SECONDS = 0.3
"""An answer that went out may bring about a compaction ahead."""
_SUPERVISOR_SECONDS = 0.3
SETTLE_SECONDS = 90.0
_POOLED_CONNECTIONS = 40
FIRST_OF_A_GUEST = 100_001
"""The messages of another installation have numbers of their own; its chats have the same."""


class House:
    """Some processes on one book and one bell, the wires to them, and people who write numbered messages."""

    def __init__(
        self,
        kind: HouseKind,
        data_dir: Path,
        brain: AnsweringBrain,
        people: People,
        *,
        pooler: Pooler = "",
        host: House | None = None,
    ) -> None:
        """``host``: whose Redis a guest uses. A ``pooler`` that is not installed is left out."""
        self.kind = kind
        self.data_dir = data_dir
        self.brain = brain
        self.people = people
        self.host = host
        self.postgres = Postgres() if kind == "fleet" else None
        self.pooler: Pooler = pooler if PGBOUNCER else ""
        self.valkey: Valkey = host.valkey if host else self._own_valkey()
        self.ledger = Ledger(data_dir, self.postgres.url if self.postgres else None)
        self.programs: dict[str, Program] = {}
        self.wires: dict[str, Proxy] = {}
        self.telegram: BotApiServer
        self.model: MessagesServer
        self.discord: DiscordServer | None = None

    def _own_valkey(self) -> Valkey:
        is_ours = self.kind == "fleet"
        return Valkey(self.data_dir / "external" if is_ours else self.data_dir, is_ours=is_ours)

    async def open(
        self,
        stack: AsyncExitStack,
        model: MessagesServer,
        telegram: BotApiServer,
        discord: DiscordServer | None = None,
    ) -> None:
        """Lay the wires and start the stores."""
        self.telegram, self.model, self.discord = telegram, model, discord
        for name, port in (("model", model.port), ("telegram", telegram.port)):
            self.wires[name] = await stack.enter_async_context(Proxy(("127.0.0.1", port)))
        if discord:
            self.wires["discord"] = await stack.enter_async_context(Proxy(("127.0.0.1", discord.port)))
            discord.stands_behind(self.wires["discord"].address)
        if self.host:
            self.wires["valkey"] = self.host.wires["valkey"]
        if self.postgres:
            await asyncio.gather(self.postgres.start(), self.valkey.start())
            book = await self._book(stack, self.postgres)
            self.wires["postgres"] = await stack.enter_async_context(Proxy(book))
            self.wires["valkey"] = await stack.enter_async_context(Proxy(self.valkey.socket))
        environment = environment_of(self.data_dir, **self._settings())
        for name, words in PROGRAMS[self.kind].items():
            self.programs[name] = Program(name, words, self.data_dir, environment)
        for agent in self.people.agents:
            notes = self.data_dir / "agents" / agent / NOTES
            notes.parent.mkdir(parents=True)
            notes.write_text(TALK)

    async def _book(self, stack: AsyncExitStack, postgres: Postgres) -> Target:
        """Where the processes find their database."""
        if not self.pooler:
            return postgres.socket
        url = make_url(postgres.url)
        plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
        pooled = make_url(
            await stack.enter_async_context(pgbouncer(plain, pool_mode=self.pooler, size=_POOLED_CONNECTIONS))
        )
        return str(pooled.host), int(pooled.port or 0)

    async def start(self) -> None:
        """Start all processes; returns when they serve."""
        for program in self.programs.values():
            program.start()
        await self.all_serve()

    async def all_serve(self) -> None:
        """Return when all processes serve; those that do not tell where they hang (or end: they were still loading)."""
        programs = self.programs.values()
        try:
            await eventually(lambda: all(one.serves or one.has_ended for one in programs), START_SECONDS, lambda: "")
        except TimeoutError:
            late = [program for program in programs if not program.serves]
            for program in late:
                program.send(signal.SIGUSR1)
            await asyncio.sleep(1)
            told = [f"{program.name} ({program.exit_code}):\n{program.tail(80)}" for program in late]
            raise TimeoutError("\n".join(["some do not serve", *told])) from None
        ended = [program for program in programs if program.has_ended]
        assert not ended, "\n".join(program.tail() for program in ended)

    async def supervise(self) -> None:
        """Start processes again that gave up at their start, for ever, as whatever runs them does."""
        while True:
            for program in self.programs.values():
                program.supervise()
            await asyncio.sleep(_SUPERVISOR_SECONDS)

    def _settings(self) -> Mapping[str, str]:
        settings = {
            "TELEGRAM_TOKEN": TOKEN,
            "TELEGRAM_API_BASE": f"http://{self.wires['telegram'].address}",
            "ACCESS": "open",
            "ANTHROPIC_BASE_URL": f"http://{self.wires['model'].address}",
            "ANTHROPIC_API_KEY": str(self.model.key),
            "AGENTS__WARNING": "0.3",  # so that there is a compaction every few messages
            "AGENTS__CRITICAL": "0.5",
        }
        if self.discord:
            at = self.wires["discord"].address
            settings |= {
                "DISCORD_TOKEN": self.discord.token,
                "DISCORD_API_BASE": f"http://{at}{API}",
                "DISCORD_GATEWAY": f"ws://{at}/gateway",
            }
        if self.postgres:
            settings["DATABASE_URL"] = f"postgresql://postgres@{self.wires['postgres'].address}/{NAME}"
        if self.pooler:
            settings["DATABASE_POOLER"] = self.pooler
        if "valkey" in self.wires:
            settings["REDIS_URL"] = f"redis://{self.wires['valkey'].address}/{self.redis_database}"
        return settings

    @property
    def redis_database(self) -> int:
        """Which of the numbered databases of its Redis a house uses."""
        return 1 if self.host else 0

    def receive_by_webhook(self) -> Mapping[str, str]:
        """What the processes are told so that the platform calls the first of them that has the role."""
        host, port = next(program.http for name, program in self.programs.items() if name in ("all", "gateway"))
        return {"TELEGRAM_WEBHOOK_URL": f"http://{host}:{port}/hook"}

    async def under_way(self) -> str:
        """What is not done yet of all that people did; empty when everything is."""
        unheard = [f"{n} updates not taken"] if (n := self.people.unheard) else []
        if unread := self.people.unread(await self._stored()):
            unheard.append(f"messages {unread} of Discord not taken")
        stored = await self.ledger.unsettled()
        return ", ".join([*unheard, *([stored] if stored else [])])

    async def _stored(self) -> set[int]:
        """The numbers of what is in the inbox."""
        if not self.discord:
            return set()
        try:
            rows = await self.ledger.rows("SELECT text FROM inbox WHERE connector = 'discord'")
        except (DBAPIError, OSError):
            return set()
        return {int(number) for row in rows for number in ASKED.findall(row["text"])}

    async def settled(self, patience: float = SETTLE_SECONDS) -> float:
        """Wait until nothing is under way any more; returns how many seconds that took."""
        began = time.monotonic()
        while True:
            try:
                await eventually(self.is_settled, patience, self.describe)
            except TimeoutError as error:
                raise TimeoutError(f"it never settled: {await self.under_way()}\n{error}") from None
            took = time.monotonic() - began
            await asyncio.sleep(_CALM_SECONDS)
            if await self.is_settled():
                return took

    async def is_settled(self) -> bool:
        """Whether nothing is under way."""
        return not await self.under_way()

    def describe(self) -> str:
        """What the programs said last."""
        tails = [f"--- {name} ({program.exit_code})\n{program.tail()}" for name, program in self.programs.items()]
        return "\n".join(tails)

    async def end(self) -> dict[str, int | None]:
        """End all processes in order; returns their exit codes."""
        codes = await asyncio.gather(*(program.end() for program in self.programs.values()))
        return dict(zip(self.programs, codes, strict=True))

    async def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        await self.ledger.close()
        await asyncio.to_thread(self._clear)
        if not self.host:
            await self.valkey.clear()

    def _clear(self) -> None:
        for program in self.programs.values():
            program.send(signal.SIGCONT)
            if program.exit_code is None:
                program.kill()
        if self.postgres:
            self.postgres.clear()


@asynccontextmanager
async def open_house(
    data_dir: Path,
    kind: HouseKind,
    *,
    webhook: bool = False,
    people: int = PEOPLE,
    group: bool = True,
    discord: bool = False,
    chance: random.Random | None = None,
    delta_delay: float = 0.03,
    pooler: Pooler = "",
    host: House | None = None,
) -> AsyncIterator[House]:
    """A house whose processes have started; at the end nothing of it runs."""
    brain = AnsweringBrain()
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(BotApiServer())
        other = await stack.enter_async_context(DiscordServer()) if discord else None
        model = await stack.enter_async_context(MessagesServer(window=WINDOW, brain=brain, delta_delay=delta_delay))
        first = FIRST_OF_A_GUEST if host else 1
        folk = People(telegram, people, group=group, chance=chance or random.Random(), discord=other, first=first)
        house = House(kind, data_dir, brain, folk, pooler=pooler, host=host)
        stack.push_async_callback(house.close)
        await house.open(stack, model, telegram, other)
        if webhook:
            for program in house.programs.values():
                program.tell(house.receive_by_webhook())
        await house.start()
        supervising = asyncio.create_task(house.supervise())
        stack.push_async_callback(stop, supervising)
        yield house
