"""`palimpsest parked`: messages that broke the program, and were put aside. It opens the database and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.book import opened, settings_for_looking
from bot.app.cli.pair import ring
from bot.app.cli.process import Json, one_line_errors, run_to_its_end
from bot.app.cli.text import cut, json_text, line, printable, utc
from bot.bus import topics
from bot.errors import PalimpsestError

if TYPE_CHECKING:
    from bot.runtime.settings import Settings
    from bot.store.operators.parked import Parked

app = typer.Typer(help="Messages that broke the program, and were put aside.", no_args_is_help=True)
_Id = Annotated[str, typer.Argument(help="As the list names it, e.g. 17 or u3.")]


class NothingParked(PalimpsestError):
    """Nothing of this name is parked; the text is one sentence that says what to do."""


@app.command("list")
def list_parked(as_json: Json = False) -> None:
    """What was put aside, oldest first."""
    with one_line_errors():
        found = run_to_its_end(_listed(settings_for_looking()))
        if as_json:
            print(json_text([_as_json(one) for one in found]))
            return
        for row in _table(found):
            print(row)


@app.command()
def show(id: _Id, as_json: Json = False) -> None:  # noqa: A002  # as it is called in the help
    """All that is known of one of them, with what was said."""
    with one_line_errors():
        one = run_to_its_end(_shown(settings_for_looking(), id.strip()))
        if as_json:
            print(json_text(_as_json(one)))
            return
        for name, value in _as_json(one).items():
            if name not in ("text", "files") and value:
                print(f"{name:12}  {line(str(value))}")
        for file in one.files:
            print(f"{'file':12}  {line(file)}")
        print()
        print(printable(one.text))


@app.command()
def retry(id: _Id) -> None:  # noqa: A002  # as it is called in the help
    """Let it be answered once more, as if it had just come."""
    with one_line_errors():
        one = run_to_its_end(_retry(settings_for_looking(), id.strip()))
        print(f"{one.id} waits in {one.agent_id} to be answered again.")


async def _listed(settings: Settings) -> list[Parked]:
    from bot.store.operators import parked

    async with opened(settings) as database, database.read() as tx:
        return await parked.listed(tx)


async def _shown(settings: Settings, name: str) -> Parked:
    from bot.store.operators import parked

    async with opened(settings) as database, database.read() as tx:
        return _found(await parked.get(tx, name), name)


async def _retry(settings: Settings, name: str) -> Parked:
    from bot.store.operators import parked

    async with opened(settings) as database:
        try:
            async with database.write() as tx:
                one = _found(await parked.retry(tx, name, now=database.clock()), name)
        except PalimpsestError:
            raise
        except Exception as error:
            raise NothingParked(f"{name} still cannot be stored ({type(error).__name__}): it stays aside.") from error
        await ring(settings, database, topics.inbox(one.agent_id))
        return one


def _found(one: Parked | None, name: str) -> Parked:
    if one is None:
        raise NothingParked(f"Nothing that is called {name} is parked. `palimpsest parked list` says what is.")
    return one


def _as_json(one: Parked) -> dict[str, Any]:
    return {
        "id": one.id,
        "agent": one.agent_id,
        "parked": utc(one.parked_at),
        "received": None if one.received_at is None else utc(one.received_at),
        "person": f"{one.connector}:{one.person}",
        "name": one.person_name,
        "kind": one.kind,
        "key": one.key,
        "turn": one.turn,
        "reason": one.reason,
        "text": one.text,
        "files": list(one.files),
    }


def _table(found: list[Parked]) -> list[str]:
    if not found:
        return ["Nothing is parked."]
    wide, agents = max(len(one.id) for one in found), max(len(one.agent_id) for one in found)
    return [
        f"{one.id:{wide}}  {utc(one.parked_at)}  {one.agent_id:{agents}}  {cut(one.text)}  ({cut(one.reason)})"
        for one in found
    ]
