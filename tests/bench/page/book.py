"""A book as large as operators' are: conversations of all sizes, each with its turns, compactions and layers.

Everything is written by the tables alone, many rows at a time; what it says is made of words that are as frequent as
words are. A seed gives the same book again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from sqlalchemy import func, select

from bot.compaction.plan import Inserted, Plan
from bot.history import Entry, EntryKind, Usage
from bot.messages import Address, Audience, text_block
from bot.store import Database, Tx, schema
from bot.store.search.word_index import insertion
from bot.store.search.words import words_in

_BATCH = 2_000
_DAYS = 14
_DAY = 86_400.0
_LIMIT = 180_000
_SYLLABLES = ("ba", "ko", "mi", "ren", "tal", "vo", "sen", "dar", "lu", "pex", "ni", "gor", "fa", "shu", "ter", "zim")
_NAMES = ("Ada Lovelace", "李小龙", "Анна Каренина", "فاطمة", "🦊 Fox", "Grace Hopper", "<b>Bob</b>", "Zoë", "O'Neil")
_CONNECTORS = ("telegram", "discord", "web")
_TRIGGERS = ("ahead", "ahead", "ahead", "auto", "manual", "recovery")
_STATES = ("done",) * 12 + ("failed", "empty", "aborted")


@dataclass(frozen=True)
class Size:
    """How much there is."""

    agents: int = 1_000
    entries: int = 100_000
    compactions: int = 5_000


class Speech:
    """Lines of about 40 words."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._words = ["".join(dice.choices(_SYLLABLES, k=1 + at % 4)) for at in range(6_000)]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(self._words))))

    def line(self, words: int = 40) -> str:
        """One of them."""
        said = self._dice.choices(self._words, cum_weights=self._weights, k=self._dice.randint(5, 2 * words))
        return f"{' '.join(said).capitalize()}."


async def write(database: Database, size: Size, *, now: float, seed: int = 7) -> None:
    """Fill an empty book."""
    dice = random.Random(seed)
    speech = Speech(dice)
    counts = _shares(dice, size.entries, size.agents)
    runs = _shares(dice, size.compactions, size.agents)
    for at in range(size.agents):
        rows = _Written(dice, speech, Address(dice.choice(_CONNECTORS), str(10_000 + at)), now).filled(
            counts[at], runs[at]
        )
        async with database.write() as tx:
            await _insert(tx, rows)
            newest = await tx.execute(select(func.max(schema.indexed_agents.c.number)))
            words = await asyncio.to_thread(_words, tx.dialect.name, newest.scalar_one(), rows["entries"])
            await tx.execute(*words)


def _shares(dice: random.Random, whole: int, parts: int) -> list[int]:
    """Few large ones and many small ones, which add up."""
    weights = [1 / (place + 5) for place in range(parts)]
    dice.shuffle(weights)
    total = sum(weights)
    shares = [max(1, int(whole * weight / total)) for weight in weights]
    shares[0] += whole - sum(shares)
    return shares


def _words(dialect: str, number: int, rows: list[dict[str, Any]]) -> Any:
    return insertion(dialect, number, {row["seq"]: words_in(row["blocks"][0]["text"]) for row in rows})


async def _insert(tx: Tx, rows: Mapping[str, list[dict[str, Any]]]) -> None:
    for name, found in rows.items():
        for at in range(0, len(found), _BATCH):
            await tx.execute(schema.metadata.tables[name].insert(), found[at : at + _BATCH])


class _Written:
    """One conversation, row by row."""

    def __init__(self, dice: random.Random, speech: Speech, address: Address, now: float) -> None:
        self._dice, self._speech, self._address, self._now = dice, speech, address, now
        self._at = begin = now - dice.uniform(0.2, _DAYS) * _DAY
        self._step, self._seq, self._layer, self._tokens = 0.0, 0, 0, 2_000
        self._person = dice.choice(_NAMES)
        self._covered = 0
        self._runs = 0
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: []
            for name in ("agents", "indexed_agents", "inbox", "outbox", "turns", "entries", "layers", "compactions")
        }
        own = address.agent_id
        self.rows["indexed_agents"].append({"agent_id": own})
        self.rows["agents"].append(
            {
                "id": own, "connector": address.connector, "chat": address.chat, "thread": "", "epoch": 3,
                "touched_at": begin, "paused": False, "cooldown": 0, "calibration": 1.0, "meter": self._meter(),
            }
        )  # fmt: skip

    def filled(self, entries: int, runs: int) -> Mapping[str, list[dict[str, Any]]]:
        """With so much of each; returns the rows by their tables."""
        self._step = (self._now - self._at) / (entries + 1)
        every = max(2, entries // (runs + 1))
        for place in range(1, entries + 1):
            self.say()
            if place % every == 0 and self._runs < runs:
                self.compact()
        while self._runs < runs:
            self.compact()
        return self.rows

    def say(self) -> None:
        """A question or its answer, by turns."""
        self._at += self._step
        turn = f"{self._address.chat}-{self._seq // 2}"
        if self._seq % 2 == 0:
            self._hear(turn)
        else:
            self._end(turn)
        self._entry("user" if self._seq % 2 == 0 else "assistant", self._speech.line(), turn)
        self._tokens = min(_LIMIT, self._tokens + self._dice.randint(500, 6_000))
        self.rows["agents"][0] |= {"touched_at": self._at, "meter": self._meter()}

    def compact(self) -> None:
        """A run, and its layer if it is done."""
        self._runs += 1
        dice, run, state = self._dice, f"{self._address.chat}{self._runs:08x}", self._dice.choice(_STATES)
        before, upto = self._meter(), self._seq
        summary = " ".join(self._speech.line() for _ in range(12))
        hidden = ((1, upto),) if upto else ()
        inserted = (Inserted(upto + 1, EntryKind.SUMMARY, summary),)
        asked_of = tuple(range(self._covered + 1, upto + 1))
        kept = ("ZEBRA-4417", "src/main.py")
        plan = Plan("reset", upto, upto + 1, hidden, inserted=inserted, summarise=asked_of, must_keep=kept)
        usage = asdict(Usage(dice.randint(500, 9_000), dice.randint(0, 150_000), 2_000, dice.randint(300, 1_500)))
        if state == "done":
            self._put(run, upto, hidden, summary)
        asked = {
            "mode": "conversation",
            "system": summary[:400],
            "messages": [{"role": "user", "content": summary * 4}],
        }
        result = {"outcome": "summary", "summary": summary, "reason": "", "usage": usage,
                  "inference": [{**asked, "reply": summary}]}  # fmt: skip
        self.rows["compactions"].append(
            {
                "id": run, "agent_id": self._address.agent_id, "trigger": dice.choice(_TRIGGERS), "strategy": "reset",
                "focus": "", "state": state, "status_slot": 0, "stack": [self._layer - 1] if self._layer > 1 else [],
                "head": "none", "model": "claude-sonnet-5", "limit_tokens": _LIMIT, "jobs": 1, "meter_before": before,
                "meter_after": self._meter() if state == "done" else None, "usage": usage, "reason": "",
                "started_at": self._at, "enqueued_at": self._at, "finished_at": self._at + dice.uniform(2, 20),
                "traced": True, "plan": plan.as_json(), "result": result, "trace": summary * 6,
            }
        )  # fmt: skip

    def _put(self, run: str, upto: int, hidden: tuple[tuple[int, int], ...], summary: str) -> None:
        self._layer, self._covered = self._layer + 1, upto
        self.rows["layers"].append(
            {
                "agent_id": self._address.agent_id, "number": self._layer, "kind": "compaction", "upto": upto,
                "floor": upto + 1, "hidden": [list(span) for span in hidden], "replaced": {}, "run_id": run,
                "created_at": self._at, "removed_at": None,
            }
        )  # fmt: skip
        self._entry("user", summary, None, kind=EntryKind.SUMMARY, layer=self._layer, place=upto + 1)
        self._tokens = self._dice.randint(8_000, 30_000)

    def _hear(self, turn: str) -> None:
        self.rows["inbox"].append(
            {
                "agent_id": self._address.agent_id, "connector": self._address.connector,
                "key": f"{self._address.chat}:{self._seq}", "kind": "message", "position": self._seq,
                "person": self._address.chat, "person_name": self._person, "text": "said", "received_at": self._at,
                "state": "done", "turn_id": turn, "attachments": [],
            }
        )  # fmt: skip

    def _end(self, turn: str) -> None:
        total = self._dice.uniform(1, 30)
        timing = {"queued": total * 0.1, "compaction": 0.0, "model": total * 0.7, "tools": total * 0.15, "total": total}
        self.rows["turns"].append(
            {
                "id": turn, "agent_id": self._address.agent_id, "state": "done", "slot": self._seq, "recoveries": 0,
                "started_at": self._at - total, "ended_at": self._at, "tries": 1, "context_tokens": self._tokens,
                "usage": asdict(Usage(self._dice.randint(99, 5_000), self._tokens, 3_000, self._dice.randint(20, 900))),
                "context_limit": _LIMIT, "timing": {**timing, "first_token": total * 0.3},
            }
        )  # fmt: skip
        self.rows["outbox"].append(
            {
                "agent_id": self._address.agent_id, "connector": self._address.connector, "chat": self._address.chat,
                "thread": "", "kind": "reply", "text": "said", "buttons": [], "state": "ready", "version": 1,
                "delivered": 1, "refs": ["1"], "sending": False, "created_at": self._at,
            }
        )  # fmt: skip

    def _entry(self, role: Any, text: str, turn: str | None, **more: Any) -> None:
        self._seq += 1
        kind = more.pop("kind", EntryKind.SAID if role == "user" else EntryKind.REPLY)
        entry = Entry(self._seq, role, (text_block(text),), kind, Audience.EVERYONE, len(text) // 4, turn, **more)
        person = self._address.chat if kind is EntryKind.SAID else ""
        self.rows["entries"].append(
            {
                "agent_id": self._address.agent_id, "seq": entry.seq, "role": entry.role, "blocks": list(entry.blocks),
                "kind": entry.kind, "audience": entry.audience, "tokens": entry.tokens, "turn_id": entry.turn,
                "layer": entry.layer, "place": entry.place, "anchor": None, "interrupted": False,
                "created_at": self._at, "person": person,
            }
        )  # fmt: skip

    def _meter(self) -> dict[str, Any]:
        share = round(self._tokens / _LIMIT, 4)
        level = "critical" if share >= 0.9 else "warning" if share >= 0.75 else "ok"
        parts = {"system prompt": 900, "tools": 1_050, "summary": self._tokens // 5}
        parts["conversation"] = self._tokens - sum(parts.values())
        return {
            "total": self._tokens,
            "limit": _LIMIT,
            "share": share,
            "source": "usage",
            "level": level,
            "parts": parts,
        }
