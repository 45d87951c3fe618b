"""The inbox: what people said, from the moment it is stored until a committed turn closed it.

Whether a message answers the newest one of its conversation, so that nobody has to be told which one is meant, is
decided where the message is stored, from what the book knows then. In doubt the quotation stays: one too many costs a
line, one too few the meaning. So a conversation in which anything is still under way has no newest message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sqlalchemy import RowMapping, bindparam, func, literal, select, true, tuple_, update

from bot.messages import Address, AgentId, Attachment, Inbound, Kept, Quote
from bot.store import agents
from bot.store.outbox import REPLY
from bot.store.schema import agents as agents_table
from bot.store.schema import cursors, inbox, outbox
from bot.store.tx import InEach, Tx

_OF_AGENT = inbox.c.agent_id == bindparam("agent")
_ADD = InEach(inbox, lambda insert: insert.on_conflict_do_nothing(index_elements=["connector", "key"]))
_KNOWN = select(inbox.c.key).where(
    inbox.c.connector == bindparam("of"), inbox.c.key.in_(bindparam("keys", expanding=True))
)
MOST_SEEN = 200
"""Of what waits for an agent, so much is looked at at once; and as many commands of those that came later."""
_WAITING = (
    select(inbox).where(_OF_AGENT, inbox.c.state == "waiting").order_by(inbox.c.position, inbox.c.id).limit(MOST_SEEN)
)
_FIRST = _WAITING.subquery()
_QUEUE = (  # always a row, also where nothing waits
    select(
        select(func.min(inbox.c.position))
        .where(_OF_AGENT, inbox.c.state == "fetching")
        .scalar_subquery()
        .label("fetching_since"),
        _FIRST,
    )
    .select_from(select(literal(1)).subquery().outerjoin(_FIRST, true()))
    .order_by(_FIRST.c.position, _FIRST.c.id)
)
_TAKE = (
    update(inbox)
    .where(inbox.c.id.in_(bindparam("rows", expanding=True)), inbox.c.state == "waiting")
    .values(state="taken", turn_id=bindparam("turn_id"), marked=False)
    .returning(inbox.c.id, inbox.c.text)
)
_CLOSE_TURN = update(inbox).where(inbox.c.turn_id == bindparam("turn")).values(state="done")
_SET_CURSOR = InEach(
    cursors,
    lambda insert: insert.on_conflict_do_update(index_elements=["connector"], set_={"value": insert.excluded.value}),
)

_LOOKED_AT = 50
_UNREAD = frozenset({"fetching", "waiting", "taken"})

WAKE = "wake"
"""The kind of an event that no platform brought: an appointment of the agent is due."""
EDITED = "(I changed what I wrote before. It now reads:)"


@dataclass(frozen=True)
class Waiting:
    """A row of the inbox that no turn has taken. ``marked``: a mark on the message says that it waits."""

    id: int
    person: str
    person_name: str
    text: str
    kind: str
    received_at: float
    ref: str = ""
    speaker: str = ""
    files: tuple[Kept, ...] = ()
    marked: bool = False
    position: int = 0
    key: str = ""
    quote: Quote | None = None
    """Of what it answers, where that is not plain."""
    expects: float = 0.0
    """Seconds after it came in which more of it may come."""
    tries: int = 0
    """How often it was tried, and nothing came of it, before a turn had it."""
    sent_at: float | None = None
    """When, as its platform says; None where that says nothing."""

    @property
    def said_at(self) -> float:
        """When it was said, in seconds since 1970, as well as anybody knows: it may have come hours later."""
        return self.received_at if self.sent_at is None else self.sent_at


@dataclass(frozen=True)
class Fetching:
    """A row whose files are on their way."""

    id: int
    agent_id: AgentId
    attachments: tuple[Attachment, ...]


async def add(tx: Tx, inbound: Inbound, *, now: float) -> bool:
    """Store one event; False when it is there already (a redelivery), or changes only what nobody has read yet."""
    if inbound.edits:
        edited = await _edited(tx, inbound)
        if edited is None:
            return False
        inbound = edited
    await agents.ensure(tx, inbound.address, now=now)
    quote = await quote_for(tx, inbound) or Quote("")
    added = await tx.execute(
        _ADD.of(tx),
        {
            "agent_id": inbound.address.agent_id,
            "connector": inbound.address.connector,
            "key": inbound.key,
            "kind": inbound.kind,
            "position": inbound.order,
            "person": inbound.person,
            "person_name": inbound.person_name,
            "text": inbound.text,
            "received_at": now,
            "state": "fetching" if inbound.attachments else "waiting",
            "ref": inbound.ref,
            "speaker": inbound.speaker,
            "attachments": [asdict(attachment) for attachment in inbound.attachments],
            "marked": False,
            "quote": quote.text,
            "quoted_key": quote.key,
            "quoted_person": quote.person,
            "expects": inbound.expects,
            "sent_at": inbound.sent_at.timestamp() if inbound.sent_at else None,
        },
    )
    return bool(added.rowcount == 1)


async def wake(tx: Tx, address: Address, *, key: str, person: str, person_name: str, text: str, now: float) -> None:
    """An appointment wakes the agent: an event of our own, behind all that has come; ``key`` names it for ever."""
    last = select(inbox.c.position).where(_OF_AGENT).order_by(inbox.c.id.desc()).limit(1)
    position = (await tx.execute(last, {"agent": address.agent_id})).scalar_one_or_none() or 0
    await tx.execute(
        _ADD.of(tx),
        {
            "agent_id": address.agent_id,
            "connector": address.connector,
            "key": key,
            "kind": WAKE,
            "position": position,
            "person": person,
            "person_name": person_name,
            "text": text,
            "received_at": now,
            "state": "waiting",
            "ref": "",
            "speaker": person_name,
            "attachments": [],
            "marked": False,
            "quote": "",
            "quoted_key": "",
            "quoted_person": "",
            "expects": 0.0,
        },
    )


async def known(tx: Tx, connector: str, keys: Collection[str]) -> frozenset[str]:
    """Those of these events that are stored already."""
    rows = await tx.execute(_KNOWN, {"of": connector, "keys": list(keys)})
    return frozenset(row[0] for row in rows)


@dataclass(frozen=True)
class Queue:
    """What has come for an agent and no turn has taken, in the platform's order.

    ``waiting``: the first :data:`MOST_SEEN` that can be answered, and after them what looks like control, which never
    queues behind work; ``fetching_since``: the position of the first message whose files are still on their way.
    """

    waiting: Sequence[Waiting]
    fetching_since: int | None


async def queue(tx: Tx, agent_id: AgentId) -> Queue:
    """One statement; another one only where very many wait."""
    rows = (await tx.execute(_QUEUE, {"agent": agent_id})).mappings().all()
    found = [_waiting(row) for row in rows if row["id"] is not None]
    if len(found) == MOST_SEEN:
        seen = found[-1].position, found[-1].id
        later = _WAITING.where(tuple_(inbox.c.position, inbox.c.id) > seen, inbox.c.text.startswith("/"))
        found += [_waiting(row) for row in (await tx.execute(later, {"agent": agent_id})).mappings()]
    return Queue(found, rows[0]["fetching_since"])


async def waiting(tx: Tx, agent_id: AgentId) -> Sequence[Waiting]:
    """That of the queue which can be answered."""
    return (await queue(tx, agent_id)).waiting


async def count_try(tx: Tx, ids: Sequence[int]) -> None:
    """These are tried, and perhaps nothing comes of it."""
    await tx.execute(update(inbox).where(inbox.c.id.in_(ids)).values(tries=inbox.c.tries + 1))


async def give_back_try(tx: Tx, ids: Sequence[int]) -> None:
    """A try of these does not count: nobody failed."""
    tried = inbox.c.id.in_(ids) & (inbox.c.tries > 0)
    await tx.execute(update(inbox).where(tried).values(tries=inbox.c.tries - 1))


MOST_FETCHING = 100
"""Rows whose files are looked for at once."""


async def fetching(tx: Tx, connector: str, chat: str | None = None) -> list[Fetching]:
    """What a connector still has to fetch (in this chat), oldest first, at most :data:`MOST_FETCHING`."""
    query = (
        select(inbox.c.id, inbox.c.agent_id, inbox.c.attachments)
        .where(inbox.c.connector == connector, inbox.c.state == "fetching")
        .order_by(inbox.c.id)
        .limit(MOST_FETCHING)
    )
    if chat is not None:
        query = query.join(agents_table, agents_table.c.id == inbox.c.agent_id).where(agents_table.c.chat == chat)
    rows = await tx.execute(query)
    return [Fetching(row[0], AgentId(row[1]), tuple(Attachment(**one) for one in row[2])) for row in rows]


async def fetched(tx: Tx, row_id: int, files: Sequence[Kept]) -> bool:
    """The files of a row are there, or will never be: it can be answered. False when nobody waits for them any
    more."""
    brought = await tx.execute(
        update(inbox)
        .where(inbox.c.id == row_id, inbox.c.state == "fetching")
        .values(state="waiting", attachments=[asdict(file) for file in files])
    )
    return brought.rowcount == 1


async def mark(tx: Tx, ids: Sequence[int], *, marked: bool) -> frozenset[int]:
    """These messages show a mark that says that they wait, or no longer do; returns those that were to be marked.

    What a turn has taken waits no more, and is not marked.
    """
    found = update(inbox).where(inbox.c.id.in_(ids))
    if marked:
        found = found.where(inbox.c.state == "waiting")
    rows = await tx.execute(found.values(marked=marked).returning(inbox.c.id))
    return frozenset(row[0] for row in rows)


async def take(tx: Tx, ids: Sequence[int], turn_id: str) -> Mapping[int, str]:
    """Give rows that wait to a turn; returns the texts of those that still did, as they are now: no edit changes them
    any more.
    """
    taken = await tx.execute(_TAKE, {"rows": list(ids), "turn_id": turn_id})
    return {row[0]: row[1] for row in taken}


@dataclass(frozen=True)
class Asker:
    """Whom a turn answers. ``speaker``: how they are named, where several people talk; ``said_at``: when they said the
    last thing that it answers, in seconds since 1970."""

    person: str
    speaker: str
    said_at: float


async def people_of(tx: Tx, turn_id: str) -> Sequence[Asker]:
    """Who is answered in this turn, in the order in which they spoke first."""
    said_at = func.coalesce(inbox.c.sent_at, inbox.c.received_at)
    chosen = select(inbox.c.person, inbox.c.speaker, said_at).where(inbox.c.turn_id == turn_id)
    return [*{row[0]: Asker(*row) for row in await tx.execute(chosen.order_by(inbox.c.id))}.values()]


async def close(tx: Tx, ids: Sequence[int]) -> None:
    """These are answered (control, which belongs to no turn)."""
    await tx.execute(update(inbox).where(inbox.c.id.in_(ids)).values(state="done"))


async def close_turn(tx: Tx, turn_id: str) -> None:
    """All that this turn took is answered."""
    await tx.execute(_CLOSE_TURN, {"turn": turn_id})


async def unanswered(tx: Tx, address: Address) -> int:
    """How many events of this conversation have no answer yet."""
    count = await tx.execute(
        select(func.count())
        .select_from(inbox)
        .where(inbox.c.agent_id == address.agent_id, inbox.c.state.in_(("fetching", "waiting", "taken")))
    )
    return int(count.scalar_one())


async def cursor(tx: Tx, connector: str) -> str | None:
    """How far a platform was read."""
    row = await tx.execute(select(cursors.c.value).where(cursors.c.connector == connector))
    return row.scalar_one_or_none()


_MOST_HEARD = 1_000


async def heard(tx: Tx, address: Address, since: int) -> Mapping[str, int]:
    """The latest messages of this conversation from this position on, by their keys; not those that were deleted."""
    rows = await tx.execute(
        select(inbox.c.key, inbox.c.position)
        .where(inbox.c.agent_id == address.agent_id, inbox.c.kind == "message", inbox.c.person != "")
        .where(inbox.c.position >= since)
        .order_by(inbox.c.position.desc())
        .limit(_MOST_HEARD)
    )
    return {row[0]: row[1] for row in rows}


async def set_cursor(tx: Tx, connector: str, value: str) -> None:
    """Remember how far a platform was read."""
    await tx.execute(_SET_CURSOR.of(tx), {"connector": connector, "value": value})


async def _edited(tx: Tx, inbound: Inbound) -> Inbound | None:
    """What an edit adds to the inbox: nothing where the text is the same or nobody has read it yet."""
    rows = await tx.execute(
        select(inbox.c.id, inbox.c.text, inbox.c.state)
        .where(
            inbox.c.connector == inbound.address.connector,
            (inbox.c.key == inbound.edits) | inbox.c.key.startswith(f"{inbound.edits}:", autoescape=True),
        )
        .order_by(inbox.c.id.desc())
        .limit(1)
    )
    newest = rows.mappings().first()
    if newest is None:
        return inbound
    inbound = replace(inbound, quote=None)  # it came with what was said first
    if newest["text"] in (inbound.text, f"{EDITED}\n{inbound.text}"):
        return None
    if newest["state"] in ("fetching", "waiting"):
        text = f"{EDITED}\n{inbound.text}" if newest["text"].startswith(EDITED) else inbound.text
        unread = inbox.c.state.in_(("fetching", "waiting"))  # still: a turn may take it at this moment
        changed = await tx.execute(update(inbox).where(inbox.c.id == newest["id"], unread).values(text=text))
        if changed.rowcount:
            return None
    return inbound if inbound.is_command else replace(inbound, text=f"{EDITED}\n{inbound.text}")


async def quote_for(tx: Tx, inbound: Inbound) -> Quote | None:
    """The quotation that a message needs; None where it answers nothing, or the newest message."""
    if inbound.quote is None:
        return None
    of = inbound.quote.ref
    is_newest = of and of == await _newest(tx, inbound.address.agent_id)
    return None if is_newest else inbound.quote


async def _newest(tx: Tx, agent_id: AgentId) -> str:
    """The newest message that people and the model both have; empty where that is not certain. For platforms whose ids
    are numbers that grow."""
    theirs = await tx.execute(
        select(inbox.c.state, inbox.c.ref)
        .where(inbox.c.agent_id == agent_id)
        .order_by(inbox.c.id.desc())
        .limit(_LOOKED_AT)
    )
    ours = await tx.execute(
        select(outbox.c.state, outbox.c.kind, outbox.c.refs, outbox.c.delivered < outbox.c.version)
        .where(outbox.c.agent_id == agent_id)
        .order_by(outbox.c.id.desc())
        .limit(_LOOKED_AT)
    )
    seen: dict[int, bool] = {}  # by its number: whether the model has it
    for state, ref in theirs:
        if state in _UNREAD:
            return ""
        seen |= {int(ref): True} if ref.isdecimal() else {}
    for state, kind, refs, is_pending in ours:
        if state == "open" or (state == "ready" and is_pending) or not all(ref.isdecimal() for ref in refs):
            return ""
        seen |= {int(ref): kind == REPLY for ref in refs}
    newest = max(seen, default=0)
    return str(newest) if seen.get(newest) else ""


def _waiting(row: RowMapping) -> Waiting:
    return Waiting(
        id=row["id"],
        person=row["person"],
        person_name=row["person_name"],
        text=row["text"],
        kind=row["kind"],
        received_at=row["received_at"],
        ref=row["ref"],
        speaker=row["speaker"],
        files=tuple(Kept(**file) for file in row["attachments"]) if row["state"] != "fetching" else (),
        marked=row["marked"],
        position=row["position"],
        key=row["key"],
        tries=row["tries"],
        quote=Quote(row["quote"], key=row["quoted_key"], person=row["quoted_person"]) if row["quote"] else None,
        expects=row["expects"],
        sent_at=row["sent_at"],
    )
