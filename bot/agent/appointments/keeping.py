"""Making, choosing and taking back appointments of one conversation, as part of a fenced step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.agent.appointments import texts
from bot.agent.appointments.due import end_of_quiet
from bot.agent.appointments.rows import as_choice, values_of
from bot.agent.appointments.schedule import Schedule
from bot.agent.step import Step
from bot.bus import topics
from bot.errors import PalimpsestError
from bot.messages import Address
from bot.runtime.settings import AppointmentsSettings
from bot.store import Tx, appointments, zones
from bot.store.appointments import Appointment, Kind, State

LONGEST_TEXT = 1_000
MOST_CHOICES = 6


class NotKept(PalimpsestError):
    """It cannot be an appointment; the text says why, for people."""


@dataclass(frozen=True)
class Wanted:
    """What somebody wants: ``person`` and ``name`` as the row has them. ``follows``: in their own zone, which may
    change."""

    kind: Kind
    text: str
    person: str
    name: str = ""
    urgent: bool = False
    follows: bool = True


class Appointments:
    """Of one conversation."""

    def __init__(self, address: Address, limits: AppointmentsSettings, usual_zone: str) -> None:
        self._address = address
        self._agent_id = address.agent_id
        self._limits = limits
        self._usual_zone = usual_zone

    async def zone_of(self, tx: Tx, person: str) -> str:
        """By which zone this person means what they say here."""
        return await zones.for_person(tx, self._address, person) or self._usual_zone

    async def follow_zone(self, step: Step, person: str = "") -> int:
        """This person's zone is another one now, or (empty) this chat's: what is repeated by it keeps its time on the
        wall there; what is due once keeps its instant. Returns how many have another instant."""
        connector, moved = self._address.connector, 0
        if person:
            found = await appointments.of_person(step.tx, connector, person)
        else:
            found = await appointments.of_chat(step.tx, self._address)
        for address, one in found:
            zone = await zones.for_person(step.tx, address, one.person) or self._usual_zone
            if not one.follows or zone == one.zone:
                continue
            schedule = texts.schedule_in(one).moved_to(zone)
            if schedule.is_repeated and schedule.instant <= step.now:
                schedule = schedule.following(step.now) or schedule
            changed = {**values_of(schedule), "next_at": schedule.instant, "changed_at": step.now}
            if await appointments.change(step.tx, address.agent_id, one.number, seen=one.next_at, **changed):
                moved += schedule.instant != one.due_at
                step.rings.append(topics.appointments(address.agent_id))
        return moved

    async def put(self, step: Step, wanted: Wanted, schedule: Schedule) -> Appointment:
        """It is to come; what is due by now comes at once. Raises NotKept where it is too long, or one too many."""
        await self._check(step, wanted)
        new = self._row(step, wanted, schedule)
        new = replace(new, state=State.SET, **values_of(schedule), next_at=schedule.instant)
        step.rings.append(topics.appointments(self._agent_id))
        return await appointments.add(step.tx, self._agent_id, new)

    async def held_until(self, step: Step, one: Appointment) -> float | None:
        """When quiet hours end that it is due in, in seconds since 1970; None where it is in none, or urgent."""
        hours = await appointments.quiet(step.tx, one.connector, one.person)
        return end_of_quiet(one.due_at, one.zone, hours) if hours and one.due_at and not one.urgent else None

    async def ask(self, step: Step, wanted: Wanted, readings: Sequence[Schedule]) -> Appointment:
        """Which of these is meant is still to be said. Raises NotKept."""
        await self._check(step, wanted)
        new = self._row(step, wanted, readings[0])
        choices = tuple(as_choice(one) for one in readings[:MOST_CHOICES])
        return await appointments.add(step.tx, self._agent_id, replace(new, choices=choices))

    async def choose(self, step: Step, number: int, which: int) -> Appointment | None:
        """This one of its choices (from 1) is meant; None where that is no question any more. Raises NotKept."""
        one = await appointments.get(step.tx, self._agent_id, number)
        if one is None or one.state is not State.ASKED or not 1 <= which <= len(one.choices):
            return None
        schedule = texts.of_choice(one.choices[which - 1])
        if schedule.instant <= step.now:
            after = schedule.following(step.now)
            if after is None:
                raise NotKept("That is past by now. Ask again with another time.")
            schedule = after
        await self._check(step, Wanted(one.kind, one.text, one.person))
        changed = {**values_of(schedule), "next_at": schedule.instant, "choices": [], "changed_at": step.now}
        await appointments.change(step.tx, self._agent_id, number, seen=None, state=State.SET, **changed)
        step.rings.append(topics.appointments(self._agent_id))
        return await appointments.get(step.tx, self._agent_id, number)

    async def cancel(self, step: Step, number: int) -> Appointment | None:
        """It does not come; None where there is none to come of this number."""
        one = await appointments.get(step.tx, self._agent_id, number)
        if one is None or not await appointments.cancel(step.tx, self._agent_id, number, now=step.now):
            return None
        return one

    async def _check(self, step: Step, wanted: Wanted) -> None:
        if not wanted.text.strip():
            raise NotKept("What of? For example: /remind tomorrow 9:00 call Ana")
        if len(wanted.text) > LONGEST_TEXT:
            raise NotKept(f"That is too long: a reminder has {LONGEST_TEXT:,} characters at most.")
        connector = self._address.connector
        of_person, here = await appointments.count(step.tx, self._agent_id, connector, wanted.person)
        if of_person >= self._limits.per_person:
            raise NotKept(f"You have {of_person} appointments to come, which is as many as there may be. /reminders")
        if here >= self._limits.per_chat:
            raise NotKept(f"There are {here} appointments to come here, which is as many as there may be. /reminders")

    def _row(self, step: Step, wanted: Wanted, schedule: Schedule) -> Appointment:
        return Appointment(
            number=0,
            connector=self._address.connector,
            person=wanted.person,
            person_name=wanted.name,
            kind=wanted.kind,
            text=wanted.text.strip(),
            state=State.ASKED,
            zone=schedule.zone,
            local=schedule.local.isoformat(),
            follows=wanted.follows,
            urgent=wanted.urgent,
            made_at=step.now,
            changed_at=step.now,
        )
