"""What tools return in the generated conversations: nothing in it matters later. Every number and id is made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

_STATES = ("open", "paid", "shipped", "on hold", "returned")
_PLACES = ("Lisbon", "Rotterdam", "Gdansk", "Trieste", "Bergen", "Malmö")
_SENTENCES = (
    "Opening hours stay the same through the season.",
    "Readers asked for larger print and got it.",
    "The figures of the quarter are in line with the plan.",
    "Volunteers cleaned the site over the weekend.",
    "A spokesperson did not want to comment on the delay.",
    "Prices for timber rose slightly and fell again.",
)


@dataclass(frozen=True)
class ToolOutput:
    """A call and what it returned."""

    name: str
    given: dict[str, Any]
    returned: str
    lines: tuple[str, ...] = ()
    """What an answer may quote of it."""


def some_output(thing: str, dice: Random) -> ToolOutput:
    """What one of the tools returns on this thing: 200 to 3,000 characters."""
    return dice.choice(_TOOLS)(thing, dice)


def record(label: str, value: str, revision: int, dice: Random) -> ToolOutput:
    """A record that holds a value under its label, among other fields. Its id goes with the label."""
    fields: dict[str, Any] = {
        "record_id": f"R{crc32(label.encode()) % 10**6:06}",
        "updated_by": f"clerk{dice.randint(10, 99)}",
        label: value,
        "revision": revision,
        "history": [{"revision": at, "checksum": f"{dice.getrandbits(48):012x}"} for at in range(1, revision)],
    }
    return ToolOutput("get_record", {"query": label}, json.dumps(fields, ensure_ascii=False))


def _orders(thing: str, dice: Random) -> ToolOutput:
    rows = [
        {"order": _id(dice), "state": dice.choice(_STATES), "units": dice.randint(1, 400), "to": dice.choice(_PLACES)}
        for _ in range(dice.randint(5, 30))
    ]
    lines = tuple(f"{row['order']}: {row['units']} units to {row['to']}, {row['state']}" for row in rows)
    return ToolOutput("list_orders", {"about": thing}, json.dumps({"orders": rows, "total": len(rows)}), lines)


def _log(thing: str, dice: Random) -> ToolOutput:
    lines = [
        f"2026-10-{dice.randint(1, 30):02}T{dice.randint(0, 23):02}:{dice.randint(0, 59):02}:07Z "
        f"{dice.choice(('INFO', 'INFO', 'WARN'))} unit={dice.randint(1, 60)} took={dice.randint(3, 900)}ms"
        for _ in range(dice.randint(8, 40))
    ]
    return ToolOutput("read_log", {"name": thing, "lines": len(lines)}, "\n".join(lines), tuple(lines))


def _table(thing: str, dice: Random) -> ToolOutput:
    rows = [f"{_id(dice)},{dice.randint(1, 999)},{dice.choice(_PLACES)}" for _ in range(dice.randint(6, 40))]
    return ToolOutput(
        "run_query", {"sql": f"select * from stock where name = '{thing}'"}, "\n".join(["id,n,at", *rows]), tuple(rows)
    )


def _news(thing: str, dice: Random) -> ToolOutput:
    found = [
        f"{number}. {dice.choice(_PLACES)} Herald: {' '.join(dice.sample(_SENTENCES, 3))}"
        for number in range(1, dice.randint(3, 8))
    ]
    return ToolOutput("search", {"query": thing}, "\n\n".join(found), tuple(found))


def _file(thing: str, dice: Random) -> ToolOutput:
    name = f"notes/{dice.randint(100, 999)}.md"
    lines = [f"## Part {number}\n{' '.join(dice.sample(_SENTENCES, 4))}" for number in range(1, dice.randint(3, 7))]
    return ToolOutput("read_file", {"path": name}, f"# {thing}\n" + "\n".join(lines), tuple(lines))


def _id(dice: Random) -> str:
    return f"{dice.choice('ABCDEF')}{dice.randint(100_000, 999_999)}"


_TOOLS: tuple[Callable[[str, Random], ToolOutput], ...] = (_orders, _log, _table, _news, _file)
