"""The outbox: what people are to see. A row is a message of ours, and its later texts are edits of that message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    String,
    bindparam,
    case,
    cast,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from bot.messages import Address, AgentId, Button, OutFile
from bot.store.schema import agents, compactions, inbox, outbox, turns
from bot.store.tx import Tx

_THIS = outbox.c.id == bindparam("slot")
_PENDING = (
    outbox.c.connector == bindparam("of"),
    outbox.c.state == "ready",
    outbox.c.delivered < outbox.c.version,
)
_THERE = outbox.c.chat == bindparam("there")
_INSERT = insert(outbox).returning(outbox.c.id)
_STILL = (outbox.c.state == "held") & (outbox.c.kind == "notice")
"""What is said of something that nobody saw happen stays unsaid, whatever becomes of it, until a turn ends."""
_CHANGE = update(outbox).where(_THIS).values(version=outbox.c.version + 1, state=case((_STILL, "held"), else_="ready"))
_CHANGE = _CHANGE.values(text=bindparam("text"), buttons=bindparam("buttons"), payload=bindparam("payload"))
_VOID = _CHANGE.where(outbox.c.state == "open")
_CHATS = select(outbox.c.chat).distinct().where(*_PENDING)
_CHAT = _CHATS.where(_THERE)
_ANSWERED_AT = (
    select(turns.c.ended_at)
    .where(turns.c.agent_id == outbox.c.agent_id, turns.c.started_at >= outbox.c.created_at)
    .where(turns.c.slot == outbox.c.id)
    .order_by(turns.c.started_at)
    .limit(1)
    .scalar_subquery()
    .label("answered_at")
)
_ROWS = select(outbox, _ANSWERED_AT).where(*_PENDING, _THERE).order_by(outbox.c.id)
_RELEASE = update(outbox).where(outbox.c.agent_id == bindparam("of"), outbox.c.state == "held").values(state="ready")
_OPEN = select(outbox).where(_THIS, outbox.c.state == "open")
_SENDING = update(outbox).where(_THIS)
_BEGIN_SENDING = _SENDING.values(sending=True, heard_upto=select(func.max(inbox.c.id)).scalar_subquery())
_NOT_YET_THERE = cast(outbox.c.refs, String) == "[]"
_REFUSE_CHAT = (
    update(outbox).where(*_PENDING, _THERE).values(state="refused", delivered=outbox.c.version, sending=False)
)

AGAIN = -1
"""In the place of the version that people see: it may be any."""
REPLY = "reply"
NOTICE = "notice"


@dataclass(frozen=True)
class OutboxRow:
    """One message of ours. ``sending``: a first send was begun and its end is not known. ``answered_at``: when it was
    committed, if it is the reply of a turn; in seconds since 1970."""

    id: int
    address: Address
    agent_id: AgentId
    kind: str
    text: str
    buttons: tuple[Button, ...]
    version: int
    delivered: int
    refs: tuple[str, ...]
    sending: bool
    answers: str
    file: OutFile | None
    answered_at: float | None = None


async def open_slot(tx: Tx, address: Address, *, answers: str = "", now: float) -> int:
    """The place of a reply that is still to be written; returns its id."""
    return await _insert(tx, address, kind=REPLY, state="open", answers=answers, now=now)


async def say(
    tx: Tx,
    address: Address,
    text: str,
    *,
    buttons: Sequence[Button] = (),
    answers: str = "",
    payload: str = "",
    held: bool = False,
    now: float,
) -> int:
    """A message of the program; returns its id, by which it can be changed. ``payload``: the same for machines;
    ``held``: it is not to disturb anybody, and goes out when a turn ends (:func:`release`)."""
    said = {"text": text, "buttons": buttons, "answers": answers, "payload": payload}
    return await _insert(tx, address, kind=NOTICE, state="held" if held else "ready", now=now, **said)  # type: ignore[arg-type]


async def send_file(tx: Tx, address: Address, file: OutFile, text: str, *, now: float) -> int:
    """A file of the agent's folder (its ``path`` is in there), and what is said of it. It is held until
    :func:`release`."""
    return await _insert(tx, address, kind=REPLY, state="held", text=text, file=file, now=now)


async def release(tx: Tx, agent_id: AgentId) -> None:
    """The turn has ended: its files go out, after what it says, and what was not to disturb anybody before."""
    await tx.execute(_RELEASE, {"of": agent_id})


async def change(tx: Tx, slot: int, text: str, *, buttons: Sequence[Button] = (), payload: str = "") -> None:
    """This text now stands in that message."""
    shown = {"text": text, "buttons": [asdict(button) for button in buttons], "payload": payload}
    await tx.execute(_CHANGE, {"slot": slot, **shown})


async def void(tx: Tx, slot: int) -> None:
    """Nothing is to be said here after all. What was shown of it is taken away: by whoever delivers, who alone knows
    what is on its way."""
    await tx.execute(_VOID, {"slot": slot, "text": "", "buttons": [], "payload": ""})


async def chats_with_pending(tx: Tx, connector: str, chat: str | None = None) -> set[str]:
    """Chats in which people do not see everything yet."""
    query, values = (_CHATS, {"of": connector}) if chat is None else (_CHAT, {"of": connector, "there": chat})
    return {row[0] for row in await tx.execute(query, values)}


async def pending(tx: Tx, connector: str, chat: str) -> list[OutboxRow]:
    """What people in this chat do not see yet as it is, oldest first."""
    rows = await tx.execute(_ROWS, {"of": connector, "there": chat})
    return [_row(row) for row in rows.mappings()]


async def source_of(tx: Tx, agent_id: AgentId, slot: int) -> tuple[str | None, str | None]:
    """The turn that a message is the reply of, or the compaction whose status it is, with the turn that this was begun
    for."""
    of_turn = select(turns.c.id).where(turns.c.agent_id == agent_id, turns.c.slot == slot)
    if turn := (await tx.execute(of_turn.limit(1))).scalar_one_or_none():
        return str(turn), None
    of_run = select(compactions.c.id, compactions.c.turn_id)
    of_run = of_run.where(compactions.c.agent_id == agent_id, compactions.c.status_slot == slot)
    found = (await tx.execute(of_run.limit(1))).first()
    return (found.turn_id, str(found.id)) if found else (None, None)


async def get_open(tx: Tx, slot: int, address: Address) -> OutboxRow | None:
    """The slot of a reply that is still being written in this conversation; None once it is written, and for a number
    that is another's."""
    rows = await tx.execute(_OPEN, {"slot": slot})
    row = rows.mappings().one_or_none()
    found = _row(row) if row else None
    return found if found and found.address == address else None


async def newest_ref_before(tx: Tx, address: Address, slot: int, counts_with: Callable[[str, str], bool]) -> str | None:
    """The highest id of a message, the program's or a person's, that was surely given out before this slot was sent,
    in this chat or in one that it counts with.

    For platforms whose ids are numbers. Replies do not count: one with a lower slot may have been sent later. No clock
    does either: that of the host that hears people may be minutes from that of the host that answers them.
    """
    ours = await tx.execute(
        select(outbox.c.refs)
        .where(
            outbox.c.connector == address.connector,
            outbox.c.chat == address.chat,
            outbox.c.id < slot,
            outbox.c.kind == NOTICE,
        )
        .order_by(outbox.c.id.desc())
        .limit(20)
    )
    heard = (
        select(agents.c.chat, inbox.c.key, inbox.c.ref)
        .join(agents, agents.c.id == inbox.c.agent_id)
        .join(outbox, outbox.c.id == slot)
        .where(inbox.c.connector == address.connector, inbox.c.id <= outbox.c.heard_upto)
        .order_by(inbox.c.id.desc())
    )
    here = await tx.execute(heard.where(inbox.c.agent_id == outbox.c.agent_id).limit(20))
    around = await tx.execute(heard.limit(200))
    theirs = [_message_id(key, ref) for chat, key, ref in (*here, *around) if counts_with(address.chat, chat)]
    refs = [ref for row in ours for ref in row[0]] + theirs
    return str(max(numbers)) if (numbers := [int(ref) for ref in refs if ref.isdigit()]) else None


async def begin_sending(
    tx: Tx, slot: int, condition: ColumnElement[bool] | None = None, *, was_begun: bool = False
) -> bool:
    """A first send begins: from here until `delivered` the platform may have it. Not where the condition does not
    hold, nor where it was begun meanwhile (``was_begun``: that it was is known) or has arrived."""
    begun = _BEGIN_SENDING.where(_NOT_YET_THERE, outbox.c.sending == literal(was_begun))
    if condition is not None:
        begun = begun.where(condition)
    rows = await tx.execute(begun, {"slot": slot})
    return bool(rows.rowcount == 1)


async def not_sent(tx: Tx, slot: int, condition: ColumnElement[bool] | None = None) -> None:
    """The platform surely does not have it; nothing is written where the condition does not hold."""
    await tx.execute(_SENDING if condition is None else _SENDING.where(condition), {"slot": slot, "sending": False})


async def bring_again(tx: Tx, slots: Sequence[int]) -> None:
    """What these messages show is not known: two have changed them at once."""
    await tx.execute(update(outbox).where(outbox.c.id.in_(slots), outbox.c.delivered > 0).values(delivered=AGAIN))


async def delivered(tx: Tx, slot: int, version: int, refs: Sequence[str]) -> None:
    """People see this version, under these ids of the platform."""
    await tx.execute(_SENDING, {"slot": slot, "delivered": version, "refs": list(refs), "sending": False})


async def refuse(tx: Tx, slot: int, version: int) -> None:
    """The platform will never take it."""
    await tx.execute(
        update(outbox).where(outbox.c.id == slot).values(state="refused", delivered=version, sending=False)
    )


async def refuse_chat(tx: Tx, connector: str, chat: str) -> None:
    """The platform takes nothing for this chat any more: what waits for it is not sent."""
    await tx.execute(_REFUSE_CHAT, {"of": connector, "there": chat})


async def refs_in_chat(tx: Tx, address: Address) -> frozenset[str]:
    """The platform's ids of our latest messages in this chat."""
    rows = await tx.execute(
        select(outbox.c.refs)
        .where(outbox.c.connector == address.connector, outbox.c.chat == address.chat)
        .order_by(outbox.c.id.desc())
        .limit(50)
    )
    return frozenset(ref for row in rows for ref in row[0])


async def latest_refs(tx: Tx, connector: str, *, most: int = 1_000) -> Mapping[str, set[str]]:
    """The platform's ids of the latest messages of a connector, ours and people's, by their chat."""
    ours = await tx.execute(
        select(outbox.c.chat, outbox.c.refs)
        .where(outbox.c.connector == connector)
        .order_by(outbox.c.id.desc())
        .limit(most)
    )
    theirs = await tx.execute(
        select(agents.c.chat, inbox.c.key, inbox.c.ref)
        .join(agents, agents.c.id == inbox.c.agent_id)
        .where(inbox.c.connector == connector)
        .order_by(inbox.c.id.desc())
        .limit(most)
    )
    found: defaultdict[str, set[str]] = defaultdict(set)
    for chat, refs in ours:
        found[chat].update(refs)
    for chat, key, ref in theirs:
        found[chat].update(filter(None, [_message_id(key, ref)]))
    return found


async def undelivered(tx: Tx, agent_id: AgentId) -> int:
    """How many messages of this conversation are still on their way, replies being written among them."""
    count = await tx.execute(
        select(func.count())
        .select_from(outbox)
        .where(
            outbox.c.agent_id == agent_id,
            or_(
                outbox.c.state.in_(("open", "held")),
                (outbox.c.state == "ready") & (outbox.c.delivered < outbox.c.version),
            ),
        )
    )
    return int(count.scalar_one())


def _message_id(key: str, ref: str) -> str:
    """The platform's id of a message in the inbox; empty for a press, which has none."""
    return ref or (key.rsplit(":", 1)[-1] if key.startswith("message:") else "")


async def _insert(
    tx: Tx,
    address: Address,
    *,
    kind: str,
    state: str,
    now: float,
    text: str = "",
    buttons: Sequence[Button] = (),
    answers: str = "",
    payload: str = "",
    file: OutFile | None = None,
) -> int:
    added = await tx.execute(
        _INSERT,
        {
            "agent_id": address.agent_id,
            "connector": address.connector,
            "chat": address.chat,
            "thread": address.thread,
            "kind": kind,
            "text": text,
            "buttons": [asdict(button) for button in buttons],
            "state": state,
            "version": 0 if state == "open" else 1,
            "delivered": 0,
            "refs": [],
            "sending": False,
            "created_at": now,
            "answers": answers,
            "payload": payload,
            "file": asdict(file) if file else None,
        },
    )
    return int(added.scalar_one())


def _row(row: RowMapping) -> OutboxRow:
    return OutboxRow(
        id=row["id"],
        address=Address(row["connector"], row["chat"], row["thread"]),
        agent_id=AgentId(row["agent_id"]),
        kind=row["kind"],
        text=row["text"],
        buttons=tuple(Button(**button) for button in row["buttons"]),
        version=row["version"],
        delivered=row["delivered"],
        refs=tuple(row["refs"]),
        sending=row["sending"],
        answers=row["answers"],
        file=OutFile(**row["file"]) if row["file"] else None,
        answered_at=row.get("answered_at"),
    )
