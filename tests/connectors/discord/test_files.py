"""What people attach on Discord, fetched."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.errors import DeliveryDelayed, DeliveryRefused, DeliveryUncertain
from bot.messages import Attachment
from connectors.discord.files import GONE
from tests.connectors.discord.rig import Rig

CONTENT = b"0123456789" * 1000


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "notes.txt"


async def attached(rig: Rig, text: str = "see") -> Attachment:
    """Ada attaches a file."""
    async with rig.running():
        await rig.ada.says(text, files=[("notes.txt", CONTENT)])
        await rig.stored(1)
    (attachment,) = rig.intake.last.attachments
    return attachment


async def test_a_file_comes_with_its_name_kind_and_size(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    await rig.discord.fetch(attachment, target, most_bytes=100_000)

    assert (attachment.name, attachment.media_type, attachment.size) == ("notes.txt", "text/plain", len(CONTENT))
    assert target.read_bytes() == CONTENT


async def test_a_file_without_words_says_nothing(rig: Rig) -> None:
    await attached(rig, "")

    assert rig.intake.texts == [""]


async def test_a_link_that_ran_out_is_renewed(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    rig.server.expire_links()
    await rig.discord.fetch(attachment, target, most_bytes=100_000)

    assert target.read_bytes() == CONTENT


async def test_a_file_whose_message_is_gone_is_refused(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    rig.server.expire_links()
    await rig.ada.deletes(int(rig.intake.last.ref))

    with pytest.raises(DeliveryRefused, match=GONE):
        await rig.discord.fetch(attachment, target, most_bytes=100_000)


async def test_a_file_that_its_message_has_no_more_is_refused(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    rig.server.expire_links()
    rig.server.message(int(rig.intake.last.ref)).files = ()

    with pytest.raises(DeliveryRefused, match=GONE):
        await rig.discord.fetch(attachment, target, most_bytes=100_000)


async def test_no_more_is_read_than_is_allowed(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)

    with pytest.raises(DeliveryRefused, match="too large"):
        await rig.discord.fetch(attachment, target, most_bytes=len(CONTENT) - 1)
    assert target.stat().st_size < len(CONTENT)


async def test_a_connection_that_is_cut_may_be_tried_again(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    rig.server.down = True

    with pytest.raises(DeliveryUncertain):
        await rig.discord.fetch(attachment, target, most_bytes=100_000)


async def test_a_server_that_is_not_there_may_be_tried_later(rig: Rig, target: Path) -> None:
    attachment = await attached(rig)
    channel, message, file, _ = json.loads(attachment.ref)
    nowhere = Attachment(json.dumps([channel, message, file, "http://127.0.0.1:1/x"]), "x")

    with pytest.raises(DeliveryDelayed):
        await rig.discord.fetch(nowhere, target, most_bytes=100_000)
