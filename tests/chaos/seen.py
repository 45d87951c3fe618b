"""What people must have seen when everything has settled: each answer once, in order, and nothing that is stale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import RowMapping

from tests.chaos.brain import ANSWERED, ASKED
from tests.chaos.chats import Seen, address_of
from tests.chaos.ledger import decoded

if TYPE_CHECKING:
    from tests.chaos.harness import House

NOTHING_SAID = frozenset({"(no answer)", "(The model gave an empty answer.)"})
"""How an empty answer stands in the history, and what people see of it."""


async def seen(house: House) -> AsyncIterator[str]:
    """What is wrong with what any chat shows."""
    outbox = await house.ledger.rows("SELECT * FROM outbox ORDER BY id")
    turns = await house.ledger.rows("SELECT * FROM turns")
    inbox = await house.ledger.rows("SELECT * FROM inbox WHERE turn_id IS NOT NULL ORDER BY position, id")
    own: defaultdict[str, list[int]] = defaultdict(list)
    positions: dict[str, tuple[int, int]] = {}
    for row in inbox:
        own[row["turn_id"]] += [int(number) for number in ASKED.findall(row["text"])]
        positions.setdefault(row["turn_id"], (row["position"], row["id"]))
    for index, chat in enumerate(house.people.chats):
        agent = house.people.agents[index]
        shown = house.people.sees(index)
        ours = [row for row in outbox if (row["connector"], row["chat"]) == (chat.connector, chat.chat)]
        in_order = sorted(
            (turn for turn in turns if turn["agent_id"] == agent), key=lambda turn: positions.get(turn["id"], (0, 0))
        )
        said = {one.number for one in house.people.said if one.chat == index}
        texts = [*chat.glimpses(), *(text for message in shown for text in message.texts)]
        for fault in (*_messages(shown, ours), *_answers(shown, ours, in_order, own), *_strangers(texts, said)):
            yield f"{address_of(chat)}: {fault}"


def _strangers(texts: Iterable[str], said: set[int]) -> Iterator[str]:
    """Nobody ever reads what belongs into another chat, not for a moment either."""
    for text in texts:
        if foreign := {int(number) for number in ANSWERED.findall(text)} - said:
            yield f"people saw {sorted(foreign)}, which nobody said there: {text[:80]!r}"


def _messages(shown: Sequence[Seen], outbox: Sequence[RowMapping]) -> Iterator[str]:
    """Each is one of ours, none is missing, and none shows an older text."""
    by_ref = {ref: row for row in outbox for ref in decoded(row["refs"])}
    texts: defaultdict[int, str] = defaultdict(str)
    for message in shown:
        row = by_ref.pop(message.ref, None)
        if row is None:
            yield f"people see a message that no outbox row knows: {message.ref} {message.text[:60]!r}"
        else:
            texts[row["id"]] += message.text
    for ref, row in by_ref.items():
        yield f"message {ref} of row {row['id']} is not there: {row['text'][:60]!r}"
    for row in outbox:
        if row["state"] == "ready" and ANSWERED.findall(texts[row["id"]]) != ANSWERED.findall(row["text"]):
            yield f"people see {texts[row['id']][:80]!r} where {row['text'][:80]!r} should stand"
        if row["state"] == "ready" and "Compacting" in texts[row["id"]]:
            yield f"a status message is stale: {texts[row['id']]}"


def _answers(
    shown: Sequence[Seen],
    outbox: Sequence[RowMapping],
    turns: Sequence[RowMapping],
    own: Mapping[str, Sequence[int]],
) -> Iterator[str]:
    """Each message is answered by its own turn, once, and the answers stand in the order of the messages, which is
    that of the turns: the platform's, and of what has one position there, such as what the agent was woken by, that in
    which it came."""
    rows = {row["id"]: row for row in outbox}
    places = {message.ref: place for place, message in enumerate(shown)}
    answered = Counter[int]()
    before = -1
    for turn in turns:
        row = rows[turn["slot"]]
        if turn["state"] != "done" or row["text"].strip() in NOTHING_SAID:
            continue
        numbers = [int(number) for number in ANSWERED.findall(row["text"])]
        answered.update(numbers)
        if missing := [number for number in own[turn["id"]] if number not in numbers]:
            yield f"turn {turn['id']} was to answer {own[turn['id']]}, and {missing} is missing: {row['text'][:80]!r}"
        place = min((places.get(ref, -1) for ref in decoded(row["refs"])), default=-1)
        if place < before:
            yield f"the answer to {own[turn['id']]} stands before one to an earlier message"
        before = max(before, place)
    if twice := [number for number, count in answered.items() if count > 1]:
        yield f"answered twice: {twice}"
