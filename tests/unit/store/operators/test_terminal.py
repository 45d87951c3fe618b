"""Where a conversation stood: what was said last, and all that was answered since."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import update

from bot.history import Entry, EntryKind, Usage
from bot.messages import Address, Audience, Inbound, Role, text_block
from bot.store import Database, agents, histories, inbox, outbox, turns
from bot.store.operators.terminal import Exchange, Used, last_exchange, used_since
from bot.store.schema import outbox as rows
from bot.store.turns import TurnState

HERE = Address("terminal", "me").agent_id


async def exchange(
    folder: Path, said: Sequence[tuple[Role, EntryKind, str, str]], *, command_at: float | None = None
) -> Exchange | None:
    """Of a conversation of these: role, kind, text and turn. ``command_at``: when a command came."""
    database = Database.in_folder(folder)
    await database.open()
    async with database.write() as tx:
        for seq, (role, kind, text, turn) in enumerate(said, 1):
            audience = Audience.MODEL if kind is EntryKind.WOKEN else Audience.EVERYONE
            blocks = (text_block(text),)
            entry = Entry(seq=seq, role=role, blocks=blocks, kind=kind, turn=turn, audience=audience)
            await histories.append(tx, HERE, [entry], now=10.0 * seq)
    if command_at:
        async with database.write() as tx:
            command = Inbound(Address("terminal", "me"), "1", "message", 1, "me", "/status")
            await inbox.add(tx, command, now=command_at)
    async with database.read() as tx:
        found = await last_exchange(tx, HERE)
    await database.close()
    return found


async def test_it_is_the_last_question_and_its_answer(data_dir: Path) -> None:
    said: list[tuple[Role, EntryKind, str, str]] = [
        ("user", EntryKind.SAID, "What is it?", "1"),
        ("assistant", EntryKind.REPLY, "A dog.", "1"),
        ("user", EntryKind.SAID, "Look again.", "2"),
        ("assistant", EntryKind.REPLY, "I look.", "2"),
        ("assistant", EntryKind.REPLY, "A wolf.", "2"),
    ]
    assert await exchange(data_dir, said) == Exchange("Look again.", "A wolf.", 50.0)


async def test_what_it_said_when_it_was_woken_stands_behind_the_answer_and_not_in_its_place(data_dir: Path) -> None:
    said: list[tuple[Role, EntryKind, str, str]] = [
        ("user", EntryKind.SAID, "Look at the oven in an hour.", "1"),
        ("assistant", EntryKind.REPLY, "I will.", "1"),
        ("user", EntryKind.WOKEN, "Appointment 1 is due", "2"),
        ("assistant", EntryKind.REPLY, "It is hot.", "2"),
    ]
    assert await exchange(data_dir, said) == Exchange("Look at the oven in an hour.", "I will.\n\nIt is hot.", 40.0)


async def test_a_command_is_a_use_of_it_too(data_dir: Path) -> None:
    said: list[tuple[Role, EntryKind, str, str]] = [
        ("user", EntryKind.SAID, "What is it?", "1"),
        ("assistant", EntryKind.REPLY, "A dog.", "1"),
    ]
    assert await exchange(data_dir, said, command_at=500.0) == Exchange("What is it?", "A dog.", 500.0)


async def test_an_answer_behind_the_last_message_is_a_use_of_it_too(data_dir: Path) -> None:
    said: list[tuple[Role, EntryKind, str, str]] = [
        ("user", EntryKind.SAID, "What is it?", "1"),
        ("assistant", EntryKind.REPLY, "A dog.", "1"),
    ]
    assert await exchange(data_dir, said, command_at=15.0) == Exchange("What is it?", "A dog.", 20.0)


async def test_where_nothing_was_answered_it_is_what_was_said_in_the_place_of_an_answer(data_dir: Path) -> None:
    database = Database.in_folder(data_dir)
    await database.open()
    entry = Entry(seq=1, role="user", blocks=(text_block("What is it?"),), kind=EntryKind.SAID, turn="1")
    async with database.write() as tx:
        await agents.ensure(tx, Address("terminal", "me"), now=1.0)
        await histories.append(tx, HERE, [entry], now=10.0)
        slot = await outbox.open_slot(tx, Address("terminal", "me"), now=10.0)
        await turns.begin(tx, "1", HERE, slot, now=10.0)
    async with database.read() as tx:
        assert await last_exchange(tx, HERE) == Exchange("What is it?", "", 10.0)
    async with database.write() as tx:
        await outbox.change(tx, slot, "⚠️ The model does not accept our key.")
        await turns.end(tx, "1", TurnState.FAILED, Usage(), now=11.0)
    async with database.read() as tx:
        assert await last_exchange(tx, HERE) == Exchange("What is it?", "", 10.0), "it is yet to be shown"
    async with database.write() as tx:
        await tx.execute(update(rows).values(delivered=rows.c.version))
    async with database.read() as tx:
        assert await last_exchange(tx, HERE) == Exchange("What is it?", "⚠️ The model does not accept our key.", 10.0)
    await database.close()


async def test_an_answer_that_was_begun_before_the_session_is_of_it_where_it_ends_in_it(data_dir: Path) -> None:
    database = Database.in_folder(data_dir)
    await database.open()
    async with database.write() as tx:
        await agents.ensure(tx, Address("terminal", "me"), now=1.0)
        for number, (begun, ended) in enumerate([(10.0, 20.0), (30.0, 60.0), (70.0, None)]):
            slot = await outbox.open_slot(tx, Address("terminal", "me"), now=begun)
            await turns.begin(tx, str(number), HERE, slot, now=begun)
            if ended:
                await turns.end(tx, str(number), TurnState.DONE, Usage(input=10, output=5), now=ended)
    async with database.read() as tx:
        used = await used_since(tx, HERE, 50.0)
    assert (used.answers, sum(used.by_model.values(), Usage())) == (1, Usage(input=10, output=5))
    async with database.read() as tx:
        assert await used_since(tx, HERE, 65.0) == Used()
    await database.close()
