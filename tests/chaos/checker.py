"""What must hold when everything has settled, whatever was killed on the way. Each check yields what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from bot.messages import AgentId, Message
from bot.store import Database, histories
from tests.chaos.brain import ANSWERED, ASKED
from tests.chaos.ledger import Ledger
from tests.servers.messages import MessagesServer
from tests.servers.telegram import SentMessage

STATUS = "🗜"


async def faults(data_dir: Path, said: Sequence[int], seen: Sequence[SentMessage], model: MessagesServer) -> list[str]:
    """All that is wrong, as sentences."""
    ledger = Ledger(data_dir)
    found = [*_inbox(ledger), *_turns(ledger), *_seen(ledger, said, seen), *_tools(ledger), *_history(ledger, said)]
    found += [*_compactions(ledger), *_status_messages(ledger, seen), *_logs(data_dir)]
    found += [fault async for fault in _views(data_dir, ledger)]
    found += [f"the model server refused: {record.error}" for record in model.refused]
    return found


def _inbox(ledger: Ledger) -> Iterator[str]:
    query = "SELECT i.*, t.id AS turn FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id"
    for row in ledger.rows(query):
        is_control = row["text"].startswith("/")
        if row["state"] != "done" or (row["turn"] is None) != is_control:
            yield f"inbox row {row['id']} ({row['text'][:20]}) is {row['state']}, its turn {row['turn']}"


def _turns(ledger: Ledger) -> Iterator[str]:
    query = (
        "SELECT t.*, o.state AS reply, o.delivered, o.version, o.text FROM turns t LEFT JOIN outbox o ON o.id = t.slot"
    )
    slots = Counter[int]()
    for row in ledger.rows(query):
        slots[row["slot"]] += 1
        if row["state"] != "done":
            yield f"turn {row['id']} is {row['state']}: {row['text']}"
        if row["reply"] != "ready" or row["delivered"] != row["version"]:
            yield f"the reply of turn {row['id']} is {row['reply']}, {row['delivered']} of {row['version']} delivered"
        last = ledger.rows("SELECT blocks FROM entries WHERE turn_id = ? ORDER BY seq DESC LIMIT 1", row["id"])
        text = "".join(block.get("text", "") for block in json.loads(last[0]["blocks"])) if last else ""
        if text.strip() != row["text"].strip():
            yield f"turn {row['id']} said {row['text']!r}, and its last entry is {text!r}"
    yield from (f"{n} turns reply in slot {slot}" for slot, n in slots.items() if n > 1)
    replies = ledger.count("SELECT count(*) FROM outbox WHERE kind = 'reply'")
    if replies != len(slots):
        yield f"{replies} replies for {len(slots)} turns"


def _seen(ledger: Ledger, said: Sequence[int], seen: Sequence[SentMessage]) -> Iterator[str]:
    answered = [int(number) for message in seen for number in ANSWERED.findall(message.text)]
    if answered != list(said):
        counts = Counter(answered)
        twice = [number for number, count in counts.items() if count > 1]
        yield f"people saw {answered} answered; missing {[n for n in said if not counts[n]]}, twice {twice}"
    known = {ref for row in ledger.rows("SELECT refs FROM outbox") for ref in json.loads(row["refs"])}
    for message in seen:
        if str(message.message_id) not in known:
            yield f"people see a message that no outbox row knows: {message.message_id} {message.text[:60]!r}"
    if len(known) != len(seen):
        yield f"people see {len(seen)} messages, the outbox knows {len(known)}"


def _tools(ledger: Ledger) -> Iterator[str]:
    calls = [block["id"] for block in ledger.blocks("tool_use")]
    results = Counter(block["tool_use_id"] for block in ledger.blocks("tool_result"))
    yield from (f"the call {call} has {results[call]} results" for call in calls if results[call] != 1)
    yield from (f"a result without a call: {call}" for call in results if call not in calls)
    punches = ledger.punches()
    yield from (f"the punch {nonce} ran {count} times" for nonce, count in punches.items() if count > 1)
    for block in ledger.blocks("tool_result"):
        if str(block["content"]).startswith("punched ") and str(block["content"]).split()[1] not in punches:
            yield f"a punch was reported and not made: {block['content']}"


def _history(ledger: Ledger, said: Sequence[int]) -> Iterator[str]:
    seqs = [row["seq"] for row in ledger.rows("SELECT seq FROM entries ORDER BY seq")]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"the seqs of the history have gaps: {seqs}"
    entries = [json.loads(row["blocks"]) for row in ledger.rows("SELECT blocks FROM entries WHERE kind = 'said'")]
    texts = [block["text"] for blocks in entries for block in blocks]
    stored = Counter(int(number) for text in texts for number in ASKED.findall(text))
    if stored != Counter(said):
        yield f"the history does not hold each message once: {stored - Counter(said)}, {Counter(said) - stored}"


def _compactions(ledger: Ledger) -> Iterator[str]:
    sections = ledger.sections()
    query = (
        "SELECT c.*, count(l.number) AS layers FROM compactions c LEFT JOIN layers l ON l.run_id = c.id GROUP BY c.id"
    )
    for row in ledger.rows(query):
        what = f"the {row['trigger']} compaction {row['id']} ({row['state']}, {row['reason']})"
        if row["state"] not in ("done", "empty"):
            yield f"{what} did not succeed"
        if row["layers"] != (row["state"] == "done"):
            yield f"{what} has {row['layers']} layers"
        if sections.pop(row["id"], 0) != 1:
            yield f"{what} does not stand in the trace once"
    yield from (f"the trace has a section of no compaction: {run}" for run in sections)


def _status_messages(ledger: Ledger, seen: Sequence[SentMessage]) -> Iterator[str]:
    shown = [message.text for message in seen if message.text.startswith(STATUS)]
    runs = ledger.count("SELECT count(*) FROM compactions")
    if len(shown) != runs:
        yield f"{len(shown)} status messages for {runs} compactions"
    yield from (f"a status message is stale: {text}" for text in shown if "Compacting" in text)


def _logs(data_dir: Path) -> Iterator[str]:
    for file in data_dir.glob("*.log"):
        for line in file.read_text(errors="replace").splitlines():
            if '"level": "error"' in line or '"level": "critical"' in line or line.startswith("Traceback"):
                yield f"{file.name} says: {line[:3000]}"


async def _views(data_dir: Path, ledger: Ledger) -> AsyncIterator[str]:
    database = Database.in_folder(data_dir)
    try:
        for row in ledger.rows("SELECT id FROM agents"):
            async with database.read() as tx:
                view = (await histories.load(tx, AgentId(row["id"]))).view()
            for fault in _view(view):
                yield f"the view of {row['id']}: {fault}"
    finally:
        await database.close()


def _view(view: Sequence[Message]) -> Iterator[str]:
    if not view or view[0]["role"] != "user":
        yield "does not begin with a user"
    yield from ("roles do not alternate" for one, two in pairwise(view) if one["role"] == two["role"])
    for message, after in pairwise([*view, Message(role="user", content=[])]):
        calls = [block["id"] for block in message["content"] if not isinstance(block, str) and "input" in block]
        results = [
            block["tool_use_id"] for block in after["content"] if isinstance(block, dict) and "tool_use_id" in block
        ]
        if calls != results:
            yield f"calls {calls} and results {results} do not stand together"
