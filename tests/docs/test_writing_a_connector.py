"""The connector that docs/writing-a-connector.md shows is one, and the page's own tests of it pass."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bot.connector import Connector
from bot.errors import ChatClosed, ConfigurationError, DeliveryDelayed, DeliveryRefused
from bot.messages import Address, Attachment, Button, Edit, Inbound, OutFile, Say, Typing
from connectors.memory import MemoryIntake
from tests.docs.pages import DOCS, code_named
from tests.until import until

PAGE = DOCS / "writing-a-connector.md"
CONNECTOR = "connectors/mailbox.py"
MAY_KNOW = frozenset({"bot.messages", "bot.connector", "bot.errors"})
HERE = Address("mailbox", "Ада 🙂")


def loaded(name: str, code: str) -> ModuleType:
    """A block of the page as a module of this name."""
    module = sys.modules[name] = ModuleType(name)
    exec(compile(code, f"{PAGE.name}: {name}", "exec"), module.__dict__)
    return module


Mailbox: Any = loaded("connectors.mailbox", code_named(PAGE, CONNECTOR)).Mailbox
on_the_page = loaded("test_mailbox", code_named(PAGE, "test_mailbox.py"))
put = on_the_page.put

test_a_letter_stays = on_the_page.test_a_letter_stays_where_it_is_until_it_is_stored
test_a_letter_is_found = on_the_page.test_after_a_crash_a_letter_that_was_written_is_found
test_a_letter_is_answered_once = on_the_page.test_what_is_put_there_is_answered_once_however_often_it_is_brought


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A mailbox with a folder for one person."""
    (tmp_path / HERE.chat / "in").mkdir(parents=True)
    return tmp_path


def letters(root: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (root / HERE.chat / "out").iterdir()}


async def brought(root: Path, count: int, *, put_away: bool = False) -> list[Inbound]:
    """What the connector stores, when it has stored so many; with ``put_away``, and put away the attachments."""
    intake = MemoryIntake()
    receiving = asyncio.create_task(Mailbox(root, look_every=0.01).run(intake))
    await until(lambda: len(intake.inbounds) >= count)
    if put_away:
        refs = [attachment.ref for inbound in intake.inbounds for attachment in inbound.attachments]
        await until(lambda: all((root / ref).exists() for ref in refs))
    receiving.cancel()
    return intake.inbounds


def test_the_tests_above_are_all_that_the_page_shows() -> None:
    shown = {name for name in vars(on_the_page) if name.startswith("test_")}
    run = {test_a_letter_stays, test_a_letter_is_found, test_a_letter_is_answered_once}
    assert shown == {test.__name__ for test in run}


def test_it_is_a_connector_and_imports_nothing_that_a_connector_may_not() -> None:
    connector: Connector = Mailbox(Path())
    assert connector.name == "mailbox"
    imports = [node for node in ast.walk(ast.parse(code_named(PAGE, CONNECTOR))) if isinstance(node, ast.ImportFrom)]
    ours = {
        node.module for node in imports if (node.module or "").partition(".")[0] in ("bot", "workers", "connectors")
    }
    assert ours == MAY_KNOW


async def test_each_letter_has_a_key_of_its_own_and_stands_in_the_order_in_which_it_was_put_there(root: Path) -> None:
    for at, name in enumerate(("b.txt", "a.txt", "ö&<b>.txt")):
        put(root, name, f"  第{at} שלום\n", HERE.chat)
        os.utime(root / HERE.chat / "in" / name, ns=(at + 1, at + 1))
    inbounds = await brought(root, 3)
    assert [inbound.text for inbound in inbounds] == ["第0 שלום", "第1 שלום", "第2 שלום"]
    assert [inbound.order for inbound in inbounds] == [1, 2, 3]
    assert len({inbound.key for inbound in inbounds}) == 3
    assert {inbound.address for inbound in inbounds} == {HERE}


async def test_what_is_not_complete_and_what_points_elsewhere_is_not_read(root: Path) -> None:
    (root / HERE.chat / "in" / ".half.txt").write_text("not yet")
    (root / HERE.chat / "in" / "link.txt").symlink_to(__file__)
    put(root, "last.txt", "Hello", HERE.chat)
    assert [inbound.text for inbound in await brought(root, 1)] == ["Hello"]


async def test_a_file_that_is_no_text_or_is_very_long_comes_as_an_attachment_and_is_fetched(root: Path) -> None:
    put(root, "long.txt", "x" * 64_001, HERE.chat)
    (inbound,) = await brought(root, 1, put_away=True)
    (attachment,) = inbound.attachments
    assert (inbound.text, attachment.name, attachment.size) == ("", "long.txt", 64_001)
    mailbox, target = Mailbox(root), root / "target"
    await mailbox.fetch(attachment, target, most_bytes=64_001)
    assert target.stat().st_size == 64_001
    with pytest.raises(DeliveryRefused, match="larger than 64,000 bytes"):
        await mailbox.fetch(attachment, target, most_bytes=64_000)
    with pytest.raises(DeliveryDelayed):
        await mailbox.fetch(Attachment("gone", "gone"), target, most_bytes=1)


async def test_a_message_is_one_letter_that_is_written_anew_when_it_changes(root: Path) -> None:
    mailbox = Mailbox(root)
    assert await mailbox.deliver(Typing(HERE)) == ()
    assert await mailbox.deliver(Say(HERE, "Hel", token="7", partial=True)) == ()
    refs = await mailbox.deliver(Say(HERE, "Hello", token="7"))
    assert letters(root) == {"7.txt": "Hello\n"}
    assert await mailbox.deliver(Edit(HERE, refs, "Half", token="7", partial=True)) == refs
    assert await mailbox.deliver(Edit(HERE, refs, "Hello!", token="7", buttons=(Button("Undo", "/undo"),))) == refs
    assert letters(root) == {"7.txt": "Hello!\n[Undo: /undo]\n"}


async def test_a_file_is_sent_beside_its_letter_and_one_that_is_gone_is_given_up(root: Path) -> None:
    (root / "cat.png").write_bytes(b"cat")
    await Mailbox(root).deliver(Say(HERE, "A cat", token="8", file=OutFile(str(root / "cat.png"), "cat.png")))
    assert letters(root) == {"8-cat.png": "cat", "8.txt": "A cat\n[8-cat.png]\n"}
    with pytest.raises(DeliveryRefused, match="is gone"):
        await Mailbox(root).deliver(Say(HERE, "", token="9", file=OutFile(str(root / "no.png"), "no.png")))


async def test_a_person_without_a_folder_is_a_closed_chat_and_a_broken_disk_is_waited_for(root: Path) -> None:
    with pytest.raises(ChatClosed):
        await Mailbox(root).deliver(Say(Address("mailbox", "nobody"), "Hello", token="7"))
    (root / HERE.chat / "out").write_text("a file in its place")
    with pytest.raises(DeliveryDelayed):
        await Mailbox(root).deliver(Say(HERE, "Hello", token="7"))


async def test_a_mailbox_that_there_is_not_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"MAILBOX=.*none is no folder: make it"):
        await Mailbox(tmp_path / "none").run(MemoryIntake())
