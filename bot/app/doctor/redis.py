"""Redis: does it answer, and does it keep what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from bot.app.doctor.case import Case, revealed
from bot.app.embedded.valkey import EmbeddedValkey, binary_version
from bot.app.resources import bus_at
from bot.bus.bus import Bus
from bot.bus.redis_server import RedisState, state_of
from bot.errors import BusUnavailable, PalimpsestError
from bot.runtime.checks import Finding, ok, problem, warning
from bot.runtime.settings import Settings
from bot.store import installation
from bot.store.book import database_of

PART = "redis"
_BOOK_SECONDS = 4.0


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
    return bus_at(url, await _bell(settings)) if url else None


async def _bell(settings: Settings) -> str:
    """What this installation is called there; empty where its book cannot be read, which is another check's matter."""
    with suppress(PalimpsestError, TimeoutError):
        if settings.database_url or (settings.data_dir / "palimpsest.db").exists():
            database = database_of(settings)
            try:
                async with asyncio.timeout(_BOOK_SECONDS), database.read() as tx:
                    return await installation.look_for_bell(tx) or ""
            finally:
                await database.close()
    return ""


def _judge(found: RedisState) -> list[Finding]:
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
    if found.before and found.others:
        sentence = f"{found.before} processes of a version before installations were kept apart use this Redis."
        advice = (
            "Bring them up to this version too: until then they hear each other, whatever database number each has, "
            "and one of them may show another installation's text in its chats."
        )
        findings.append(warning(PART, sentence, advice))
    others = f" {found.others} other installation{'s use' if found.others > 1 else ' uses'} it too, kept apart from "
    beside = f"{others}this one." if found.others else ""
    return findings or [ok(PART, f"Redis {found.version} answers.{beside}")]


def _unavailable(error: BusUnavailable, *, own: bool) -> Finding:
    reason = str(error).rstrip(".")
    if not own:
        return problem(PART, f"The embedded Valkey does not answer: {reason}.", "Start the program again.")
    advice = (
        "Check host, port and password in REDIS_URL (rediss:// with TLS; redis+sentinel:// for Sentinels), and that "
        "this machine may connect."
    )
    return problem(PART, f"REDIS_URL: {reason}.", advice)
