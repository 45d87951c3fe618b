"""What must hold in the book when everything has settled, whatever was struck. Each check yields what is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.agent.commands.parsing import parse
from bot.history import REQUESTS
from bot.messages import AgentId, Message
from bot.store import Database, histories
from tests.chaos.brain import ASKED
from tests.chaos.harness import House
from tests.chaos.ledger import decoded
from tests.chaos.leftovers import keys, log_errors, typing_signs
from tests.chaos.people import missing
from tests.chaos.seen import NOTHING_SAID, seen


@dataclass(frozen=True)
class Excuses:
    """What was done to the house, as far as it explains how a turn or a compaction ended."""

    model: bool = False
    aborts: bool = False

    def turn(self, state: str) -> bool:
        """Whether a turn may have ended so."""
        return state == "done" or (state == "failed" and self.model) or (state == "aborted" and self.aborts)

    def compaction(self, state: str) -> bool:
        """Whether a compaction may have ended so."""
        return state in ("done", "empty") or self.turn(state)


async def faults(house: House, excuses: Excuses | None = None) -> list[str]:
    """All that is wrong, as sentences."""
    found = await told_faults(house, excuses or Excuses())
    for check in (typing_signs(house), keys(house)):
        found += [fault async for fault in check]
    found += log_errors(house)
    found += [f"the model server refused: {record.error}" for record in house.model.refused]
    return found


async def told_faults(house: House, excuses: Excuses) -> list[str]:
    """What is wrong in the book, the traces and the chats."""
    checks = (
        _inbox(house),
        _turns(house, excuses),
        _outbox(house),
        seen(house),
        _tools(house),
        _history(house),
        _compactions(house, excuses),
        _views(house),
    )
    return [fault for check in checks async for fault in check]


async def _inbox(house: House) -> AsyncIterator[str]:
    """Every message has one fate: a turn, or it is control, or it was parked; and none is missing."""
    query = "SELECT i.*, t.id AS turn FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id ORDER BY i.position"
    stored = Counter[int]()
    for row in await house.ledger.rows(query):
        is_control = parse(row["text"]) is not None
        if row["state"] != "done" or (row["turn"] is None) != is_control:
            yield f"inbox row {row['id']} ({row['text'][:20]}) is {row['state']}, its turn {row['turn']}"
        stored.update(int(number) for number in ASKED.findall(row["text"]))
    if twice := [number for number, count in stored.items() if count > 1]:
        yield f"stored twice: {twice}"
    if lost := missing(house.people.said, set(stored)):
        yield f"nothing is stored of the messages {lost}"


async def _turns(house: House, excuses: Excuses) -> AsyncIterator[str]:
    query = (
        "SELECT t.*, o.state AS reply, o.delivered, o.version, o.text FROM turns t LEFT JOIN outbox o ON o.id = t.slot"
    )
    slots = Counter[int]()
    for row in await house.ledger.rows(query):
        slots[row["slot"]] += 1
        if not excuses.turn(row["state"]):
            yield f"turn {row['id']} is {row['state']}: {row['text']}"
        if row["reply"] not in (("ready",) if row["state"] == "done" else ("ready", "void")):
            yield f"the reply of turn {row['id']} is {row['reply']}, {row['delivered']} of {row['version']} delivered"
        if row["state"] == "done":
            said = await _last_words(house, row["id"])
            if said.strip() != row["text"].strip() and not {said, row["text"]} <= NOTHING_SAID:
                yield f"turn {row['id']} said {row['text']!r}, and its last entry is {said!r}"
    for slot, count in slots.items():
        if count > 1:
            yield f"{count} turns reply in slot {slot}"
    rows = await house.ledger.rows("SELECT file FROM outbox WHERE kind = 'reply'")
    replies = sum(decoded(row["file"]) is None for row in rows)  # the others came from a tool
    if replies != len(slots):
        yield f"{replies} replies for {len(slots)} turns"


async def _last_words(house: House, turn: str) -> str:
    query = "SELECT blocks FROM entries WHERE turn_id = :turn ORDER BY seq DESC LIMIT 1"
    last = await house.ledger.rows(query, turn=turn)
    return "".join(block.get("text", "") for block in decoded(last[0]["blocks"])) if last else ""


async def _outbox(house: House) -> AsyncIterator[str]:
    for row in await house.ledger.rows("SELECT * FROM outbox"):
        is_there = row["state"] == "void" or (row["state"] == "ready" and row["delivered"] == row["version"])
        if not is_there:
            told = f"{row['delivered']} of {row['version']} delivered"
            yield f"outbox row {row['id']} ({row['text'][:40]!r}) is {row['state']}, {told}"


async def _tools(house: House) -> AsyncIterator[str]:
    calls = [block["id"] async for block in house.ledger.blocks("tool_use")]
    results = Counter([block["tool_use_id"] async for block in house.ledger.blocks("tool_result")])
    for call in calls:
        if results[call] != 1:
            yield f"the call {call} has {results[call]} results"
    for call in results.keys() - set(calls):
        yield f"a result without a call: {call}"
    punches = house.ledger.punches()
    for nonce, count in punches.items():
        if count > 1:
            yield f"the punch {nonce} ran {count} times"
    async for block in house.ledger.blocks("tool_result"):
        if str(block["content"]).startswith("punched ") and str(block["content"]).split()[1] not in punches:
            yield f"a punch was reported and not made: {block['content']}"


async def _history(house: House) -> AsyncIterator[str]:
    """Without gaps, and with each message that a turn took once."""
    seqs: defaultdict[str, list[int]] = defaultdict(list)
    stored: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in await house.ledger.rows("SELECT agent_id, seq, kind, blocks FROM entries ORDER BY agent_id, seq"):
        seqs[row["agent_id"]].append(row["seq"])
        if row["kind"] in REQUESTS:
            for block in decoded(row["blocks"]):
                stored[row["agent_id"]].update(ASKED.findall(block.get("text", "")))
    taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in await house.ledger.rows("SELECT agent_id, text FROM inbox WHERE turn_id IS NOT NULL"):
        taken[row["agent_id"]].update(ASKED.findall(row["text"]))
    for agent, found in seqs.items():
        if found != list(range(1, len(found) + 1)):
            yield f"the seqs of {agent}'s history have gaps: {found}"
        if stored[agent] != taken[agent]:
            more, less = stored[agent] - taken[agent], taken[agent] - stored[agent]
            yield f"the history of {agent} does not hold each message once: {more} too much, {less} missing"


async def _compactions(house: House, excuses: Excuses) -> AsyncIterator[str]:
    """Each ended, with one layer or none, stands once in the trace, and its status message says how it ended."""
    sections = house.ledger.sections()
    query = (
        "SELECT c.*, o.text AS shown, (SELECT count(*) FROM layers l WHERE l.run_id = c.id) AS layers "
        "FROM compactions c LEFT JOIN outbox o ON o.id = c.status_slot"
    )
    rows = await house.ledger.rows(query)
    for row in rows:
        what = f"the {row['trigger']} compaction {row['id']} ({row['state']}, {row['reason']})"
        if not excuses.compaction(row["state"]):
            yield f"{what} did not succeed"
        if row["layers"] != (row["state"] == "done"):
            yield f"{what} has {row['layers']} layers"
        if sections.pop(row["id"], 0) != 1:
            yield f"{what} does not stand in the trace once"
        if not row["shown"] or "Compacting" in row["shown"]:
            yield f"the status message of {what} is stale: {row['shown']}"
    for run in sections:
        yield f"the trace has a section of no compaction: {run}"
    known = {row["id"] for row in rows}
    for row in await house.ledger.rows("SELECT run_id FROM layers WHERE run_id IS NOT NULL"):
        if row["run_id"] not in known:
            yield f"a layer of no compaction: {row['run_id']}"


async def _views(house: House) -> AsyncIterator[str]:
    url = house.ledger.url
    database = Database(url) if url else Database.in_folder(house.data_dir)
    try:
        for row in await house.ledger.rows("SELECT id FROM agents"):
            async with database.read() as tx:
                view = (await histories.load(tx, AgentId(row["id"]))).view()
            for fault in _view(view):
                yield f"the view of {row['id']}: {fault}"
    finally:
        await database.close()


def _view(view: Sequence[Message]) -> list[str]:
    found = [] if not view or view[0]["role"] == "user" else ["does not begin with a user"]
    found += ["roles do not alternate" for one, two in pairwise(view) if one["role"] == two["role"]]
    for message, after in pairwise([*view, Message(role="user", content=[])]):
        calls = [block["id"] for block in message["content"] if not isinstance(block, str) and "input" in block]
        results = [
            block["tool_use_id"] for block in after["content"] if isinstance(block, dict) and "tool_use_id" in block
        ]
        if calls != results:
            found.append(f"calls {calls} and results {results} do not stand together")
    return found
