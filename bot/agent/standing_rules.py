"""The standing rules of one conversation: `/rules` lists, pins and forgets them.

::

    what people said, the latest summary ─▶ found (in a thread) ─▶ numbered, in the book ─▶ the list, with its buttons
    /rules pin ─▶ one step: the row, a note for the model, the answer, the command's own row of the inbox

A number is given once and kept, so that a button that is pressed twice, or late, means the rule that it stood for.
Where a rule stands in a request follows from the book alone (:mod:`bot.compaction.standing_rules`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from bot.agent.context import Context
from bot.agent.step import Step
from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Speaker
from bot.compaction.found_rules import Found, found_rules
from bot.compaction.standing_rules import (
    LONGEST_RULE,
    MOST_PINNED,
    OWED,
    Rule,
    RuleState,
    note,
    note_of_letting_go,
    pinned,
    plain,
    storable,
    why_not,
)
from bot.errors import StaleEpoch, StoreUnavailable
from bot.history import Entry, EntryKind
from bot.messages import Audience, Button, text_of
from bot.runtime.access import Access
from bot.store import Database, facts, standing_rules
from bot.store.archive.whereabouts import REMOVED
from bot.store.archive.withdrawing import DELETED, HIDDEN, message_key
from bot.store.inbox import EDITED, Waiting

log = structlog.get_logger(__name__)

MOST_READ = 1_000
"""Messages of people that rules are looked for in: the latest."""
ON_A_PAGE = 8
"""Rules that were found, each with its button."""
_LONGEST_LINE = 220
_GONE = frozenset({DELETED, HIDDEN, REMOVED})
_OVER = frozenset({FactStatus.CANCELLED, FactStatus.REPLACED})
_COMMAND = re.compile(
    r"pin\s+#?(?P<pin>\d{1,9})|pin\s+(?P<text>\S.*)|forget\s+#?(?P<forget>\d{1,9})|(?P<page>\d{0,4})",
    re.IGNORECASE | re.DOTALL,
)

USAGE = (
    "/rules pin N pins one that was found, word for word, /rules pin TEXT one in your own words; /rules forget N lets "
    "one go."
)
STAY = (
    "Pinned rules are sent with every request, word for word, whatever is compacted; they stay after /new, too, until "
    "they are forgotten."
)


@dataclass(frozen=True)
class _Read:
    """What rules are looked for in."""

    said: tuple[Entry, ...]
    known: tuple[Fact, ...]


class StandingRules:
    """Those of one agent."""

    def __init__(self, context: Context, database: Database, access: Access) -> None:
        self._context = context
        self._database = database
        self._access = access

    async def obey(self, argument: str, message: Waiting, is_answering: Callable[[], bool]) -> str | None:
        """Do what /rules says. None where it has answered: what is changed, and that it was, are one transaction."""
        match = _COMMAND.fullmatch(argument.strip())
        if match is None:
            return f"I do not know that. {USAGE}"
        if match["pin"]:
            return await self._pin(int(match["pin"]), message, is_answering)
        if match["text"]:
            return await self._pin_text(match["text"], message, is_answering)
        if match["forget"]:
            return await self._forget(int(match["forget"]), message, is_answering)
        await self._list(int(match["page"] or 1), message)
        return None

    async def settle(self, is_answering: Callable[[], bool]) -> None:
        """Tell the model now of what was let go while it answered."""
        if not any(rule.note_seq == OWED for rule in self._context.rules):
            return
        try:
            async with self._context.step() as step:
                if _can_tell(step, is_answering):
                    await self._tell_what_is_owed(step)
        except StaleEpoch:
            raise
        except StoreUnavailable as error:
            log.warning("rules_wait", reason=str(error))

    async def _list(self, page: int, message: Waiting) -> None:
        floor = self._context.history.floor
        read = await self._read(floor)
        summary = next(
            (text_of(e.blocks) for e in reversed(self._context.history.visible) if e.kind is EntryKind.SUMMARY), ""
        )
        over = (item.text for item in read.known if item.forgotten or item.status in _OVER)
        gone = {said for text in over for said in _with_name_or_without(text)}
        look = partial(
            found_rules, read.said, several=bool(message.speaker), summary=summary, skipped=EDITED, gone=gone
        )
        found = await asyncio.to_thread(look)
        async with self._context.step() as step:
            listed = await self._numbered(step, [*found, *_added_by_people(read.known)])
            pages = [listed[at : at + ON_A_PAGE] for at in range(0, len(listed), ON_A_PAGE)] or [[]]
            at = min(max(1, page), len(pages))
            buttons = [Button(f"📌 {rule.number}", f"/rules pin {rule.number}") for rule, _ in pages[at - 1]]
            text = _listed(pinned(step.rules), pages[at - 1], at, len(pages))
            await step.say(text, buttons=buttons, answers=message.ref)
            await step.close([message.id])

    async def _read(self, floor: int) -> _Read:
        """What people said since the last /new: the latest of it, and whatever memory has taken for a rule."""
        agent_id = self._context.agent_id
        async with self._database.read() as tx:
            known = await facts.load(tx, agent_id)
            seqs = {seq for item in known if _is_rule(item) for seq in item.seqs if seq > floor}
            said = await standing_rules.said(tx, agent_id, after=floor, most=MOST_READ, besides=sorted(seqs)[-500:])
        whole = tuple(entry for entry in said if not any(block.get("text") in _GONE for block in entry.blocks))
        return _Read(whole, known)

    async def _numbered(self, step: Step, found: Sequence[Found]) -> list[tuple[Rule, Found]]:
        """Those that nobody pinned or let go, each with the number that it keeps."""
        known = {plain(rule.text): rule for rule in step.rules if rule.text}
        listed, new = list[tuple[Rule, Found]](), list[Rule]()
        number = max((rule.number for rule in step.rules), default=0)
        for one in found:
            rule = known.get(plain(one.text))
            if rule and (rule.is_pinned or (rule.state is RuleState.FORGOTTEN and one.seq <= rule.seq)):
                continue
            if rule is None or rule.state is RuleState.FORGOTTEN:
                number += 0 if rule else 1
                at = rule.number if rule else number
                rule = Rule(at, one.text, person=one.person, key=one.key, seq=one.seq)
                new.append(rule)
                known[plain(one.text)] = rule
            listed.append((rule, one))
        if new:
            await step.change_rules(*new)
        return listed

    async def _pin(self, number: int, message: Waiting, is_answering: Callable[[], bool]) -> str | None:
        async with self._context.step() as step:
            rule = _named(step.rules, number)
            if rule is None:
                return f"I know no rule {number}. /rules lists them."
            await self._pin_one(step, rule, message, is_answering)
        return None

    async def _pin_text(self, text: str, message: Waiting, is_answering: Callable[[], bool]) -> str | None:
        """Somebody's own words. What is pinned already, in these words, stays as it is."""
        words = storable(text)
        if not words:
            return f"There is nothing to pin. {USAGE}"
        async with self._context.step() as step:
            same = next((rule for rule in step.rules if rule.text == words), None)
            number = max((rule.number for rule in step.rules), default=0) + 1
            own = Rule(number, words, person=message.person, key=message_key(message.key))
            await self._pin_one(step, same or own, message, is_answering)
        return None

    async def _pin_one(self, step: Step, rule: Rule, message: Waiting, is_answering: Callable[[], bool]) -> None:
        window = self._context.window
        if rule.is_pinned:
            answer = f"Rule {rule.number} is pinned already: {rule.text}"
        elif reason := why_not(rule.text, step.rules, window.limit, window.family):
            answer = reason
        else:
            rule = replace(
                rule,
                state=RuleState.PINNED,
                pinned_by=message.person,
                pinned_name=message.person_name,
                pinned_at=step.now,
                note_seq=0,
            )
            if _can_tell(step, is_answering):
                blocks = note(rule)
                entry = await step.append(
                    "user", blocks, EntryKind.NOTE, audience=Audience.MODEL, person=rule.person, key=rule.key
                )
                rule = replace(rule, note_seq=entry.seq)
            await step.change_rules(rule)
            answer = f"📌 Pinned as rule {rule.number}: {rule.text}\n{STAY} /rules forget {rule.number} lets it go."
            log.info("rule_pinned", number=rule.number, pinned=len(pinned(step.rules)))
        await step.say(answer, answers=message.ref)
        await step.close([message.id])

    async def _forget(self, number: int, message: Waiting, is_answering: Callable[[], bool]) -> str | None:
        async with self._context.step() as step:
            rule = _named(step.rules, number)
            if rule is None:
                return f"I know no rule {number}. /rules lists them."
            if not self._may_forget(rule, message):
                who = rule.pinned_name or "somebody else"
                return f"Rule {number} was pinned by {who}: only they and admins can let it go."
            await step.say(await self._let_go(step, rule, is_answering), answers=message.ref)
            await step.close([message.id])
        return None

    async def _let_go(self, step: Step, rule: Rule, is_answering: Callable[[], bool]) -> str:
        """The answer. What memory knows in the same words goes too, or it would come back from there."""
        if rule.state is RuleState.FORGOTTEN:
            return f"Rule {rule.number} is forgotten already."
        gone = rule.forgotten(step.history.last_seq)
        was_pinned = rule.is_pinned
        await step.change_rules(replace(gone, note_seq=OWED if was_pinned else 0))
        await self._forget_facts(step, rule.text)
        if was_pinned and _can_tell(step, is_answering):
            await self._tell_what_is_owed(step)
        log.info("rule_forgotten", number=rule.number, pinned=len(pinned(step.rules)))
        what = "It does not hold any more." if was_pinned else "It is not listed any more."
        return f"Forgotten: {rule.number}. {rule.beginning}\n{what} What was said stays said, and /recall finds it."

    async def _tell_what_is_owed(self, step: Step) -> None:
        for rule in step.rules:
            if rule.note_seq == OWED:
                blocks = note_of_letting_go(rule)
                await step.append(
                    "user", blocks, EntryKind.NOTE, audience=Audience.MODEL, person=rule.person, key=rule.key
                )
                await step.change_rules(replace(rule, note_seq=0))

    async def _forget_facts(self, step: Step, text: str) -> None:
        agent_id = self._context.agent_id
        row, known = await facts.get(step.tx, agent_id), await facts.load(step.tx, agent_id)
        after = [_forgotten(item) if plain(text) in _with_name_or_without(item.text) else item for item in known]
        if after != list(known):
            await facts.change(step.tx, agent_id, known, after)
            await facts.put(step.tx, agent_id, replace(row, version=row.version + 1))

    def _may_forget(self, rule: Rule, message: Waiting) -> bool:
        """Who pinned it, and admins; where nobody else talks, whoever does."""
        if not rule.is_pinned or not message.speaker or rule.pinned_by == message.person:
            return True
        return self._access.is_admin(self._context.address, message.person)


def _can_tell(step: Step, is_answering: Callable[[], bool]) -> bool:
    """Whether something may stand at the end of the page: not between a reply and what belongs to it."""
    entries = step.history.entries
    return not (is_answering() and entries and entries[-1].kind is EntryKind.REPLY)


def _named(rules: Collection[Rule], number: int) -> Rule | None:
    return next((rule for rule in rules if rule.number == number and rule.text), None)


def _is_rule(fact: Fact) -> bool:
    return not fact.forgotten and fact.kind is FactKind.CONSTRAINT and fact.speaker is Speaker.PERSON


def _with_name_or_without(text: str) -> tuple[str, ...]:
    """A line of memory as what it says: where several people talk, who says it stands before it."""
    words = text.partition(": ")[2]
    return (plain(text), plain(words)) if words else (plain(text),)


def _added_by_people(known: Collection[Fact]) -> list[Found]:
    """Rules that were said with /memory, and in no message."""
    own = (fact for fact in known if _is_rule(fact) and fact.protected)
    return [Found(fact.text) for fact in own if not fact.seqs and len(fact.text) <= LONGEST_RULE]


def _forgotten(fact: Fact) -> Fact:
    return replace(fact, pinned=False, forgotten=True)


def _listed(rules: Sequence[Rule], found: Sequence[tuple[Rule, Found]], page: int, pages: int) -> str:
    lines = [f"Pinned rules ({len(rules)} of {MOST_PINNED} at most):" if rules else "No rule is pinned here."]
    lines += [f"{rule.number}. 📌 {rule.text}{_by(rule)}" for rule in rules]
    lines += ["Found in what people said:" if found else "No other rule was found in what people said."]
    lines += [f"{rule.number}. {_shortened(rule.text)}{_where(one)}" for rule, one in found]
    lines += [f"Page {page} of {pages}" + (f": /rules {page + 1}" if page < pages else "")] if pages > 1 else []
    return "\n".join([*lines, USAGE, *([STAY] if rules else [])])


def _by(rule: Rule) -> str:
    return f" (pinned by {rule.pinned_name})" if rule.pinned_name else ""


def _where(one: Found) -> str:
    told = [part for part in (one.name, f"message {one.seq}" if one.seq else "") if part]
    return f" ({', '.join(told)})" if told else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1].rstrip()}…"
