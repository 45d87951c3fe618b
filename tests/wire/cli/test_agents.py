"""`palimpsest agents`: what is known of conversations, and what is done with one as a whole."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from sqlalchemy import update

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.standing_rules import Rule, RuleState
from bot.estimate.meter import MeterRecord, Part
from bot.messages import Address, Inbound
from bot.store import Database, agents, facts, histories, inbox, people, standing_rules, volume
from bot.store.schema import entries
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.unit.entries import said
from tests.unit.one_run import meter_json
from tests.wire.command_line import ADA, BOB, NOON, CommandLine, ran, talked
from tests.wire.program import Programs
from tests.wire.talk import Talk

NAME = "Bob \x1b[31m<b>鲍勃</b> \u202egnp"


@pytest.fixture
async def palimpsest(tmp_path: Path) -> AsyncIterator[CommandLine]:
    """Two conversations, one with a file; Bob is nearly full."""
    data = tmp_path / "data"
    database = Database.in_folder(data)
    await database.open()
    await talked(database, ADA, "hello", "there", at=NOON - 60)
    await ran(database, "aaaa1111", ADA)
    await talked(database, BOB, "bonjour", at=NOON)
    async with database.write() as tx:
        await inbox.add(tx, Inbound(BOB, "message:1002:7", "message", 7, "1002", "hi", NAME), now=NOON)
        meter = MeterRecord(900, 1_000, share=0.9, source="usage", level="critical", parts=(Part("x", 900),))
        await agents.remember(tx, BOB.agent_id, meter=meter)
    (data / "agents" / "telegram-1001" / "files").mkdir(parents=True)
    (data / "agents" / "telegram-1001" / "files" / "a.txt").write_text("content of a")
    (data / "agents" / "telegram-1001" / "latest").symlink_to("files/a.txt")
    (data / "agents" / "telegram-1001" / "outside").symlink_to("/etc/passwd")
    yield CommandLine(data, database, {"DATA_DIR": str(data)})
    await database.close()


async def test_the_list_is_sorted_and_searched_and_harmless_in_a_terminal(palimpsest: CommandLine) -> None:
    listed = await palimpsest("agents", "list", "--order", "fill")
    assert [line.split()[0] for line in listed.lines] == ["agent", "telegram-1002", "telegram-1001"]
    assert "90%" in listed.lines[1]
    assert "<b>鲍勃</b>" in listed.lines[1]
    assert not {"\x1b", "\u202e"} & set(listed.out)
    found = (await palimpsest("agents", "list", "--like", "鲍勃", "--json")).json
    assert [(one["agent"], one["people"], one["waiting"]) for one in found] == [("telegram-1002", [NAME], 1)]
    assert (await palimpsest("agents", "list", "--like", "nobody")).lines == ["There is no such conversation."]
    assert (await palimpsest("agents", "list", "--order", "moon")).code == 2


async def test_one_conversation_is_shown_with_its_parts_layers_and_files(palimpsest: CommandLine) -> None:
    shown = (await palimpsest("agents", "show", "telegram-1001", "--json")).json
    assert (shown["entries"], shown["compactions"], shown["files"]["count"], shown["meter"]) == (2, 1, 1, None)
    page = await palimpsest("agents", "show", "telegram-1002")
    assert ["persons", "telegram:1002"] in [line.split() for line in page.lines]
    assert "900 of 1,000 tokens (90%, critical, from usage)" in page.out
    missing = await palimpsest("agents", "show", "telegram-1")
    assert (missing.code, missing.out) == (1, "")
    assert "There is no conversation telegram-1." in missing.err


async def test_what_was_considered_for_memory_is_shown_with_its_reason(palimpsest: CommandLine) -> None:
    database = Database.in_folder(palimpsest.data)
    await database.open()
    async with database.write() as tx:
        found = candidates_of([said(1, "My locker code is QX-5512, of ./2024/7/19.")])
        await facts.add_candidates(tx, BOB.agent_id, found, now=NOON)
    await database.close()
    shown = (await palimpsest("agents", "show", "telegram-1002", "--json")).json["candidates"]
    assert {"decision": "rejected", "reason": "date_like", "kind": "path", "text": "./2024/7/19", "entry": 1,
            "speaker": "person"} in shown  # fmt: skip
    page = await palimpsest("agents", "show", "telegram-1002")
    assert "rejected date_like, path of entry 1: ./2024/7/19" in page.out


async def test_pinned_rules_are_shown_with_who_pinned_them(palimpsest: CommandLine) -> None:
    database = Database.in_folder(palimpsest.data)
    await database.open()
    rule = Rule(2, "Never call\nbefore ten.", RuleState.PINNED, "7", pinned_by="7", pinned_name=NAME, pinned_at=NOON)
    async with database.write() as tx:
        await standing_rules.put(tx, BOB.agent_id, [Rule(1, "Found."), rule])
    await database.close()
    (shown,) = (await palimpsest("agents", "show", "telegram-1002", "--json")).json["rules"]
    assert (shown["number"], shown["text"], shown["said_by"], shown["entry"]) == (2, rule.text, "7", None)
    page = await palimpsest("agents", "show", "telegram-1002")
    assert "Never call" in page.out
    assert "Found." not in page.out
    assert not {"\x1b", "\u202e"} & set(page.out)


async def test_a_conversation_is_exported_forgotten_and_imported(palimpsest: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "ada.zip"
    exported = await palimpsest("agents", "export", "telegram-1001", "--out", str(file))
    assert "2 entries, 1 compactions, 1 files (12 bytes)" in exported.out
    assert "left out: outside (a link out of the folder)" in exported.out
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    assert "is there already" in (await palimpsest("agents", "export", "telegram-1001", "--out", str(file))).err

    refused = await palimpsest("agents", "import", str(file))
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "already" in refused.err

    unasked = await palimpsest("agents", "forget", "telegram-1001")
    assert (unasked.code, "add --yes" in unasked.err) == (1, True)
    would = (await palimpsest("agents", "forget", "telegram-1001", "--dry-run", "--json")).json
    assert (would["rows"]["entries"], would["files"]) == (2, 1)
    done = (await palimpsest("agents", "forget", "telegram-1001", "--yes", "--json")).json
    assert (done["conversations"], done["rows"]["entries"], done["files"]) == (["telegram-1001"], 2, 1)
    assert done["rows"] == would["rows"]
    assert not (palimpsest.data / "agents" / "telegram-1001").exists()
    again = await palimpsest("agents", "forget", "telegram-1001", "--yes")
    assert again.lines[0].startswith("Nothing is there of telegram-1001.")

    back = await palimpsest("agents", "import", str(file))
    assert back.lines == ["telegram-1001 is back: 2 entries, 1 compactions, 1 files (12 bytes)."]
    folder = palimpsest.data / "agents" / "telegram-1001"
    assert (folder / "latest").read_text() == "content of a"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["telegram-1001"]


async def test_forgetting_a_person_says_what_is_not_known_to_be_theirs(palimpsest: CommandLine) -> None:
    async with palimpsest.database.write() as tx:
        await people.ask(tx, BOB, "1002", NAME, code="ABCD-EFGH", expires_at=NOON + 9e9, now=NOON)
    await talked(palimpsest.database, Address("telegram", "-77"), "by nobody knows whom")
    async with palimpsest.database.write() as tx:
        await tx.execute(update(entries).where(entries.c.agent_id == "telegram--77").values(person=""))
    answer = await palimpsest("agents", "forget", "--person", "telegram:1002", "--yes", "--json")
    assert answer.json["conversations"] == ["telegram-1002"]
    assert answer.json["parts"] == {"pairing": 1}
    assert answer.json["unknown"] == {"telegram--77": 1}
    for words in (("--person", "1002"), (), ("telegram-1", "--person", "telegram:1")):
        assert (await palimpsest("agents", "forget", *words)).code == 2


async def test_a_conversation_is_forgotten_beside_a_program_that_runs_and_one_that_does_not(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    """Its every word is searched for in every file below DATA_DIR, Valkey's log among them."""
    programs, data = telegram_programs, telegram_programs.data
    running = await programs.serve(AGENTS__COMPACT_AHEAD="false")
    call = CommandLine(data, Database.in_folder(data), {**programs.book, "DATA_DIR": str(data)})
    ada, bob, file = Talk(telegram, model, 5551001), Talk(telegram, model, 5551002), str(data.with_name("ada.zip"))
    await ada.asks("My word is quokka-said.")
    await ada.says_much(1_500, 2)
    await ada.told("/compact quokka-focus", "🗜")
    await ada.reads("🗜 Compacted: ")
    await bob.asks("My word is wombat-said.")
    assert (await call("agents", "export", ada.agent_id, "--out", file)).code == 0
    for name in ("quokka-said", "quokka-focus", ada.name, ada.agent_id):
        assert programs.book or holds(programs, name), name

    assert (await call("agents", "forget", ada.agent_id, "--yes")).lines[0] == f"removed wholly: {ada.agent_id}"
    for name in ("quokka-", ada.name, ada.agent_id):
        assert not holds(programs, name), name
    assert programs.book or holds(programs, "wombat-said")
    await ada.asks("Good morning.")
    assert "quokka" not in model.requests[-1].request.all_text

    assert (await call("agents", "forget", ada.agent_id, "--yes")).code == 0
    assert (await call("agents", "import", file)).code == 0
    await ada.asks("What is my word?")
    assert "quokka-said" in model.requests[-1].request.all_text

    assert await running.stop() == 0
    gone = await call("agents", "forget", "--person", f"telegram:{ada.number}", "--yes")
    assert gone.lines[0] == f"removed wholly: {ada.agent_id}"
    for name in ("quokka-", "Good morning", ada.name, ada.agent_id):
        assert not holds(programs, name), name


def holds(programs: Programs, words: str) -> list[str]:
    """The files below DATA_DIR with these words in them."""
    return [
        str(path)
        for path in programs.data.rglob("*")
        if words in str(path) or (path.is_file() and words.encode() in path.read_bytes())
    ]


async def test_with_the_folders_of_another_database_nothing_is_removed(
    palimpsest: CommandLine, postgres_database: str, tmp_path: Path
) -> None:
    """With PostgreSQL the files lie elsewhere than the rows, perhaps on a host where they are not mounted."""
    database = Database(postgres_database)
    await database.open()
    await talked(database, ADA, "hello")
    await volume.settle(database, tmp_path / "their volume")
    command = replace(palimpsest, environment={**palimpsest.environment, "DATABASE_URL": postgres_database})
    for words in ("forget telegram-1001 --yes", "export telegram-1001 --out -", "forget --person telegram:1001 --yes"):
        refused = await command("agents", *words.split())
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert "is not the volume of this database" in refused.err
    async with database.read() as tx:
        assert await histories.last_seq(tx, ADA.agent_id) == 1
    await database.close()


Change = Callable[[dict[str, bytes]], object]


def forged(data: bytes, change: Change) -> bytes:
    """The same archive with other parts."""
    with ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def manifest(**changes: Any) -> Change:
    def change(parts: dict[str, bytes]) -> None:
        parts["manifest.json"] = json.dumps({**json.loads(parts["manifest.json"]), **changes}).encode()

    return change


def row(table: str, **changes: Any) -> Change:
    """The first row of a table, changed."""

    def change(parts: dict[str, bytes]) -> None:
        first, *others = parts[f"tables/{table}.jsonl"].splitlines()
        parts[f"tables/{table}.jsonl"] = b"\n".join([json.dumps({**json.loads(first), **changes}).encode(), *others])

    return change


def a_file(name: str, content: bytes = b"x") -> Change:
    return lambda parts: parts.update({f"files/{name}": content})


OUTSIDE = [{"type": "image", "source": {"type": "folder", "path": "../telegram-1002/x.png", "media_type": "image/png"}}]
FORGERIES: Mapping[str, Change] = {
    "a path upwards": a_file("../../evil"),
    "an absolute path": a_file("/etc/evil"),
    "a path of Windows": a_file("..\\evil"),
    "a part of nothing": lambda parts: parts.update({"evil.txt": b"x"}),
    "the terminal's lock": a_file(".terminal.lock"),
    "a file below a file": a_file("files/a.txt/b"),
    "a link out": manifest(links={"way": "../telegram-1002"}),
    "a link upwards behind a link": manifest(links={"here": "files", "way": "here/../../telegram-1002"}),
    "a file below a link": lambda parts: [manifest(links={"way": "files"})(parts), a_file("way/b")(parts)],
    "a name that is too long": a_file("n" * 300),
    "a bomb": a_file("bomb", bytes(6_000_000)),
    "another conversation's name": manifest(agent="telegram-1002"),
    "an id that is a path": manifest(agent="../../evil", address={"connector": "..", "chat": "evil", "thread": ""}),
    "a newer format": manifest(version=2),
    "a newer schema": manifest(schema="9999"),
    "an older schema": manifest(schema="0007"),
    "no manifest of ours": manifest(format="something"),
    "rows that are missing": manifest(tables={}),
    "fewer rows than it says": lambda parts: parts.update({"tables/entries.jsonl": b""}),
    "another conversation's row": row("entries", agent_id="telegram-1002"),
    "a column too many": row("entries", evil=1),
    "a number that is none": row("entries", seq="1"),
    "a number that is too large": row("entries", seq=2**40),
    "a role that is none": row("entries", role="system"),
    "a block that is none": row("entries", blocks=["text"]),
    "a file of somebody else's": row("entries", blocks=OUTSIDE),
    "half a character": row("agents", strategy="\ud800"),
    "no text": row("agents", strategy="\0"),
    "messages that are no number": row("compactions", meter_before=meter_json(900) | {"messages": "many"}),
    "a run that cannot be read": row("compactions", plan={"strategy": 1}),
    "no JSON": lambda parts: parts.update({"tables/turns.jsonl": b"{\n"}),
    "JSON that is too deep": lambda parts: parts.update({"tables/turns.jsonl": b"[" * 100_000}),
    "two rows of one key": row("entries", seq=2),
}  # fmt: skip


async def test_a_forged_archive_is_refused_in_one_line_and_nothing_of_it_is_written(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "ada.zip"
    await palimpsest("agents", "export", "telegram-1001", "--out", str(file))
    await palimpsest("agents", "forget", "telegram-1001", "--yes")
    whole = file.read_bytes()
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for name, change in FORGERIES.items():
        file.write_bytes(forged(whole, change))
        answer = await palimpsest("agents", "import", str(file), "--most-bytes", "5000000")
        assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1), (name, answer)
        assert sorted(str(path) for path in tmp_path.rglob("*")) == before, name
    assert [one["agent"] for one in (await palimpsest("agents", "list", "--json")).json] == ["telegram-1002"]
    assert (await palimpsest("agents", "import", str(tmp_path / "none.zip"))).code == 1
    file.write_bytes(b"no archive")
    assert "no archive of this program" in (await palimpsest("agents", "import", str(file))).err
