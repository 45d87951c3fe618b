"""A conversation's rows, brought back. Each is looked at before any is written; rows that are numbered by the book get
new numbers, and what names them gets those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, Integer, LargeBinary, String, select
from sqlalchemy.exc import IntegrityError

from bot.compaction import Plan
from bot.files.blocks import FOLDER_SOURCE
from bot.files.contents import is_place
from bot.messages import Address, AgentId, Attachment, Button, Kept, OutFile
from bot.store import appointments, facts, histories, runs, standing_rules
from bot.store.archive.exporting import LEFT_OUT, TABLES, Row
from bot.store.money.ledger import ESTIMATED, RESERVED, SETTLED, TOKENS
from bot.store.schema import agents, heads, inbox, indexed_agents, ledger, outbox
from bot.store.search import word_index
from bot.store.traces.records import is_record
from bot.store.tx import Tx, insert_into

_NUMBERED = frozenset({"inbox", "outbox", "memory_candidates"})
_SLOTS = {"turns": "slot", "compactions": "status_slot"}
"""Columns that name a row of the outbox."""
_BOUNDS = {Integer: 2**31, BigInteger: 2**63}


class BadRowError(ValueError):
    """This row is none that this program writes; the text says what is wrong with it."""


def check(table_name: str, row: Row, agent_id: AgentId) -> None:
    """Look whether a row is one that this program could have written of this conversation. Raises BadRowError."""
    table = heads if table_name == heads.name else TABLES[table_name]
    wanted = {column.name for column in table.c} - LEFT_OUT.get(table, frozenset())
    if set(row) != wanted:
        raise BadRowError(f"its columns are not those of {table_name}: {', '.join(sorted(set(row) ^ wanted))}")
    for name in wanted:
        _check_value(table.c[name], row[name])
        if isinstance(table.c[name].type, JSON):
            _check_places(row[name])
    if table is not heads and row["id" if table is agents else "agent_id"] != agent_id:
        raise BadRowError("it is of another conversation")
    try:
        _MEANING.get(table_name, bool)(row)
    except BadRowError:
        raise
    except Exception as error:
        raise BadRowError(f"what it holds cannot be read ({type(error).__name__}: {error})") from error


def _check_value(column: Column[Any], value: Any) -> None:
    if value is None:
        if not column.nullable and not isinstance(column.type, JSON):
            raise BadRowError(f"{column.name} is empty")
    elif not _fits(column, value):
        raise BadRowError(f"{column.name} is no {type(column.type).__name__} that fits")


def _fits(column: Column[Any], value: Any) -> bool:
    kind = column.type
    if isinstance(kind, Boolean):
        return isinstance(value, bool)
    if isinstance(kind, Integer):
        bound = _BOUNDS[BigInteger if isinstance(kind, BigInteger) else Integer]
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if isinstance(kind, Double):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if isinstance(kind, String):
        return isinstance(value, str) and len(value) <= (kind.length or len(value)) and _is_storable(value)
    if isinstance(kind, LargeBinary):
        return isinstance(value, bytes)
    return True


def _is_storable(text: str) -> bool:
    """PostgreSQL's texts hold no NUL, and neither database half a character."""
    return "\0" not in text and text.encode(errors="replace").decode() == text


def _check_places(value: Any) -> None:
    """A file that a block names is read when a request is sent: it has to lie in the folder."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Mapping):
            if found.get("type") == FOLDER_SOURCE and not is_place(found.get("path")):
                raise BadRowError(f"it names a file {found.get('path')!r}, which is no place in a folder")
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def _check_sent(row: Row) -> None:
    said, refs = [Button(**button).command for button in row["buttons"]], row["refs"]
    file = OutFile(**row["file"]) if row["file"] else None
    if (file and not is_place(file.path)) or not all(isinstance(text, str) for text in (*refs, *said)):
        raise BadRowError("its file, its buttons or its references are none")


def _check_received(row: Row) -> None:
    for one in row["attachments"]:
        file = Attachment(**one) if row["state"] == "fetching" else Kept(**one)
        if isinstance(file, Kept) and file.path and not is_place(file.path):
            raise BadRowError(f"it names a file {file.path!r}, which is no place in a folder")


def _check_memory(row: Row) -> None:
    line, told = row["line"], row["told"]
    if not isinstance(line, dict) or not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise BadRowError("its line or its notices are none")


def _check_meter(meter: Any) -> None:
    numbers = [meter["total"], meter["limit"], meter["share"], *meter["parts"].values(), meter.get("messages", 0)]
    if not all(isinstance(number, int | float) for number in numbers) or not isinstance(meter["level"], str):
        raise BadRowError("its meter is none")


def _check_agent(row: Row) -> None:
    if row["meter"] is not None:
        _check_meter(row["meter"])
    if Address(row["connector"], row["chat"], row["thread"]).agent_id != row["id"]:
        raise BadRowError("its id is not that of its address")


def _check_entry(row: Row) -> None:
    entry, blocks = histories.entry_of(row), row["blocks"]
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        raise BadRowError("its blocks are none")
    if entry.role not in ("user", "assistant") or entry.seq < 1:
        raise BadRowError("its role or its number is none")


def _check_run(row: Row) -> None:
    run = runs.run_of(row)
    Plan.from_json(run.plan)
    if row["record"] is not None and not is_record(row["record"]):
        raise BadRowError("its section of the trace is none")
    for meter in filter(None, (row["meter_before"], row["meter_after"])):
        _check_meter(meter)


def _check_rule(row: Row) -> None:
    if standing_rules.rule_of(row).number < 1:
        raise BadRowError("its number is none")


def _check_appointment(row: Row) -> None:
    if appointments.appointment_of(row).number < 1 or row["kind"] not in ("say", "wake"):
        raise BadRowError("its number or its kind is none")


def _check_charge(row: Row) -> None:
    if row["state"] not in (RESERVED, SETTLED, ESTIMATED) or any(row[name] < 0 for name in TOKENS):
        raise BadRowError("its state or its tokens are none")


_MEANING: Mapping[str, Callable[[Any], object]] = {
    "agents": _check_agent,
    "outbox": _check_sent,
    "inbox": _check_received,
    "memories": _check_memory,
    "entries": _check_entry,
    "layers": histories.layer_of,
    "compactions": _check_run,
    "memory_facts": facts.fact_of,
    "standing_rules": _check_rule,
    "appointments": _check_appointment,
    "ledger": _check_charge,
}


async def is_known(tx: Tx, agent_id: AgentId) -> bool:
    """Whether the book has this conversation, or anything that was left of it."""
    rows = [select(agents.c.id).where(agents.c.id == agent_id)]
    rows += [select(table.c.agent_id).where(table.c.agent_id == agent_id) for table in (inbox, outbox, indexed_agents)]
    return any([(await tx.execute(query.limit(1))).first() is not None for query in rows])


class Importing:
    """Puts the rows of one conversation into the book, table by table in the order of :data:`TABLES`."""

    def __init__(self, tx: Tx, agent_id: AgentId) -> None:
        self._tx = tx
        self._agent_id = agent_id
        self._slots: dict[int, int] = {}
        """The numbers of its messages in the outbox: there, and here."""

    async def add(self, table_name: str, rows: Sequence[Row]) -> None:
        """Some rows, which were checked. Raises BadRowError for those that the book has already."""
        try:
            await self._add(table_name, rows)
        except IntegrityError as error:
            raise BadRowError(f"some of its {table_name} are in the database, in another conversation") from error

    async def _add(self, table_name: str, rows: Sequence[Row]) -> None:
        if table_name == heads.name:
            insertion = insert_into(self._tx, heads).on_conflict_do_nothing(index_elements=["hash"])
            await self._tx.execute(insertion, [dict(row) for row in rows])
            return
        table, values = TABLES[table_name], [self._here(table_name, row) for row in rows]
        if table is outbox:
            numbered = table.insert().returning(table.c.id, sort_by_parameter_order=True)
            added = [row[0] for some in _alike(values) for row in await self._tx.execute(numbered, some)]
            self._slots |= {row["id"]: number for row, number in zip(rows, added, strict=True)}
            return
        for some in _alike(values):
            await self._tx.execute(table.insert(), some)
        if table_name == "entries":
            entries = [histories.entry_of(row) for row in rows]
            await word_index.add(self._tx, self._agent_id, entries)

    def _here(self, table_name: str, row: Row) -> dict[str, Any]:
        values = dict(row)
        if table_name in _NUMBERED:
            del values["id"]
        if slot := _SLOTS.get(table_name):
            values[slot] = self._slot(values[slot])
        if table_name == "memories" and "slot" in values["line"]:
            values["line"] = {**values["line"], "slot": self._slot(values["line"]["slot"])}
        if table_name == ledger.name and values["state"] == RESERVED:
            values["state"] = ESTIMATED  # nobody here goes on with that request
        if table_name == agents.name:
            values |= {"epoch": 0, "starts": 0}
        return {name: value for name, value in values.items() if value is not None}

    def _slot(self, number: int | None) -> int:
        """0 for a message that had left the outbox, so that no other one is changed in its place."""
        return self._slots.get(number or 0, 0)


def _alike(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """In their order, those together that have the same columns, which one statement takes."""
    return [list(some) for _, some in groupby(rows, key=lambda row: row.keys())]
