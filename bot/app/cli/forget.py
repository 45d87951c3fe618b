"""`palimpsest agents forget`: a conversation, or all that one person said, is removed. The only command that does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.book import NothingFound, bus_of, opened_with_files, settings_for_looking
from bot.app.cli.process import one_line_errors, run_to_its_end
from bot.app.cli.text import json_text, line

if TYPE_CHECKING:
    from bot.app.archive.forgetting import Forgotten
    from bot.messages import AgentId
    from bot.runtime.settings import Settings

STAYS = (
    "What the assistant said itself stays, also where it repeats that person. What stands in the chats themselves, at "
    "Telegram or Discord, and in backups is not this program's to remove."
)
_SHOWN = 20


def forget(
    agent: Annotated[str | None, typer.Argument(help="The conversation's id, e.g. telegram-12345.")] = None,
    person: Annotated[str | None, typer.Option(help="Or a person: connector:id, e.g. telegram:12345.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Remove a conversation, or all that one person said anywhere, from database, files, traces and disk, for good."""
    if (agent is None) == (person is None):
        raise typer.BadParameter("name a conversation, or somebody with --person connector:id")
    who = _person(person) if person is not None else None
    with one_line_errors():
        settings, name = settings_for_looking(), (agent or "").strip()
        found = run_to_its_end(_look(settings, name, who))
        if not dry_run and found.anything:
            _ask(name or ":".join(who or ()), found, yes=yes, as_json=as_json)
        done = found if dry_run else run_to_its_end(_forget(settings, name, who))
    if as_json:
        print(json_text({"dry_run": dry_run, **done.as_json()}))
        return
    for row in said(done, would=dry_run, of=name or ":".join(who or ())):
        print(row)
    if who:
        print(STAYS)


def said(done: Forgotten, *, would: bool = False, of: str = "") -> list[str]:
    """What was removed, or would be, of this conversation or person."""
    verb = "would be removed" if would else "removed"
    rows: list[str] = []
    if done.conversations:
        rows.append(f"{verb} wholly: {_named(done.conversations)}")
    rows += [f"  {name}: {count:,}" for name, count in sorted(done.rows.items())]
    if done.shared:
        rows.append(f"{verb} in part, because others talk there too: {_named(done.shared)}")
    rows += [f"  {name}: {count:,}" for name, count in sorted(done.parts.items())]
    if done.files:
        rows.append(f"{verb}: {done.files:,} {'file' if done.files == 1 else 'files'} ({done.bytes:,} bytes)")
    if not rows:
        rows.append(f"Nothing is there of {of}. `palimpsest agents list` has the ids of conversations.")
    return rows + _unknown(done.unknown) + [line(note) for note in done.notes]


def _named(agent_ids: Sequence[AgentId]) -> str:
    more = f" and {len(agent_ids) - _SHOWN:,} more" if len(agent_ids) > _SHOWN else ""
    return f"{', '.join(agent_ids[:_SHOWN])}{more}"


def _unknown(unknown: Mapping[AgentId, int]) -> list[str]:
    if not unknown:
        return []
    names = [f"{agent_id} ({count:,})" for agent_id, count in list(unknown.items())[:_SHOWN]]
    more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
    told = (
        f"Not touched: {sum(unknown.values()):,} older messages of which it is not known who wrote them, in "
        f"{', '.join(names)}{more}. Forget such a conversation as a whole if it is to go."
    )
    return [told]


def _ask(name: str, found: Forgotten, *, yes: bool, as_json: bool) -> None:
    """Raises NothingFound when the answer is no, or nobody can be asked."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise NothingFound("Nothing was removed: add --yes to do it without being asked, or --dry-run to look first.")
    for row in said(found, would=True):
        print(row)
    if input(f"This cannot be undone. Type {name} to go on: ").strip() != name:
        raise NothingFound("That is something else: nothing was removed.")


def _person(text: str) -> tuple[str, str]:
    connector, _, name = text.strip().partition(":")
    if not connector or not name:
        raise typer.BadParameter("a person is connector:id, e.g. telegram:12345; `palimpsest agents show` names them")
    return connector, name


async def _look(settings: Settings, name: str, who: tuple[str, str] | None) -> Forgotten:
    from bot.app.archive.forgetting import Forgetting
    from bot.messages import AgentId

    async with opened_with_files(settings) as database, bus_of(settings, database) as bus:
        work = Forgetting(settings, database, bus)
        return await work.look_for_person(*who) if who else await work.look(AgentId(name))


async def _forget(settings: Settings, name: str, who: tuple[str, str] | None) -> Forgotten:
    from bot.app.archive.forgetting import Forgetting
    from bot.messages import AgentId

    async with opened_with_files(settings) as database, bus_of(settings, database) as bus:
        work = Forgetting(settings, database, bus)
        try:
            await (work.person(*who) if who else work.conversation(AgentId(name)))
        finally:
            await work.scrub()
        return work.done
