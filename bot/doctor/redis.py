"""Redis: does it answer, and does it keep what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from bot.bus import Bus
from bot.bus_state import BusState, state_of
from bot.doctor.case import Case, revealed
from bot.embedded.valkey import EmbeddedValkey, binary_version
from bot.errors import BusUnavailable, PalimpsestError
from bot.finding import Finding, ok, problem, warning
from bot.parts import bus_at
from bot.settings import Settings

PART = "redis"


async def check_redis(case: Case) -> Sequence[Finding]:
    """The one that REDIS_URL names, the embedded one that runs, or the one that would be started."""
    bus = await _running(case.settings)
    if bus is None:
        version = await asyncio.to_thread(binary_version)
        return [ok(PART, f"The embedded Valkey {version} can run; it is started with the program.")]
    try:
        found = await state_of(bus)
    except BusUnavailable as error:
        return [_unavailable(error, own=bool(case.settings.redis_url))]
    finally:
        await bus.close()
    if not case.settings.redis_url:
        return [ok(PART, f"The embedded Valkey {found.version} runs.")]
    return _judge(found)


async def is_held(settings: Settings, lease: str) -> bool | None:
    """Whether a running program has this lease; None where no Redis answers."""
    with suppress(PalimpsestError):
        if bus := await _running(settings):
            try:
                return await bus.is_held(lease)
            finally:
                await bus.close()
    return None


async def _running(settings: Settings) -> Bus | None:
    """None where the embedded Valkey does not run. Raises ConfigurationError, EmbeddedError."""
    url = revealed(settings.redis_url) or await EmbeddedValkey(settings.data_dir).find()
    return bus_at(url) if url else None


def _judge(found: BusState) -> list[Finding]:
    findings = []
    if found.maxmemory and found.policy != "noeviction":
        sentence = f"Redis {found.version} throws keys away when it is full (maxmemory-policy {found.policy})."
        advice = (
            "Set `maxmemory-policy noeviction` there, or give the program a Redis of its own: under memory pressure "
            "jobs and leases would vanish, and answers wait until that is noticed."
        )
        findings.append(problem(PART, sentence, advice))
    if found.persistent is False:
        sentence = f"Redis {found.version} answers and writes nothing to disk."
        advice = "Nothing to do: nothing is lost when it restarts, it costs a few seconds."
        findings.append(warning(PART, sentence, advice))
    return findings or [ok(PART, f"Redis {found.version} answers.")]


def _unavailable(error: BusUnavailable, *, own: bool) -> Finding:
    reason = str(error).rstrip(".")
    if not own:
        return problem(PART, f"The embedded Valkey does not answer: {reason}.", "Start the program again.")
    advice = (
        "Check host, port and password in REDIS_URL (rediss:// with TLS; redis+sentinel:// for Sentinels), and that "
        "this machine may connect."
    )
    return problem(PART, f"REDIS_URL: {reason}.", advice)
