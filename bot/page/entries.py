"""What was said, as the page shows it: who said it, what it says, and what layers made of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.history import ASKED, THINKING, Entry, EntryKind
from bot.history.entry_text import text_to_read
from bot.messages import Audience, Block
from bot.store.operators.pages import Cover
from bot.store.search.recall import Recalled

Fate = Literal["seen", "hidden", "replaced", "inserted", "people"]
"""Whether the model sees it: as it is, not, with other content, as something that a layer put in; or it never was for
the model."""
LONGEST = 20_000
"""Characters of one text that are shown at once; a longer one is cut, and says so."""


@dataclass(frozen=True)
class Piece:
    """A part of an entry. ``title``: what it is, for what is folded; empty for what people wrote or read."""

    text: str
    title: str = ""
    markdown: bool = False
    cut: int = 0
    """Characters that are not shown."""


@dataclass(frozen=True)
class Shown:
    """An entry with its fate. ``cover``: the layer to thank for that; ``later``: how many more lie over it;
    ``now``: what the model sees in its place."""

    seq: int
    role: str
    kind: str
    who: str
    at: float
    tokens: int
    turn: str | None
    pieces: tuple[Piece, ...]
    fate: Fate
    cover: Cover | None = None
    later: int = 0
    now: tuple[Piece, ...] = ()
    interrupted: bool = False
    said: str = ""
    """What the clocks showed where it was said, and whose clocks; empty where that was not kept."""


def shown(item: Recalled, covers: Sequence[Cover]) -> Shown:
    """One entry, under all the layers that ever were."""
    entry = item.entry
    fate, cover, later, now = _fate(entry, covers)
    return Shown(
        seq=entry.seq,
        role=entry.role,
        kind=entry.kind.value,
        who=_who(item),
        at=item.at,
        tokens=entry.tokens,
        turn=entry.turn,
        pieces=pieces(entry.blocks, markdown=is_prose(entry)),
        fate=fate,
        cover=cover,
        later=later,
        now=pieces(now, markdown=is_prose(entry)),
        interrupted=entry.interrupted,
        said=f"{entry.said.minute} {entry.said.zone}" if entry.said else "",
    )


def _fate(entry: Entry, covers: Sequence[Cover]) -> tuple[Fate, Cover | None, int, Sequence[Block]]:
    if entry.audience is Audience.PEOPLE:
        return "people", None, 0, ()
    on = [cover for cover in covers if cover.is_on]
    hiding = [cover for cover in on if hides(cover, entry.seq)]
    if entry.layer is not None:
        own = next((cover for cover in covers if cover.layer.number == entry.layer), None)
        gone = len(hiding) + (own is not None and not own.is_on)
        return "inserted", own, gone, ()
    if hiding:
        return "hidden", hiding[0], len(hiding) - 1, ()
    replacing = [cover for cover in on if entry.seq in cover.layer.replaced]
    if replacing:
        return "replaced", replacing[-1], len(replacing) - 1, replacing[-1].layer.replaced[entry.seq]
    return "seen", None, 0, ()


def hides(cover: Cover, seq: int) -> bool:
    """Whether a layer hides this entry."""
    return any(low <= seq <= high for low, high in cover.layer.hidden)


def pieces(blocks: Sequence[Block], *, markdown: bool) -> tuple[Piece, ...]:
    """What blocks say: words as they are, everything else under a title, to be unfolded."""
    return tuple(piece for block in blocks if (piece := _piece(block, markdown=markdown)) is not None)


def _piece(block: Block, *, markdown: bool) -> Piece | None:
    kind = str(block.get("type", ""))
    if kind == "text":
        return _cut(str(block.get("text", "")), markdown=markdown)
    if kind in THINKING:
        thought = block.get("thinking") or block.get("value")
        return _cut(thought if isinstance(thought, str) and thought else "(not readable)", "thinking")
    if kind.endswith("tool_use"):
        called = json.dumps(block.get("input"), ensure_ascii=False, indent=1)
        return _cut(called, f"calls {block.get('name', 'a tool')}")
    if kind.endswith("tool_result"):
        failed = " (failed)" if block.get("is_error") else ""
        return _cut(text_to_read([block]), f"result{failed}")
    if kind in ("image", "document"):
        return Piece(_file(block), kind)
    return _cut(text_to_read([block]) or json.dumps(block, ensure_ascii=False, default=str), kind or "something")


def _file(block: Mapping[str, Any]) -> str:
    source = block.get("source")
    path = source.get("path", "") if isinstance(source, Mapping) else ""
    return str(block.get("title") or path or "without a name")


def _cut(text: str, title: str = "", *, markdown: bool = False) -> Piece:
    return Piece(text[:LONGEST], title, markdown, max(0, len(text) - LONGEST))


def is_prose(entry: Entry) -> bool:
    """Whether it is what somebody wrote, and so Markdown."""
    return entry.kind in ASKED or entry.kind in (EntryKind.REPLY, EntryKind.SUMMARY)


def _who(item: Recalled) -> str:
    entry = item.entry
    if entry.kind in ASKED:
        return item.who or entry.person or "somebody"
    names = {
        EntryKind.REPLY: "assistant",
        EntryKind.RESULT: item.who or "tool",
        EntryKind.SUMMARY: "summary",
        EntryKind.MARKER: "marker",
        EntryKind.NOTE: "note to the model",
        EntryKind.WOKEN: "appointment",
    }
    return names.get(entry.kind, entry.kind.value)
