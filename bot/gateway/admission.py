"""Who may come in from a platform, and how often. What is refused here is never stored."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import structlog

from bot.messages import Button, Inbound, Say
from bot.runtime import access
from bot.runtime.access import CODE_HOURS, Access
from bot.runtime.telemetry import telemetry
from bot.runtime.token_buckets import TokenBuckets
from bot.store import Tx, outages, outbox, people
from bot.store.people import Asked

log = structlog.get_logger(__name__)

RATE_SECONDS = 600.0
"""In which somebody may say as much as the limits are, all at once or spread."""
_MOST_BUCKETS = 10_000
_ANSWER_SECONDS = 3600.0
"""An unknown person is answered once an hour."""
_WARN_SECONDS = 60.0
_MOST_REMEMBERED = 1000
_MOST_NAMED = 5
"""New people in an hour of whom admins are told each by name: more of them are hardly meant."""
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that look alike."""


@dataclass
class Admitted:
    """``welcome``: those that may come in, in their order; ``told``: what the others are to be told; ``rings``: the
    connectors by which admins are told of them."""

    welcome: list[Inbound] = field(default_factory=list)
    told: list[Say] = field(default_factory=list)
    rings: set[str] = field(default_factory=set)


class Admission:
    """Lets in whoever may talk, and writes down who asks to. ``per_person`` and ``per_chat``: messages in ten
    minutes; ``urgent``: texts that come in however many there were."""

    def __init__(
        self, rules: Access, *, per_person: int = 0, per_chat: int = 0, urgent: Collection[str] = frozenset()
    ) -> None:
        self.rules = rules
        self._urgent = urgent
        self._people = TokenBuckets(per_person, RATE_SECONDS, most=_MOST_BUCKETS)
        self._chats = TokenBuckets(per_chat, RATE_SECONDS, most=_MOST_BUCKETS)
        self._told: dict[str, tuple[float, str | None]] = {}
        """When somebody was told something, and the code that they were given, by person and kind of place."""

    async def admit(self, tx: Tx, inbounds: Sequence[Inbound], *, now: float) -> Admitted:
        """Those that may come in, and what the others are to be told."""
        if not inbounds:
            return Admitted()
        connector = inbounds[0].address.connector
        known: frozenset[str] = frozenset()
        if self.rules.mode == "pairing":
            known = await people.approved(tx, connector, {inbound.person for inbound in inbounds})
        found = Admitted()
        for inbound in inbounds:
            if not self.rules.may_talk(inbound.address, inbound.person, known):
                telemetry.refused(connector, "access")
                found.told += await self._refuse(tx, inbound, found.rings, now)
            elif self._is_too_much(inbound, now):
                telemetry.refused(connector, "rate")
                found.told += self._tell(inbound, access.TOO_FAST, now, every=_WARN_SECONDS)
            else:
                found.welcome.append(inbound)
        return found

    async def knows(self, tx: Tx, inbound: Inbound) -> bool:
        """Whether who says this may come in, however often."""
        person, connector = inbound.person, inbound.address.connector
        known = await people.approved(tx, connector, {person}) if self.rules.mode == "pairing" else frozenset()
        return self.rules.may_talk(inbound.address, person, known)

    def forget_counts(self, inbounds: Sequence[Inbound]) -> None:
        """What was admitted could not be stored after all: it will come again."""
        for inbound in inbounds:
            self._people.give_back(inbound.person)
            self._chats.give_back(inbound.address.chat)

    def _is_too_much(self, inbound: Inbound, now: float) -> bool:
        if inbound.address.connector == access.TERMINAL or inbound.text.strip().lower() in self._urgent:
            return False
        return not (self._people.allows(inbound.person, now) and self._chats.allows(inbound.address.chat, now))

    async def _refuse(self, tx: Tx, inbound: Inbound, rings: set[str], now: float) -> list[Say]:
        code = None
        if self.rules.mode == "pairing" and not inbound.speaker:
            name = inbound.person_name[:100]
            expires = now + CODE_HOURS * 3600
            asked = await people.ask(
                tx, inbound.address, inbound.person, name, code=new_code(), expires_at=expires, now=now
            )
            code = asked.code if asked else None
            if asked and asked.is_new:
                rings |= await self._tell_admins(tx, inbound, asked, now)
        told = self._tell(
            inbound, access.refusal(inbound, self.rules.mode, code), now, every=_ANSWER_SECONDS, code=code
        )
        if told:
            log.info("person_refused", connector=inbound.address.connector, person=inbound.person, mode=self.rules.mode)
        return told

    async def _tell_admins(self, tx: Tx, inbound: Inbound, asked: Asked, now: float) -> set[str]:
        """That somebody new waits, once; the connectors of those who are told. A crowd is told of in one line."""
        if asked.lately > _MOST_NAMED + 1:
            return set()
        who = f"{inbound.address.connector}:{inbound.person}"
        is_named = asked.lately <= _MOST_NAMED
        text = access.somebody_waits(inbound.person_name, who, asked.code) if is_named else access.MANY_WAIT
        buttons = [Button(access.LET_IN, f"/pair {who}")] if is_named else []
        places = await outages.admin_places(tx, self.rules.admins)
        reached = [place for place, is_reached in places.items() if is_reached]
        for place in reached:
            await outbox.say(tx, place, text, buttons=buttons, now=now)
        if reached:
            log.info("admins_told_of_person", connector=inbound.address.connector, chats=len(reached))
        return {place.connector for place in reached}

    def _tell(self, inbound: Inbound, text: str, now: float, *, every: float, code: str | None = None) -> list[Say]:
        if not self._may_tell(inbound, now, every, code):
            return []
        self._told[_teller(inbound)] = now, code
        return [Say(inbound.address, text, token=inbound.key, notice=True, answers=inbound.ref)]

    def _may_tell(self, inbound: Inbound, now: float, every: float, code: str | None) -> bool:
        """Whether it is time; the memory of whom we told is bounded, so that a crowd cannot fill it."""
        if inbound.is_awaited:
            return True
        self._told = {who: told for who, told in self._told.items() if now - told[0] < _ANSWER_SECONDS}
        if _teller(inbound) not in self._told:
            return len(self._told) < _MOST_REMEMBERED
        then, given = self._told[_teller(inbound)]
        return now - then >= every or (code is not None and code != given)


def _teller(inbound: Inbound) -> str:
    """Who was told in a group may ask in private a moment later."""
    return f"{inbound.person} in a group" if inbound.speaker else inbound.person


def new_code() -> str:
    """Two times four letters, by which somebody is let in."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"
