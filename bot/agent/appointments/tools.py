"""The tools of the model: make an appointment, list those to come, take one back.

They take effect in the step that writes down their results, so exactly once; what was understood is said to people
there too, with a button that takes it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.agent.appointments import texts
from bot.agent.appointments.commands import cancel_buttons
from bot.agent.appointments.keeping import LONGEST_TEXT, Appointments, NotKept, Wanted
from bot.agent.step import Step
from bot.agent.tools.tool import Occasion, Tool, ToolError, Writing, schema
from bot.messages import AgentId
from bot.store import Database, appointments
from bot.store.appointments import Kind

REMIND, LIST, CANCEL = "remind", "appointments", "cancel"
_REMIND = (
    "Have text said at a time, once or again and again; or, with wake, be woken then with text as a note, where you "
    "have to look or think. when: 2027-01-05 14:30, tomorrow 9:00, in 20 minutes, every weekday at 9."
)
_MOST_LISTED = 50


@dataclass(frozen=True)
class Remind:
    """Makes one."""

    keeping: Appointments
    database: Database
    name: str = REMIND
    description: str = _REMIND
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: schema(["when", "text"], when="string", text="string", wake="boolean")
    )
    idempotent: bool = True
    """It has no effect but in the step that writes its result."""

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> Writing:
        """Raises ToolError where the time is not understood, with what may be meant."""
        from bot.agent.appointments.reading import reading

        when, text = arguments.get("when"), arguments.get("text")
        if not isinstance(when, str) or not isinstance(text, str) or not text.strip():
            raise ToolError(f"when and text are texts; text has {LONGEST_TEXT} characters at most.")
        asker = occasion.asker
        if asker is None:
            raise ToolError("It is not known who asked for it. Ask them to write /remind WHEN WHAT.")
        async with self.database.read() as tx:
            zone = await self.keeping.zone_of(tx, asker.person)
        now = reading.Now(asker.said_at, zone)  # it may have waited, and the model thinks for a while
        outcome = await asyncio.to_thread(reading.read, when, now)
        if isinstance(outcome, reading.Past):
            raise ToolError(texts.past(outcome.schedule))
        if isinstance(outcome, reading.Asked):
            meant = "; ".join(texts.told(one) for one in outcome.readings)
            may_be = f" It may be: {meant}. Ask the person, then say date and time." if meant else ""
            raise ToolError(f"{outcome.why}{may_be or ' Say it like 2027-01-05 14:30.'}")
        kind: Kind = "wake" if arguments.get("wake") is True else "say"
        wanted = Wanted(kind, text, asker.person, asker.speaker)

        async def write(step: Step) -> str:
            try:
                made = await self.keeping.put(step, wanted, outcome.schedule)
            except NotKept as refused:
                raise ToolError(str(refused)) from refused
            held = await self.keeping.held_until(step, made)
            await step.say(texts.made(made, held), buttons=cancel_buttons([made], alone=True))
            return f"Set, and people were told: number {made.number}, {texts.told(outcome.schedule)}."

        return Writing(write)


@dataclass(frozen=True)
class ListAppointments:
    """Lists those to come."""

    database: Database
    agent_id: AgentId
    name: str = LIST
    description: str = "What is to come: numbers, texts and times."
    parameters: Mapping[str, Any] = field(default_factory=lambda: schema([]))
    idempotent: bool = True

    async def run(self, _arguments: Mapping[str, Any], _occasion: Occasion) -> str:
        """One a line."""
        async with self.database.read() as tx:
            coming = await appointments.coming(tx, self.agent_id, most=_MOST_LISTED)
        return "\n".join(f"{one.number}. {texts.line(one)}" for one in coming) or "There are none."


@dataclass(frozen=True)
class Cancel:
    """Takes one back."""

    keeping: Appointments
    name: str = CANCEL
    description: str = "Take back an appointment."
    parameters: Mapping[str, Any] = field(default_factory=lambda: schema(["number"], number="integer"))
    idempotent: bool = True

    async def run(self, arguments: Mapping[str, Any], _occasion: Occasion) -> Writing:
        """Raises ToolError where there is none of this number."""
        number = arguments.get("number")
        if isinstance(number, bool) or not isinstance(number, int):
            raise ToolError("number is a whole number, as `appointments` lists them.")

        async def write(step: Step) -> str:
            gone = await self.keeping.cancel(step, number)
            if gone is None:
                raise ToolError(f"There is no appointment {number} to come.")
            await step.say(texts.cancelled(gone, number))
            return f"Cancelled: {gone.text}"

        return Writing(write)


def appointment_tools(keeping: Appointments, database: Database, agent_id: AgentId) -> Sequence[Tool]:
    """All three."""
    return (Remind(keeping, database), ListAppointments(database, agent_id), Cancel(keeping))
