"""The web's connector: what is in the book has arrived, and what was uploaded gets its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.platforms import platforms
from bot.errors import DeliveryRefused
from bot.messages import Address, Attachment, Edit, Say, Typing
from bot.runtime.access import OPERATOR, Access
from bot.runtime.settings import Settings
from connectors.web import Web

HERE = Address("web", "work")


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    (tmp_path / "agents" / "web-work" / ".uploads").mkdir(parents=True)
    (tmp_path / "agents" / "web-work" / "files").mkdir()
    (tmp_path / "secret").write_text("nobody's")
    return tmp_path / "agents"


async def test_a_message_of_the_book_is_there_at_once_and_is_found_after_a_crash() -> None:
    web = Web(Path())
    said = Say(HERE, "hello", "7")
    assert await web.deliver(said) == ("7",)
    assert await web.deliver(Edit(HERE, ("7",), "hello again", "7")) == ("7",)
    assert await web.deliver(Typing(HERE)) == ()
    assert await web.find(said, None, frozenset()) == ("7",)
    assert web.drafts(HERE)
    assert await web.deliver(Say(HERE, "hel", "7", partial=True)) == ()


async def test_an_upload_gets_its_place_also_when_that_was_cut_off_before(agents: Path) -> None:
    (agents / "web-work" / ".uploads" / "ab12").write_bytes(b"content")
    target = agents / "web-work" / "files" / "notes.txt"
    for _ in range(2):
        target.touch()
        await Web(agents).fetch(Attachment("web-work/.uploads/ab12", "notes.txt"), target, most_bytes=7)
        assert target.read_bytes() == b"content"
    assert [path.name for path in target.parent.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("ref", ["web-work/.uploads/gone", "../secret", "web-work/../../secret", "web-work/.uploads"])
async def test_nothing_but_an_upload_is_taken(agents: Path, ref: str) -> None:
    target = agents / "web-work" / "files" / "notes.txt"
    with pytest.raises(DeliveryRefused, match="send it again"):
        await Web(agents).fetch(Attachment(ref, "notes.txt"), target, most_bytes=100)
    assert not target.exists()


async def test_an_upload_that_is_larger_than_allowed_is_refused(agents: Path) -> None:
    (agents / "web-work" / ".uploads" / "ab12").write_bytes(b"content")
    target = agents / "web-work" / "files" / "notes.txt"
    with pytest.raises(DeliveryRefused, match="too large"):
        await Web(agents).fetch(Attachment("web-work/.uploads/ab12", "notes.txt"), target, most_bytes=6)


@pytest.mark.parametrize("mode", ["pairing", "allowlist", "open"])
def test_whoever_got_through_the_pages_door_is_let_in_and_may_let_others_in(mode: str) -> None:
    access = Access(mode, frozenset())  # type: ignore[arg-type]  # one of them
    assert access.may_talk(HERE, OPERATOR)
    assert access.is_admin(HERE, OPERATOR)
    assert not access.is_admin(Address("telegram", "1"), OPERATOR)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["web"]),
        ({"page": {"local": False}}, []),
        ({"http_bind": "0.0.0.0:8080"}, []),
        ({"http_bind": "0.0.0.0:8080", "page": {"password": "long enough to be one"}}, ["web"]),
    ],
)
def test_the_web_is_a_platform_while_the_page_has_a_door(changes: dict[str, object], expected: list[str]) -> None:
    settings = Settings(_env_file=None, **changes)  # type: ignore[arg-type]  # pydantic checks them
    assert [connector.name for connector in platforms(settings)] == expected
