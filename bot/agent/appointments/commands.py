"""`/remind`, `/reminders` and `/quiet`: what people say of appointments, and what they read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from bot.agent.appointments import texts
from bot.agent.appointments.keeping import Appointments, NotKept, Wanted
from bot.agent.context import Context
from bot.agent.step import Step
from bot.messages import Button
from bot.store import Database, appointments
from bot.store.appointments import Appointment, Kind
from bot.store.inbox import Waiting

_MARKS = re.compile(r"(wake|urgent)(?:\s+|$)", re.IGNORECASE)
_TAKE = re.compile(r"take\s+(\d+)\s+(\d+)", re.IGNORECASE)
_CANCEL = re.compile(r"(?:cancel|delete|stop)\s+#?(\d+)", re.IGNORECASE)
_CLOCK = r"(\d{1,2})(?::(\d\d))?\s*(am|pm|h)?"
_QUIET = re.compile(rf"(?:from\s+)?{_CLOCK}\s*(?:-|–|to|until)\s*{_CLOCK}", re.IGNORECASE)
_MISSED_SECONDS = 7 * 86_400.0
_MOST_BUTTONS = 5
_MOST_LISTED = 30
_A_DAY = 1_440
_HALF_A_DAY = 12
HOW = (
    "/remind WHEN WHAT, for example: /remind tomorrow 9:00 call Ana, /remind in 20 minutes tea, "
    "/remind every weekday at 9 stand-up, /remind on the last Friday of the month at 16:00 invoices."
)
NOT_UNDERSTOOD = f"I did not understand when that is. {HOW}"
OVER = "That is no question any more."
WHICH_ONE = "/reminders lists them; /reminders cancel 3 takes number 3 back."
NOTHING = "There is nothing to come. /remind WHEN WHAT makes a reminder, for example: /remind tomorrow 9:00 call Ana"


class AppointmentCommands:
    """Of one conversation. Each answers in the step that does it, so returns None; or what is to be said."""

    def __init__(self, context: Context, database: Database, keeping: Appointments) -> None:
        self._context = context
        self._database = database
        self._keeping = keeping

    async def remind(self, argument: str, message: Waiting) -> str | None:
        """Make one; or say which one is meant, as a button does."""
        if not argument:
            return HOW
        if take := _TAKE.fullmatch(argument):
            return await self._take(int(take[1]), int(take[2]), message)
        marks = set[str]()
        while found := _MARKS.match(argument):
            marks.add(found[1].lower())
            argument = argument[found.end() :]
        if not argument:
            return HOW
        kind: Kind = "wake" if "wake" in marks else "say"
        async with self._database.read() as tx:
            zone = await self._keeping.zone_of(tx, message.person)
        from bot.agent.appointments.reading import reading
        from bot.agent.appointments.reading.splitting import split

        now = reading.Now(message.said_at, zone)  # it may have waited for long
        found_there = await asyncio.to_thread(split, argument, now)
        if found_there is None:
            from bot.agent.appointments.reading.guessing import guess

            found_there = await asyncio.to_thread(guess, argument, now)
        if found_there is None:
            return NOT_UNDERSTOOD
        wanted = Wanted(kind, found_there.what, message.person, message.speaker, urgent="urgent" in marks)
        outcome = found_there.outcome
        try:
            async with self._context.step() as step:
                if isinstance(outcome, reading.Past):
                    await step.say(texts.past(outcome.schedule), answers=message.ref)
                elif isinstance(outcome, reading.Understood):
                    await self._made(step, await self._keeping.put(step, wanted, outcome.schedule), message.ref)
                elif outcome.readings:
                    await self._ask(step, await self._keeping.ask(step, wanted, outcome.readings), outcome.why, message)
                else:
                    await step.say(f"{outcome.why} {HOW}", answers=message.ref)
                await step.close([message.id])
        except NotKept as refused:
            return str(refused)
        return None

    async def follow_zone(self, step: Step, person: str) -> None:
        """See :meth:`Appointments.follow_zone`."""
        await self._keeping.follow_zone(step, person)

    async def _take(self, number: int, which: int, message: Waiting) -> str | None:
        try:
            async with self._context.step() as step:
                made = await self._keeping.choose(step, number, which)
                if made:
                    await self._made(step, made, message.ref)
                else:
                    await step.say(OVER, answers=message.ref)
                await step.close([message.id])
        except NotKept as refused:
            return str(refused)
        return None

    async def _made(self, step: Step, made: Appointment, answers: str) -> None:
        """What was understood is said back, with a way out."""
        text = texts.made(made, await self._keeping.held_until(step, made))
        await step.say(text, buttons=cancel_buttons([made], alone=True), answers=answers)

    async def _ask(self, step: Step, asked: Appointment, why: str, message: Waiting) -> None:
        await step.say(texts.asked(asked, why), buttons=choice_buttons(asked), answers=message.ref)

    async def reminders(self, argument: str, message: Waiting) -> str | None:
        """List those to come, or take one back."""
        if found := _CANCEL.fullmatch(argument):
            async with self._context.step() as step:
                gone = await self._keeping.cancel(step, int(found[1]))
                await step.say(texts.cancelled(gone, int(found[1])), answers=message.ref)
                await step.close([message.id])
            return None
        if argument:
            return WHICH_ONE
        async with self._context.step() as step:
            coming = await appointments.coming(step.tx, self._context.agent_id, most=_MOST_LISTED + 1)
            since = step.now - _MISSED_SECONDS
            missed = await appointments.missed(step.tx, self._context.agent_id, since=since)
            text = texts.listed(coming[:_MOST_LISTED], missed, more=len(coming) > _MOST_LISTED) or NOTHING
            await step.say(text, buttons=cancel_buttons(coming[:_MOST_BUTTONS]), answers=message.ref)
            await step.close([message.id])
        return None

    async def quiet(self, argument: str, message: Waiting) -> str | None:
        """When somebody wants to be left alone, or that they no longer do."""
        connector = self._context.address.connector
        if not argument:
            async with self._database.read() as tx:
                hours = await appointments.quiet(tx, connector, message.person)
            return texts.quiet(hours)
        hours = None
        if argument.lower() not in ("off", "none"):
            try:
                hours = quiet_hours(argument)
            except ValueError as error:
                return str(error)
        async with self._context.step() as step:
            await appointments.set_quiet(step.tx, connector, message.person, hours)
            await appointments.release_held(step.tx, connector, message.person)
            await step.say(texts.quiet(hours), answers=message.ref)
            await step.close([message.id])
        return None


def quiet_hours(argument: str) -> tuple[int, int]:
    """From and to, in minutes of the day. Raises ValueError with a sentence for people."""
    found = _QUIET.fullmatch(argument.strip())
    how = "Say from when to when, for example: /quiet 22-8, or /quiet 22:30-7:15. /quiet off ends it."
    if found is None:
        raise ValueError(how)
    begins, ends = (_minute(*found.group(at, at + 1, at + 2)) for at in (1, 4))
    if begins is None or ends is None or begins == ends:
        raise ValueError(how)
    return begins, ends


def _minute(hour: str, minute: str | None, half: str | None) -> int | None:
    """The minute of the day; None where there is none."""
    hours, minutes = int(hour), int(minute or 0)
    if half and half.lower() in ("am", "pm"):
        if not 1 <= hours <= _HALF_A_DAY:
            return None
        hours = hours % _HALF_A_DAY + (_HALF_A_DAY if half.lower() == "pm" else 0)
    of_day = hours * 60 + minutes
    return of_day % _A_DAY if minutes < 60 and of_day <= _A_DAY else None  # noqa: PLR2004  # minutes of an hour


def cancel_buttons(some: Sequence[Appointment], *, alone: bool = False) -> list[Button]:
    """One for each."""
    return [Button("Cancel" if alone else f"Cancel {one.number}", f"/reminders cancel {one.number}") for one in some]


def choice_buttons(asked: Appointment) -> list[Button]:
    """One for each that may be meant."""
    labels = texts.choice_labels([texts.of_choice(choice) for choice in asked.choices])
    return [Button(label, f"/remind take {asked.number} {at}") for at, label in enumerate(labels, 1)]
