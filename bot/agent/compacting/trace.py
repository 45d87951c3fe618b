"""The trace: one section a compaction, in `agents/<agentId>/compaction_YYYYMMDD.md` (UTC day). Rendering is pure.

The section in the book is the truth, the file is its projection. Content is fenced with more backticks than it holds,
so that nothing in it can break the document.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any
from uuid import uuid4

from bot.compaction import Plan
from bot.compaction.statistics import messages_text, statistics_of
from bot.estimate.meter import MeterRecord, percent
from bot.history import Entry, Ranges, Usage
from bot.history.entry_text import text_to_read
from bot.messages import text_of
from bot.runtime.prices import cost
from bot.runtime.utc_day import day_of
from bot.store.runs import Run, SummaryRequest

_PIECE_BYTES = 65_536
CUT_OFF = "No reply: the run, or the worker that asked, ended before one came."


def render(
    run: Run,
    *,
    tools: Sequence[Mapping[str, Any]],
    previous_summary: str | None,
    layer: int | None,
    memory: Sequence[str] = (),
    inserted: Sequence[Entry] = (),
) -> str:
    """The section of a run that ended. ``tools``: those of the conversation; ``layer``: the number of the layer it put
    down, if it did; ``inserted``: the entries that this added; ``memory``: what became of the agent's memory since the
    run before."""
    plan = Plan.from_json(run.plan)
    finished = run.finished_at or run.started_at
    result = run.result
    usage = result.usage if result else None
    stats = statistics_of(run.meter_before, run.meter_after)
    facts = [
        ("run", run.id),
        ("started", _utc(run.started_at)),
        ("finished", _utc(finished)),
        ("duration", f"{finished - run.started_at:.2f} s"),
        ("trigger", run.trigger),
        ("strategy", plan.strategy + (f" ({plan.given})" if plan.given else "")),
        ("model", run.model),
        ("outcome", run.state.value + (f" ({run.reason})" if run.reason else "")),
        ("focus", run.focus or "none"),
        ("before", _meter(run.meter_before)),
        ("after", _meter(run.meter_after) if run.meter_after else "unchanged"),
        ("messages", messages_text(stats) if stats else "not counted" if run.meter_after else "unchanged"),
        ("jobs", str(run.jobs)),
        ("usage", "not known" if run.asked and usage is None else _usage(usage)),
        ("cost", _cost(run.model, usage)),
        ("layer", str(layer) if layer is not None else "none"),
        ("covers", f"entries up to {plan.upto}" if layer is not None else "nothing was changed"),
        *((name, wanted if layer is not None else "none") for name, wanted in _effects(plan)),
        ("summarised", f"{len(plan.summarise)} entries" + (f": {_span_of(plan.summarise)}" if plan.summarise else "")),
    ]
    lines = [f"## {_utc(run.started_at)} {run.trigger} {run.state.value}", ""]
    lines += [f"- **{name}**: {_one_line(value)}" for name, value in facts]
    if result and result.summary:
        lines += ["", "### Summary", "", fenced(result.summary)]
        if previous_summary:
            lines += ["", "### Difference to the previous summary", "", fenced(_diff(previous_summary, result.summary))]
    if layer is not None:
        lines += _changed(plan, inserted)
    if memory:
        lines += ["", "### Memory", "", fenced("\n".join(memory))]
    lines += _inference(run.asked, tools)
    return "\n".join(lines) + "\n\n"


def _changed(plan: Plan, inserted: Sequence[Entry]) -> list[str]:
    """What the model reads now that it did not read before, as it reads it."""
    lines: list[str] = []
    for entry in inserted:
        lines += ["", f"### Inserted: {entry.kind.value} before {entry.place}", "", fenced(text_of(entry.blocks))]
    for seq, blocks in sorted(plan.replaced.items()):
        lines += ["", f"### In the place of {seq}", "", fenced(text_to_read(blocks))]
    return lines


def _effects(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("hidden", _spans(plan.hidden)),
        ("replaced", ", ".join(str(seq) for seq in sorted(plan.replaced)) or "none"),
        ("inserted", ", ".join(f"{item.kind.value} before {item.place}" for item in plan.inserted) or "none"),
    ]


def fenced(text: str, language: str = "") -> str:
    """Text that can hold anything and ends where it should."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def path_of(folder: Path, day: str) -> Path:
    """The file of a day in the folder of a conversation."""
    return folder / f"compaction_{day}.md"


def write(folder: Path, run: Run, section: str) -> Path:
    """Append a section to its day's file, in one write; a section that stands there already is not written again."""
    path = path_of(folder, day_of(run.started_at))
    with opened(path) as descriptor:
        if _holds(descriptor, f"- **run**: {run.id}\n".encode()):
            return path
        data = section.encode("utf-8", errors="replace")
        written = os.write(descriptor, data)
        if written < len(data):  # a disk that is full: no half section may stay, or it would be taken for a whole one
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(f"only {written} of {len(data)} bytes were written")
        os.fsync(descriptor)
    return path


def _holds(descriptor: int, words: bytes) -> bool:
    """Whether a file has these words. It is read in pieces: a day can have many sections, and each asks once."""
    at, end = 0, b""
    while piece := os.pread(descriptor, _PIECE_BYTES, at):
        if words in end + piece:
            return True
        at, end = at + len(piece), (end + piece)[1 - len(words) :]
    return False


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A day's file, made if need be, for reading and appending: nobody else changes it, or puts another one in its
    place, until the end of the block. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        # A tool may have put something else in its place: a link would lead elsewhere, and a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path.name} is not a file")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def put(path: Path, text: str) -> None:
    """All that stands in a day's file from now on; to be called while it is :func:`opened`. Without any text there is
    no such file. Raises OSError."""
    if not text:
        path.unlink()
        return
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", errors="replace"))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a file still has this name: another one may have taken its place while it was waited for."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _inference(inference: Sequence[SummaryRequest], tools: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for number, request in enumerate(inference, 1):
        lines += ["", f"### Request {number} ({request.mode})", ""]
        lines += ["System prompt:", "", fenced(request.system), ""]
        if request.mode == "conversation" and tools:
            lines += ["Tools:", "", fenced(_json(tools), "json"), ""]
        lines += ["Messages:", "", fenced(_json(request.messages), "json"), ""]
        if request.is_cut_off:
            lines += [CUT_OFF]
        elif request.error:
            lines += ["Error:", "", fenced(request.error)]
        else:
            lines += ["Reply:", "", fenced(request.reply or "")]
    return lines


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "previous", "this", lineterm="", n=1)
    return "\n".join(lines) or "(the same)"


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _meter(meter: MeterRecord) -> str:
    parts = ", ".join(f"{part.name} {part.tokens:,}" for part in meter.parts if part.tokens)
    return (
        f"{meter.total:,} of {meter.limit:,} tokens ({percent(meter.share)}, {meter.level}, "
        f"from {meter.source}: {parts})"
    )


def _usage(usage: Usage | None) -> str:
    if usage is None:
        return "none"
    return (
        f"input {usage.input:,}, read from cache {usage.cache_read:,}, "
        f"written to cache {usage.cache_creation:,}, output {usage.output:,} tokens"
    )


def _cost(model: str, usage: Usage | None) -> str:
    dollars = cost(model, usage) if usage else None
    return "not known" if dollars is None else f"${dollars:.4f}"


def _spans(spans: Ranges) -> str:
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans) or "none"


def _span_of(seqs: Sequence[int]) -> str:
    return f"{min(seqs)}-{max(seqs)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
