"""Looks at what waits in the queue before arq does: what is no job of ours is taken out, and counted.

arq takes the queue at its word: an id that is no text, a time that is none or a job of another shape ends its worker,
and stays where it is for the next one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix, job_key_prefix, retry_key_prefix
from redis.exceptions import ResponseError

from bot.bus.events import Garbage, decode_job
from bot.bus.garbage import GarbageCount

_NUMBER = re.compile(rb"[0-9]{1,6}")
_ID = re.compile(rb"[0-9a-f]{32}")
_AT_ONCE = 1_000


async def clear(redis: ArqRedis, queue: str, garbage: GarbageCount) -> None:
    """Vet everything that waits; what is no queue at all is taken away."""
    if await redis.type(queue) not in (b"zset", b"none"):
        await redis.delete(queue)
        garbage.found("queue", "the queue is no sorted set")
        return
    at = 0
    while ids := await redis.zrange(queue, at, at + _AT_ONCE - 1):
        at += len(await vetted(redis, queue, ids, garbage))


async def vetted(redis: ArqRedis, queue: str, ids: Sequence[bytes], garbage: GarbageCount) -> list[bytes]:
    """Those of them that are jobs of ours; the others are gone."""
    if not ids:
        return []
    ours, reasons = [], dict[bytes, str]()
    for job_id, (score, job, retries, time_left) in zip(ids, await _found(redis, queue, ids), strict=True):
        in_progress = in_progress_key_prefix.encode() + job_id
        if time_left == -1:  # nobody would ever be done with it
            await redis.delete(in_progress)
        if _ID.fullmatch(job_id) is None:
            reasons[job_id] = "its id is none of ours"
        elif not isinstance(score, float) or not 0 < score < math.inf:
            reasons[job_id] = "its time is none"
        elif not (retries is None or (isinstance(retries, bytes) and _NUMBER.fullmatch(retries))):
            reasons[job_id] = "its tries are no number"
        elif reason := _wrong(job):
            reasons[job_id] = reason
        else:
            ours.append(job_id)
    if reasons:
        await _take_out(redis, queue, list(reasons))
    if told := [reason for reason in reasons.values() if reason != _GONE]:
        garbage.found("queue", told[0], len(told))
    return ours


_GONE = "gone"
"""It is done, or was asked for too long ago: no garbage, but nothing to do either."""


def _wrong(job: object) -> str:
    """Why this is no job; empty where it is one."""
    if job is None:
        return _GONE
    if not isinstance(job, bytes):
        return "its job is no text"
    try:
        decode_job(job)
    except Garbage as error:
        return str(error)
    return ""


async def _found(redis: ArqRedis, queue: str, ids: Sequence[bytes]) -> list[Sequence[object]]:
    async with redis.pipeline(transaction=False) as pipe:
        for job_id in ids:
            pipe.zscore(queue, job_id)
            pipe.get(job_key_prefix.encode() + job_id)
            pipe.get(retry_key_prefix.encode() + job_id)
            pipe.pttl(in_progress_key_prefix.encode() + job_id)
        answers = await pipe.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, ResponseError):
            raise answer
    return [answers[at : at + 4] for at in range(0, len(answers), 4)]


async def _take_out(redis: ArqRedis, queue: str, ids: Sequence[bytes]) -> None:
    prefixes = [prefix.encode() for prefix in (job_key_prefix, retry_key_prefix, in_progress_key_prefix)]
    async with redis.pipeline(transaction=True) as pipe:
        pipe.zrem(queue, *ids)
        pipe.delete(*(prefix + job_id for job_id in ids for prefix in prefixes))
        await pipe.execute()
