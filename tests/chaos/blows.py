"""Strikes a house, and mends it: each blow ends with everything in its place again."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from tests.chaos.harness import House
from tests.chaos.plan import Strike, StrikeKind

_GARBAGE = (
    b"",
    b"null",
    b"\xff\xfe\x00garbage",
    b"<html><body>502 Bad Gateway</body></html>",
    b'{"type": "message"',
    b"event: x\ndata: {not json\n\n",
    b"event: ping\ndata: {}\n\n",
    b'data: {"type":"message_start"}\n\n',
)
_NOISE = (
    b"hello",
    b"\xff\xfe\x00\x01",
    b"{not json",
    b"null",
    b"[1, 2]",
    b'{"kind": "nobody knows this", "agent": "telegram-1001"}',
    b'{"agent": "telegram-1001", "slot": "one", "text": 7, "more": {}}',
    b"x" * 100_000,
)
"""What a program of another version, or nobody's program, may say on a channel."""


class Blows:
    """Does what a plan's strikes say, one at a time for each target."""

    def __init__(self, house: House, chance: random.Random) -> None:
        self.took: list[tuple[float, Strike]] = []
        """When each began (seconds of the monotonic clock). What this machine cannot bring about is not among them."""
        self._house = house
        self._chance = chance
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def programs(self) -> Sequence[str]:
        """The names of the processes that can be struck."""
        return list(self._house.programs)

    async def strike(self, strike: Strike) -> None:
        """Returns when it is over and mended."""
        if strike.kind == "full postgres" and not (self._house.postgres and self._house.postgres.can_be_full):
            return
        async with self._locks[_what_is_hit(strike)]:
            self.took.append((time.monotonic(), strike))
            await self._ways[strike.kind](self, strike)

    async def _kill(self, strike: Strike) -> None:
        program = self._house.programs[strike.target]
        program.kill()
        await asyncio.sleep(strike.seconds)
        program.start()

    async def _restart(self, strike: Strike) -> None:
        program = self._house.programs[strike.target]
        code = await program.end()
        assert code == 0, f"{program.name} ended with {code} on SIGTERM:\n{program.tail(60)}"
        await asyncio.sleep(strike.seconds)
        program.start()

    async def _freeze(self, strike: Strike) -> None:
        program = self._house.programs[strike.target]
        program.send(signal.SIGSTOP)
        await asyncio.sleep(strike.seconds)
        program.send(signal.SIGCONT)

    async def _kill_valkey(self, strike: Strike) -> None:
        self._house.valkey.send(signal.SIGKILL)
        await asyncio.sleep(strike.seconds)
        await self._house.valkey.start()

    async def _freeze_valkey(self, strike: Strike) -> None:
        self._house.valkey.send(signal.SIGSTOP)
        await asyncio.sleep(strike.seconds)
        self._house.valkey.send(signal.SIGCONT)

    async def _wipe(self, _strike: Strike) -> None:
        await self._house.valkey.wipe()

    async def _kill_postgres(self, strike: Strike) -> None:
        assert self._house.postgres
        await asyncio.to_thread(self._house.postgres.kill)
        await asyncio.sleep(strike.seconds)
        await self._house.postgres.start()

    async def _freeze_postgres(self, strike: Strike) -> None:
        assert self._house.postgres
        self._house.postgres.send(signal.SIGSTOP)
        await asyncio.sleep(strike.seconds)
        self._house.postgres.send(signal.SIGCONT)

    async def _restart_postgres(self, _strike: Strike) -> None:
        assert self._house.postgres
        await self._house.postgres.restart()

    async def _full_postgres(self, strike: Strike) -> None:
        assert self._house.postgres
        self._house.postgres.fill()
        await asyncio.sleep(strike.seconds)
        self._house.postgres.make_room()

    async def _read_only_postgres(self, strike: Strike) -> None:
        assert self._house.postgres
        await self._house.postgres.read_only(on=True)
        await asyncio.sleep(strike.seconds)
        await self._house.postgres.read_only(on=False)

    async def _noise(self, strike: Strike) -> None:
        await self._house.valkey.noise(self._chance.sample(_NOISE, 4))
        await asyncio.sleep(strike.seconds)
        await self._house.valkey.noise(_NOISE)

    async def _half_close(self, strike: Strike) -> None:
        self._house.wires[strike.target].half_close()

    async def _slow_line(self, strike: Strike) -> None:
        wire = self._house.wires[strike.target]
        wire.delay = self._chance.uniform(0.05, 0.4)
        await asyncio.sleep(strike.seconds)
        wire.delay = 0.0

    async def _drop_discord(self, _strike: Strike) -> None:
        assert self._house.discord
        await self._house.discord.drop(code=self._chance.choice([4000, None]))

    async def _forget_discord(self, strike: Strike) -> None:
        assert self._house.discord
        self._house.discord.forget_sessions()
        await self._house.discord.drop()

    async def _cut(self, strike: Strike) -> None:
        wire = self._house.wires[strike.target]
        wire.cut()
        await asyncio.sleep(strike.seconds)
        wire.restore()

    async def _blackhole(self, strike: Strike) -> None:
        wire = self._house.wires[strike.target]
        wire.blackhole()
        await asyncio.sleep(strike.seconds)
        wire.restore()

    async def _rate_limit(self, strike: Strike) -> None:
        self._house.model.fail(429, "rate_limit_error", "too fast", retry_after=1, times=strike.times)

    async def _overloaded(self, strike: Strike) -> None:
        self._house.model.fail(529, "overloaded_error", "Overloaded", times=strike.times)

    async def _broken_model(self, strike: Strike) -> None:
        kinds = ((500, "api_error"), (504, "timeout_error"), (502, "api_error"))
        for status, kind in self._chance.choices(kinds, k=strike.times):
            self._house.model.fail(status, kind, "Something went wrong")

    async def _silent_model(self, strike: Strike) -> None:
        self._house.model.hang(after=self._chance.choice([None, 0, 3]))
        await asyncio.sleep(strike.seconds)
        self._house.model.release()

    async def _cut_stream(self, strike: Strike) -> None:
        self._house.model.cut_stream(after=self._chance.randrange(7), times=strike.times)

    async def _error_in_stream(self, strike: Strike) -> None:
        after = self._chance.randrange(7)
        self._house.model.error_in_stream("overloaded_error", "Overloaded", after, times=strike.times)

    async def _garbage(self, strike: Strike) -> None:
        for _ in range(strike.times):
            self._house.model.garbage(self._chance.choice(_GARBAGE))

    async def _empty_answer(self, strike: Strike) -> None:
        self._house.brain.speechless += strike.times

    async def _flood(self, strike: Strike) -> None:
        self._house.telegram.limit(strike.target, 1, times=strike.times)

    async def _bad_gateway(self, strike: Strike) -> None:
        self._house.telegram.fail(strike.target, 502, "Bad Gateway", times=strike.times)

    async def _lost_answer(self, strike: Strike) -> None:
        self._house.telegram.lose_answer(strike.target, times=strike.times)

    async def _slow_platform(self, strike: Strike) -> None:
        self._house.telegram.slow(strike.target, strike.seconds, times=strike.times)

    async def _no_trace(self, strike: Strike) -> None:
        """The trace files of today cannot be written (they are folders). What was not written is written when its
        agent starts the next time, so the agents' processes are restarted once the files are back."""
        aside: dict[Path, Path] = {}
        day = time.strftime("%Y%m%d", time.gmtime())
        for folder in filter(Path.is_dir, (self._house.data_dir / "agents").iterdir()):
            file = folder / f"compaction_{day}.md"
            if file.exists():
                aside[file] = file.rename(folder / "aside.md")
            file.mkdir()
            aside.setdefault(file, file)
        await asyncio.sleep(strike.seconds)
        for file, kept in aside.items():
            file.rmdir()
            if kept != file:
                kept.rename(file)
        for name in self._house.programs:
            if name.startswith(("all", "agents")):
                async with self._locks[name]:
                    await self._restart(Strike("restart", name))

    async def _clock(self, strike: Strike) -> None:
        """It stays wrong, or a second blow sets it anew."""
        self._house.programs[strike.target].clock.write_text(str(strike.seconds))

    async def mend(self) -> None:
        """Whatever is still wrong outside of the house ends; returns when all processes serve."""
        self._house.model.clear_faults()
        self._house.telegram.clear_faults()
        self._house.brain.speechless = 0
        for wire in self._house.wires.values():
            wire.delay = 0.0
            wire.restore()
        await self._house.all_serve()

    _ways: Mapping[StrikeKind, Callable[[Blows, Strike], Awaitable[None]]] = {
        "kill": _kill,
        "restart": _restart,
        "freeze": _freeze,
        "kill valkey": _kill_valkey,
        "freeze valkey": _freeze_valkey,
        "wipe": _wipe,
        "kill postgres": _kill_postgres,
        "freeze postgres": _freeze_postgres,
        "restart postgres": _restart_postgres,
        "full postgres": _full_postgres,
        "read-only postgres": _read_only_postgres,
        "noise": _noise,
        "cut": _cut,
        "blackhole": _blackhole,
        "half-close": _half_close,
        "slow line": _slow_line,
        "drop discord": _drop_discord,
        "forget discord": _forget_discord,
        "rate limit": _rate_limit,
        "overloaded": _overloaded,
        "broken model": _broken_model,
        "silent model": _silent_model,
        "cut stream": _cut_stream,
        "error in stream": _error_in_stream,
        "garbage": _garbage,
        "empty answer": _empty_answer,
        "flood": _flood,
        "bad gateway": _bad_gateway,
        "lost answer": _lost_answer,
        "slow platform": _slow_platform,
        "no trace": _no_trace,
        "clock": _clock,
    }


def _what_is_hit(strike: Strike) -> str:
    """Two blows at the same thing come one after the other."""
    if strike.kind in ("cut", "blackhole", "half-close", "slow line"):
        return f"wire {strike.target}"
    if strike.kind in ("kill", "restart", "freeze"):
        return strike.target
    return next((word for word in ("valkey", "postgres") if word in strike.kind), strike.kind)
