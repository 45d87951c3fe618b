"""Pages that `tiered` has something to do on, short to write down, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.compaction import Plan, PlanContext
from bot.compaction.strategies.tiered import Tiered, TieredOptions
from bot.estimate import Family, Meter, Part, message_tokens
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.any_history import assert_valid
from tests.unit.entries import replied, returned, said

CODE = "\n".join(f"def function_{index}(value):\n    return value * {index}  # and so on\n" for index in range(60))


def counted(entry: Entry) -> Entry:
    size = message_tokens({"role": entry.role, "content": list(entry.blocks)}, family=Family.NEWER)
    return replace(entry, tokens=round(size))


def sent(seq: int, path: str, text: str = CODE) -> Entry:
    shown_text = f"[File: {path}, {len(text):,} characters]\n{text}"
    return counted(Entry(seq, "user", (text_block(shown_text),), EntryKind.FILE))


def reading(seq: int, path: str, text: str = CODE, *, tool: str = "read_file", **given: Any) -> list[Entry]:
    """A call that reads a file, and its result."""
    call = {"type": "tool_use", "id": f"call-{seq}", "name": tool, "input": {"path": path, **given}}
    reply = counted(Entry(seq, "assistant", (call,), EntryKind.REPLY))
    return [reply, counted(returned(seq + 1, f"call-{seq}", text))]


def chat(first: int, count: int, *, tokens: int = 50) -> list[Entry]:
    """Questions and answers, the question first."""
    return [
        said(seq, f"question {seq}", tokens=tokens)
        if (seq - first) % 2 == 0
        else replied(seq, f"answer {seq}", tokens=tokens)
        for seq in range(first, first + count)
    ]


def meter_of(page: Sequence[Entry] | History, share: float, *, head: int = 0) -> Meter:
    entries = page.visible if isinstance(page, History) else page
    talk = sum(entry.tokens for entry in entries)
    return Meter.of([Part("system prompt", head), Part("conversation", talk)], limit=int((talk + head) / share))


def planned(page: History, share: float, context: PlanContext | None = None, **options: Any) -> Plan | None:
    strategy = Tiered(TieredOptions(**options))
    return strategy.plan(page.visible, meter_of(page, share), context or PlanContext())


def covered(page: History, plan: Plan | None, summary: str = "SUMMARY") -> History:
    assert plan
    layer, inserted = plan.layer(max(page.stack, default=0) + 1, page.last_seq + 1, run=None, summary=summary)
    after = page.covered(layer, [counted(entry) for entry in inserted])
    assert_valid(after.view())
    return after


def only_soft(page: History, share: float = 0.65, **options: Any) -> Plan | None:
    """With options under which the higher tiers have nothing to do."""
    return planned(page, share, keep_last=99, emergency_keep_last=99, **options)


def visible_seqs(page: History) -> list[int]:
    return [entry.seq for entry in page.visible if entry.layer is None]


def notes(page: History) -> list[str]:
    return [entry.blocks[0]["text"] for entry in page.visible if entry.kind is EntryKind.NOTE]
