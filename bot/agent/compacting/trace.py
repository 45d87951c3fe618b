"""The trace: one section a compaction, of which the agent says here what stands in it. Pure.

The section in the book is the truth; :mod:`bot.agent.compacting.trace_files` has its projection.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.compaction import Plan
from bot.compaction.statistics import messages_text, statistics_of
from bot.compaction.trace import HEADING, Body, Section
from bot.estimate.meter import MeterRecord, percent
from bot.history import Entry, Ranges, Usage
from bot.history.entry_text import text_to_read
from bot.messages import text_of
from bot.runtime.prices import cost
from bot.runtime.redact import redact
from bot.store.runs import Run
from bot.store.traces import requests


def render(
    run: Run,
    *,
    tools: Sequence[Mapping[str, Any]],
    previous_summary: str | None,
    layer: int | None,
    memory: Sequence[str] = (),
    inserted: Sequence[Entry] = (),
) -> Section:
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
        ("trigger", run.trigger + (" (before the prompt cache expired)" if run.occasion == "quiet" else "")),
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
    parts: list[str | Body] = [f"{HEADING}{_utc(run.started_at)} {run.trigger} {run.state.value}", ""]
    parts += [f"- **{name}**: {_one_line(value)}" for name, value in facts]
    if result and result.summary:
        parts += ["", "### Summary", "", Body(result.summary)]
        if previous_summary:
            difference = Body(_diff(previous_summary, result.summary))
            parts += ["", "### Difference to the previous summary", "", difference]
    if layer is not None:
        parts += _changed(plan, inserted)
    if memory:
        parts += ["", "### Memory", "", Body("\n".join(memory))]
    return (*parts, *requests.told(run.asked, tools))


def redacted(section: Section, secrets: Collection[str]) -> Section:
    """Without secrets. A body is looked at as a whole, since a secret may have several lines."""
    escaped = {*secrets, *(json.dumps(secret)[1:-1] for secret in secrets)}
    return tuple(
        redact(part, secrets)
        if isinstance(part, str)
        else replace(part, text=redact(part.text, escaped if part.language == "json" else secrets))
        for part in section
    )


def _changed(plan: Plan, inserted: Sequence[Entry]) -> list[str | Body]:
    """What the model reads now that it did not read before, as it reads it."""
    parts: list[str | Body] = []
    for entry in inserted:
        parts += ["", f"### Inserted: {entry.kind.value} before {entry.place}", "", Body(text_of(entry.blocks))]
    for seq, blocks in sorted(plan.replaced.items()):
        parts += ["", f"### In the place of {seq}", "", Body(text_to_read(blocks))]
    return parts


def _effects(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("hidden", _spans(plan.hidden)),
        ("replaced", ", ".join(str(seq) for seq in sorted(plan.replaced)) or "none"),
        ("inserted", ", ".join(f"{item.kind.value} before {item.place}" for item in plan.inserted) or "none"),
    ]


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
