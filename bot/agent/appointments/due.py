"""Takes what is due of one agent: each in one fenced step, which writes what people are to see, or what the agent is to
be woken by, and when it is due next. So it is there once, whoever dies when.

What was due while nobody was there comes late, and says so: what is repeated once, and nothing after a day.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from bot.agent.appointments import texts
from bot.agent.appointments.rows import values_of
from bot.agent.appointments.schedule import Schedule, instant, wall
from bot.agent.context import Context
from bot.agent.step import Step
from bot.errors import StaleEpoch, StoreUnavailable
from bot.messages import Button
from bot.runtime.telemetry import telemetry
from bot.store import Database, appointments, inbox
from bot.store.appointments import Appointment, State

log = structlog.get_logger(__name__)

LATE_SECONDS = 60.0
"""From then on people are told when it was due."""
TOO_LATE_SECONDS = 86_400.0
"""From then on it does not come; it is listed."""
_AT_ONCE = 50
_MINUTES = 60


class DueAppointments:
    """Of one agent."""

    def __init__(self, context: Context, database: Database) -> None:
        self._context = context
        self._database = database

    async def take(self) -> None:
        """Bring all that is due now. Raises StaleEpoch, StoreUnavailable."""
        while True:
            async with self._database.glance() as tx:
                now = self._database.clock()
                found = await appointments.due(tx, self._context.agent_id, now=now, most=_AT_ONCE)
            for one in found:
                await self._take(one.number)
            if len(found) < _AT_ONCE:
                return

    async def _take(self, number: int) -> None:
        try:
            async with self._context.step() as step:
                one = await appointments.get(step.tx, self._context.agent_id, number)
                if one and one.next_at is not None and one.next_at <= step.now:
                    await self._bring(step, one, one.next_at)
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception:  # one that breaks something must not keep the others from coming
            log.exception("appointment_broken", number=number)
            async with self._context.step() as step:
                await appointments.give_up(step.tx, self._context.agent_id, number, now=step.now)

    async def _bring(self, step: Step, one: Appointment, seen: float) -> None:
        agent_id = self._context.agent_id
        if await appointments.is_closed(step.tx, agent_id):
            count = await appointments.retire(step.tx, agent_id, now=step.now)
            step.afterwards.append(lambda: log.info("appointments_retired", count=count))
            return
        if not one.urgent and (until := await self._end_of_quiet(step, one)):
            await appointments.change(step.tx, agent_id, one.number, seen=seen, next_at=until, changed_at=step.now)
            return
        schedule = texts.schedule_in(one).latest(step.now)
        after = schedule.following(step.now)
        state = State.SET if after else State.DONE
        changed = {**values_of(after or schedule), "next_at": after.instant if after else None, "changed_at": step.now}
        late = step.now - max(schedule.instant, seen)  # what quiet hours held is not late before their end
        if late > TOO_LATE_SECONDS:
            await self._miss(step, one, seen, schedule, {**changed, "state": State.SET if after else State.MISSED})
            return
        is_said = one.kind == "say"
        changed |= {"state": state, "said_at": step.now, "said": one.said + 1, "unread": is_said}
        if not await appointments.change(step.tx, agent_id, one.number, seen=seen, **changed):
            return  # somebody took it back in this moment
        if is_said:
            buttons = [Button("Stop", f"/reminders cancel {one.number}")] if after else []
            await step.say(texts.due(one.text, one.person_name, schedule, step.now), buttons=buttons)
        else:
            await self._wake(step, one, schedule)
        step.afterwards.append(partial(_tell_came, one, late))

    async def _wake(self, step: Step, one: Appointment, schedule: Schedule) -> None:
        context = self._context
        key = f"{inbox.WAKE}:{context.agent_id}:{one.number}:{schedule.instant:.0f}"
        note = texts.wake_note(one, schedule)
        await inbox.wake(
            step.tx,
            context.address,
            key=key,
            person=one.person,
            person_name=one.person_name,
            text=note,
            now=step.now,
        )

    async def _miss(
        self, step: Step, one: Appointment, seen: float, schedule: Schedule, changed: dict[str, object]
    ) -> None:
        agent_id = self._context.agent_id
        if not await appointments.change(step.tx, agent_id, one.number, seen=seen, **changed):
            return
        if changed["state"] == State.SET:  # it goes on; what was missed of it is listed by itself
            once = replace(schedule, rule="")
            left = replace(one, state=State.MISSED, **values_of(once), next_at=None, often="", changed_at=step.now)
            await appointments.add(step.tx, agent_id, left)
        step.afterwards.append(partial(_tell_missed, one))

    async def _end_of_quiet(self, step: Step, one: Appointment) -> float | None:
        hours = await appointments.quiet(step.tx, one.connector, one.person)
        return end_of_quiet(step.now, one.zone, hours) if hours else None


def end_of_quiet(now: float, zone: str, hours: tuple[int, int]) -> float | None:
    """When the quiet hours end that it is within, which may go over midnight; None where it is within none."""
    begins, ends = hours
    local = wall(now, zone)
    minute = local.hour * _MINUTES + local.minute
    within = begins <= minute < ends if begins < ends else (minute >= begins or minute < ends)
    if not within:
        return None
    day = local.date() if minute < ends else local.date() + timedelta(days=1)
    end = instant(datetime.combine(day, datetime.min.time()) + timedelta(minutes=ends), zone)
    return end if end > now else None


def _tell_came(one: Appointment, late: float) -> None:
    telemetry.appointment_came(one.kind, late)
    log.info("appointment_came", number=one.number, kind=one.kind, late=round(late, 3))


def _tell_missed(one: Appointment) -> None:
    telemetry.appointment_missed(one.kind)
    log.warning("appointment_missed", number=one.number, kind=one.kind)
