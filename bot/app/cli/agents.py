"""`palimpsest agents`: the conversations, each with what is known of it. Reads the book and the folders."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.book import NothingFound, opened, settings_for_looking
from bot.app.cli.export_import import export, import_
from bot.app.cli.forget import forget
from bot.app.cli.process import Json, WronglyCalled, one_line_errors, run_to_its_end
from bot.app.cli.text import columns, cut, json_text, line, room_of, utc
from bot.estimate.meter import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.compaction.facts.fact import Candidate, Fact
    from bot.compaction.standing_rules import Rule
    from bot.runtime.settings import Settings
    from bot.store.operators.conversations import Conversation, LayerRow, Order

app = typer.Typer(help="Conversations: lists and single ones; take one along, bring it back, forget it.")
app.command()(export)
app.command("import")(import_)
app.command()(forget)

_MOST_NAMES = 5
_MOST_CANDIDATES = 20
"""Of those that were considered for memory, the last; --json has all that are kept."""


@app.command("list")
def list_agents(
    order: Annotated[str, typer.Option("--order", help="recent (the latest first) or fill (the fullest).")] = "recent",
    like: Annotated[str, typer.Option(help="Only those with this in their id, or in a person's name.")] = "",
    most: Annotated[int, typer.Option(min=1, help="So many at most.")] = 100,
    as_json: Json = False,
) -> None:
    """All conversations: how full each is, and when it was last touched."""
    with one_line_errors():
        if order not in ("recent", "fill"):
            raise WronglyCalled(f"{order!r} is no order: --order recent, or --order fill.")
        found, count = run_to_its_end(_listed(settings_for_looking(), like, order, most))  # type: ignore[arg-type]
    if as_json:
        print(json_text([conversation_json(one) for one in found]))
        return
    if not found:
        print("There is no such conversation." if like else "There is no conversation yet.")
        return
    counted = ("messages, notes", "compactions", "waiting")
    headings = ("agent", "context", "", "strategy", *counted, "touched", "people")
    for row in columns([headings, *map(_cells, found)], room_of(sys.stdout)):
        print(row)
    if count > len(found):
        print(f"{count - len(found):,} more: --most {count} shows them.")


@app.command()
def show(agent: Annotated[str, typer.Argument(help="Its id, e.g. telegram-12345.")], as_json: Json = False) -> None:
    """All that is known of one conversation, but what was said in it."""
    with one_line_errors():
        found = run_to_its_end(_shown(settings_for_looking(), agent.strip()))
    if as_json:
        print(json_text(found))
        return
    for row in _lines_of(found):
        print(row)


def conversation_json(one: Conversation) -> dict[str, Any]:
    """A conversation in brief."""
    return {
        "agent": one.agent_id,
        "connector": one.address.connector,
        "chat": one.address.chat,
        "thread": one.address.thread,
        "meter": one.meter.as_json() if one.meter else None,
        "strategy": one.strategy or None,
        "model": one.model or None,
        "paused": one.paused,
        "touched": utc(one.touched_at),
        "entries": one.entries,
        "compactions": one.compactions,
        "waiting": one.waiting,
        "people": list(one.people),
    }


def _cells(one: Conversation) -> tuple[str, ...]:
    share = percent(one.meter.share) if one.meter else "not known"
    total = f"{one.meter.total:,} of {one.meter.limit:,}" if one.meter else ""
    names = ", ".join(map(cut, one.people[:_MOST_NAMES]))
    more = f" and {len(one.people) - _MOST_NAMES} more" if len(one.people) > _MOST_NAMES else ""
    return (
        one.agent_id,
        share,
        total,
        f"{one.strategy or 'default'}{', paused' if one.paused else ''}",
        f"{one.entries:,}",
        f"{one.compactions:,}",
        f"{one.waiting:,}",
        utc(one.touched_at).removesuffix("+00:00") + "Z",
        names + more,
    )


def _lines_of(found: dict[str, Any]) -> list[str]:
    meter, files = found["meter"], found["files"]
    rows = [("agent", found["agent"]), ("connector", found["connector"]), ("chat", found["chat"])]
    rows += [("thread", found["thread"])] if found["thread"] else []
    rows += [
        ("context", _context_said(meter)),
        *((f"  {name}", f"{tokens:,}") for name, tokens in (meter["parts"] if meter else {}).items() if tokens),
        ("strategy", (found["strategy"] or "as all") + (", paused after an undo" if found["paused"] else "")),
        *([("model", f"{found['model']}, as chosen")] if found["model"] else []),
        ("touched", found["touched"]),
        ("entries", f"{found['entries']:,} (messages, results of tools, notes of the program)"),
        ("compactions", f"{found['compactions']:,}"),
        *((f"  layer {one['number']}", _layer_said(one)) for one in found["layers"]),
        ("waiting", f"{found['waiting']:,}"),
        ("people", ", ".join(found["people"]) or "none by name"),
        ("persons", ", ".join(found["persons"]) or "not known"),
        ("files", f"{files['count']:,}, {files['bytes']:,} bytes, in {files['folder']}"),
        ("facts", f"{len(found['facts']):,}"),
        *((f"  {fact['number']}", f"{fact['kind']}{', pinned' if fact['pinned'] else ''}: {fact['text']}")
          for fact in found["facts"]),
        ("pinned rules", f"{len(found['rules']):,}"),
        *((f"  {rule['number']}", f"{rule['text']}{_pinned_by(rule)}") for rule in found["rules"]),
        ("candidates", _considered(found["candidates"])),
        *(("", f"{one['decision']} {one['reason']}, {one['kind']} of entry {one['entry']}: {one['text']}")
          for one in found["candidates"][:_MOST_CANDIDATES]),
    ]  # fmt: skip
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}  {line(str(value))}" for name, value in rows]


def _considered(candidates: list[dict[str, Any]]) -> str:
    if not candidates:
        return "none"
    codes = Counter(one["reason"] for one in candidates)
    shown = min(len(candidates), _MOST_CANDIDATES)
    counts = ", ".join(f"{count:,} {code}" for code, count in codes.most_common())
    return f"{len(candidates):,} ({counts}); the last {shown}:"


def _layer_said(one: dict[str, Any]) -> str:
    run = f" (run {one['run'][:8]})" if one["run"] else ""
    state = "taken off" if one["removed"] else "on"
    return f"{one['kind']} of {one['created']}, up to entry {one['upto']:,}, {state}{run}"


def _context_said(meter: dict[str, Any] | None) -> str:
    if meter is None:
        return "not known before its first answer"
    share = f"{percent(meter['share'])}, {meter['level']}, from {meter['source']}"
    return f"{meter['total']:,} of {meter['limit']:,} tokens ({share})"


async def _listed(settings: Settings, like: str, order: Order, most: int) -> tuple[list[Conversation], int]:
    from bot.store.operators import conversations

    async with opened(settings) as database, database.read(long=True) as tx:
        found = await conversations.listed(tx, like=like, order=order, most=most)
        return found, await conversations.count(tx, like)


async def _shown(settings: Settings, name: str) -> dict[str, Any]:
    from bot.compaction.standing_rules import pinned
    from bot.files.blocks import folder_of
    from bot.files.contents import contents
    from bot.messages import AgentId
    from bot.store import facts, standing_rules
    from bot.store.archive import whereabouts
    from bot.store.operators import conversations

    agent_id = AgentId(name)
    async with opened(settings) as database, database.read(long=True) as tx:
        one = await conversations.get(tx, agent_id)
        if one is None:
            raise NothingFound(f"There is no conversation {name}. `palimpsest agents list` shows which there are.")
        known = [item for item in await facts.load(tx, agent_id) if item.is_listed]
        considered = await facts.candidates(tx, agent_id)
        rules = pinned(await standing_rules.load(tx, agent_id))
        layers = await conversations.layers_of(tx, agent_id)
        persons, _ = await whereabouts.who_talks(tx, agent_id)
    folder = folder_of(settings.data_dir, agent_id)
    there = contents(folder)
    return {
        **conversation_json(one),
        "persons": sorted(f"{one.address.connector}:{person}" for person in persons),
        "layers": [_layer_json(layer) for layer in layers],
        "facts": _facts_json(known),
        "rules": [_rule_json(rule) for rule in rules],
        "candidates": [_candidate_json(item) for item in reversed(considered)],
        "files": {"count": len(there.files), "bytes": there.size, "folder": str(folder)},
    }


def _layer_json(layer: LayerRow) -> dict[str, Any]:
    removed = layer.removed_at
    return {
        "number": layer.number,
        "kind": layer.kind,
        "upto": layer.upto,
        "run": layer.run,
        "created": utc(layer.created_at),
        "removed": None if removed is None else utc(removed),
    }


def _candidate_json(item: Candidate) -> dict[str, Any]:
    return {
        "decision": "accepted" if item.is_accepted else "rejected",
        "reason": item.reason.value,
        "kind": item.kind.value,
        "text": item.text,
        "entry": item.seq,
        "speaker": item.speaker.value,
    }


def _rule_json(rule: Rule) -> dict[str, Any]:
    return {
        "number": rule.number,
        "text": rule.text,
        "said_by": rule.person,
        "pinned_by": rule.pinned_by,
        "pinned_name": rule.pinned_name,
        "pinned": utc(rule.pinned_at) if rule.pinned_at else None,
        "entry": rule.seq or None,
    }


def _pinned_by(rule: dict[str, Any]) -> str:
    return f" (pinned by {rule['pinned_name']})" if rule["pinned_name"] else ""


def _facts_json(known: Sequence[Fact]) -> list[dict[str, Any]]:
    return [
        {
            "number": item.number,
            "kind": item.kind.value,
            "text": item.text,
            "status": item.status.value,
            "pinned": item.pinned,
            "source": item.source.value,
            "entries": list(item.seqs),
        }
        for item in known
    ]
