"""Embeddings of entries, kept so that none is made twice. A cache: whoever loses it makes it again."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from sqlalchemy import select

from bot.messages import AgentId
from bot.store.schema import vectors
from bot.store.tx import Tx, insert_into

_AT_ONCE = 500
"""Seqs that one question names: databases bound the number of parameters."""


async def load(tx: Tx, agent_id: AgentId, model: str, seqs: Iterable[int]) -> dict[int, array[float]]:
    """The vectors of these entries that this model made; nothing for those that have none."""
    wanted = iter(seqs)
    found: dict[int, array[float]] = {}
    while some := list(islice(wanted, _AT_ONCE)):
        rows = await tx.execute(
            select(vectors.c.seq, vectors.c.vector).where(
                vectors.c.agent_id == agent_id, vectors.c.model == model, vectors.c.seq.in_(some)
            )
        )
        found.update((seq, _unpacked(packed)) for seq, packed in rows)
    return found


async def keep(tx: Tx, agent_id: AgentId, model: str, made: Mapping[int, Sequence[float]]) -> None:
    """Keep vectors by the seqs of their entries. One that is there stays: a model makes the same one again."""
    if not made:
        return
    await tx.execute(
        insert_into(tx, vectors).on_conflict_do_nothing(index_elements=["agent_id", "seq", "model"]),
        [{"agent_id": agent_id, "seq": seq, "model": model, "vector": _packed(vector)} for seq, vector in made.items()],
    )


def _packed(vector: Sequence[float]) -> bytes:
    packed = array("f", vector)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpacked(packed: bytes) -> array[float]:
    vector = array("f")
    vector.frombytes(packed)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
