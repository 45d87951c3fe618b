"""A section as the row of its run has it: what entries, layers or the head of the conversation say is named by where it
stands, and read from there. What was taken back there since is not in the section any more.

The sources of its texts, by their keys:

=========================  =============================================================================
``[seq, block]``           what a block of an entry says
``["json", seq, block]``   the block itself
``["put", layer, seq, …]`` what a layer put in the place of one
``["head", name]``         `system`, `standing` or `tools` of the head of its requests
``["summary"]``            the summary in its result
``["body", number]``       an earlier body of the same section
=========================  =============================================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping, or_, select

from bot.compaction.trace import Body, Key, Section, Sources, keys_in, lines_of, text_from
from bot.history import Entry
from bot.messages import AgentId, Block
from bot.store import histories
from bot.store.runs import Run
from bot.store.schema import compactions, entries, heads, layers
from bot.store.traces.requests import block_text, tools_text
from bot.store.tx import Tx

Record = list[Any]
"""The parts of a section, for JSON: lines of the program as one string, bodies as their language and their pieces."""
COLUMNS = [compactions.c[name] for name in ("agent_id", "head", "result", "record", "trace")]
"""That :meth:`Kept.of` reads."""
_AT_ONCE = 500


@dataclass(frozen=True)
class Kept:
    """What a run's row has of its section. ``trace``: its text, where an earlier version wrote it."""

    agent_id: AgentId
    head: str
    summary: str
    record: Record | None
    trace: str | None

    @classmethod
    def of(cls, row: RowMapping) -> Kept:
        """Of a row with :data:`COLUMNS`."""
        summary = (row["result"] or {}).get("summary", "")
        return cls(AgentId(row["agent_id"]), row["head"], summary, row["record"], row["trace"])

    @classmethod
    def of_run(cls, run: Run) -> Kept:
        """Of a run."""
        summary = run.result.summary if run.result else ""
        return cls(run.agent_id, run.head, summary, run.record, run.trace)


def record_of(section: Section, sources: Sources) -> Record:
    """For the run's row. Earlier bodies become sources of later ones."""
    record: Record = []
    lines: list[str] = []
    count = 0
    for part in section:
        if isinstance(part, str):
            lines.append(part)
            continue
        record += ["\n".join(lines)]
        lines = []
        record.append([part.language, *sources.pieces(part.text)])
        sources.add(("body", count), part.text)
        count += 1
    return [*record, "\n".join(lines)] if lines else record


def section_from(record: Record, texts: Mapping[Key, str]) -> Section:
    """The section that a record is of. ``texts``: what its sources say."""
    known, parts, count = dict(texts), list[str | Body](), 0
    for part in record:
        if isinstance(part, str):
            parts += lines_of(part)
            continue
        text = text_from(part[1:], known.get)
        known["body", count] = text
        count += 1
        parts.append(Body(text, part[0]))
    return tuple(parts)


def is_record(found: Any) -> bool:
    """Whether something that came from elsewhere is a record, whatever it says."""
    return isinstance(found, list) and all(isinstance(part, str) or _is_body(part) for part in found)


def _is_body(part: Any) -> bool:
    if not isinstance(part, list) or not part or not isinstance(part[0], str):
        return False
    return all(isinstance(piece, str) or _is_reference(piece) for piece in part[1:])


def _is_reference(piece: Any) -> bool:
    match piece:
        case [_, *_, first, count]:
            key = piece[:-2]
        case _:
            return False
    numbers = all(isinstance(one, int) and 0 <= one < 2**31 for one in (first, count))
    return numbers and all(isinstance(one, str) or (isinstance(one, int) and abs(one) < 2**31) for one in key)


async def sources_of(tx: Tx, run: Run) -> Sources:
    """What a section of this run may refer to: the page that it was planned on, and what became of it."""
    head = await _head(tx, run.head)
    own = (layers.c.agent_id == run.agent_id) & or_(layers.c.number.in_(run.stack), layers.c.run_id == run.id)
    over = [histories.layer_of(row) for row in (await tx.execute(select(layers).where(own))).mappings()]
    beneath = [layer for layer in over if layer.run != run.id]
    page = await histories.beneath(tx, run.agent_id, beneath, int(run.plan["upto"]))
    numbers = [layer.number for layer in over]
    inserted = select(entries).where(entries.c.agent_id == run.agent_id, entries.c.layer.in_(numbers))
    page += [histories.entry_of(row) for row in (await tx.execute(inserted)).mappings()]
    put = [(("put", layer.number, seq), blocks) for layer in over for seq, blocks in layer.replaced.items()]
    summary = run.result.summary if run.result else ""
    return Sources([(("summary",), summary), *head.items(), *_of_entries(page), *_of_blocks(put)])


def _of_entries(page: Sequence[Entry]) -> Iterator[tuple[Key, str]]:
    return _of_blocks([((entry.seq,), entry.blocks) for entry in page])


def _of_blocks(some: Sequence[tuple[Key, Sequence[Block]]]) -> Iterator[tuple[Key, str]]:
    for key, blocks in some:
        for at, block in enumerate(blocks):
            if text := _says(block):
                yield (*key, at), text
            if block.get("type") != "text":
                yield ("json", *key, at), block_text(block)


def _says(block: Block) -> str:
    """The words of a block: of a text, or of what a tool returned."""
    if block.get("type") == "text":
        return str(block.get("text", ""))
    content = block.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping) and "text" in part)


async def section_of(tx: Tx, kept: Kept) -> Section | str | None:
    """The section; a text where an earlier version wrote it, None where there is none."""
    if kept.record is None:
        return kept.trace
    bodies = [part[1:] for part in kept.record if not isinstance(part, str)]
    texts = await _texts(tx, kept, {key for pieces in bodies for key in keys_in(pieces)})
    return section_from(kept.record, {("summary",): kept.summary, **texts})


async def _texts(tx: Tx, kept: Kept, keys: Collection[Key]) -> dict[Key, str]:
    """What these say."""
    found: dict[Key, str] = dict(await _head(tx, kept.head)) if any(key[0] == "head" for key in keys) else {}
    seqs = sorted({_seq(key) for key in keys} - {None})  # type: ignore[type-var]
    for at in range(0, len(seqs), _AT_ONCE):
        these = (entries.c.agent_id == kept.agent_id) & entries.c.seq.in_(seqs[at : at + _AT_ONCE])
        rows = await tx.execute(select(entries.c.seq, entries.c.blocks).where(these))
        found |= dict(_of_blocks([((row[0],), row[1]) for row in rows]))
    if numbers := {key[key.index("put") + 1] for key in keys if "put" in key}:
        own = (layers.c.agent_id == kept.agent_id) & layers.c.number.in_(numbers)
        over = [histories.layer_of(row) for row in (await tx.execute(select(layers).where(own))).mappings()]
        put = [(("put", layer.number, seq), blocks) for layer in over for seq, blocks in layer.replaced.items()]
        found |= dict(_of_blocks(put))
    return found


def _seq(key: Key) -> int | None:
    """Of the entry that a key names."""
    named = key[1] if key[0] == "json" else key[0]
    return named if isinstance(named, int) else None


async def _head(tx: Tx, digest: str) -> dict[Key, str]:
    content = (await tx.execute(select(heads.c.content).where(heads.c.hash == digest))).scalar_one_or_none()
    if content is None:
        return {}
    return {
        ("head", "system"): content["system"],
        ("head", "standing"): content.get("standing", ""),
        ("head", "tools"): tools_text(content["tools"]),
    }
