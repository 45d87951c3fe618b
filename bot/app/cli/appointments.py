"""`palimpsest appointments`: what is to come, and what was missed. It opens the database and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.book import opened, settings_for_looking
from bot.app.cli.process import Json, one_line_errors, run_to_its_end
from bot.app.cli.text import cut, json_text, utc
from bot.errors import PalimpsestError
from bot.messages import AgentId

if TYPE_CHECKING:
    from bot.runtime.settings import Settings
    from bot.store.appointments import Appointment

app = typer.Typer(help="Reminders and other appointments of conversations.", no_args_is_help=True)
_Agent = Annotated[str, typer.Option(help="Of this conversation alone, e.g. telegram-123.")]
_MOST = 200


class NoAppointment(PalimpsestError):
    """There is none of this number to come; the text is one sentence that says what to do."""


@app.command("list")
def list_appointments(
    agent: _Agent = "",
    missed: Annotated[bool, typer.Option("--missed", help="Those that did not come.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="So many at most.")] = _MOST,
    as_json: Json = False,
) -> None:
    """Those to come, the next first."""
    with one_line_errors():
        found = run_to_its_end(_listed(settings_for_looking(), agent, limit, missed=missed))
        if as_json:
            print(json_text([_as_json(agent_id, one) for agent_id, one in found]))
            return
        for row in _table(found, missed=missed):
            print(row)


@app.command()
def cancel(
    agent: Annotated[str, typer.Argument(help="The conversation, e.g. telegram-123.")],
    number: Annotated[int, typer.Argument(help="As the list says it.")],
) -> None:
    """Take one back. Nobody is told."""
    with one_line_errors():
        one = run_to_its_end(_cancelled(settings_for_looking(), agent, number))
        print(f"{agent} {one.number} does not come: {cut(one.text)}")


async def _listed(settings: Settings, agent: str, most: int, *, missed: bool) -> list[tuple[AgentId, Appointment]]:
    from bot.store import appointments

    async with opened(settings) as database, database.read() as tx:
        look = appointments.all_missed if missed else appointments.all_coming
        return await look(tx, agent, most=most)


async def _cancelled(settings: Settings, agent: str, number: int) -> Appointment:
    from bot.store import appointments

    async with opened(settings) as database, database.write() as tx:
        one = await appointments.get(tx, AgentId(agent), number)
        if one is None or not await appointments.cancel(tx, AgentId(agent), number, now=database.clock()):
            raise NoAppointment(
                f"There is no appointment {number} to come in {agent}. `palimpsest appointments list` says which are."
            )
        return one


def _as_json(agent_id: AgentId, one: Appointment) -> dict[str, Any]:
    return {
        "agent": agent_id,
        "number": one.number,
        "state": one.state.value,
        "kind": one.kind,
        "person": f"{one.connector}:{one.person}",
        "text": one.text,
        "due": None if one.due_at is None else utc(one.due_at),
        "next": None if one.next_at is None else utc(one.next_at),
        "local": one.local,
        "zone": one.zone,
        "rule": one.rule,
        "often": one.often,
        "urgent": one.urgent,
        "said": one.said,
        "last": None if one.said_at is None else utc(one.said_at),
    }


def _table(found: list[tuple[AgentId, Appointment]], *, missed: bool) -> list[str]:
    if not found:
        return ["Nothing was missed." if missed else "Nothing is to come."]
    wide = max(len(agent_id) for agent_id, _ in found)
    return [
        f"{utc(one.due_at or 0)}  {agent_id:{wide}}  {one.number:4}  {one.kind:4}  {cut(one.text)}"
        f"{f' ({one.often}, {one.zone})' if one.often else f' ({one.zone})'}{f'  {one.state.value}' if missed else ''}"
        for agent_id, one in found
    ]
