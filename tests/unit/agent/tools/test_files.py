"""The tools read in the agent's own folder. There is no way out of it, and no file that breaks a turn."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.agent.tools.files import FILE_TOOLS
from bot.agent.tools.tool import Occasion, Tool
from bot.agent.tools.toolbox import Toolbox
from bot.files import own_folder
from bot.files.blocks import filled
from bot.messages import Message
from tests.parser import HERE

OUTSIDE = "Only files in this conversation's folder can be read."
NO_SUCH_FILE = "There is no such file"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("of somebody else")
    (tmp_path / "agent-2").mkdir()
    (tmp_path / "agent-2" / "secret.txt").write_text("of somebody else")
    own = tmp_path / "agent"
    own.mkdir()
    (own / "notes.txt").write_text("remember the milk")
    return own


async def run(folder: Path, name: str, most_characters: int = 20_000, **arguments: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "call-1", "name": name, "input": arguments}
    block = dict((await Toolbox(folder, HERE).run(call, most_characters=most_characters)).block)
    assert block["tool_use_id"] == "call-1"
    json.dumps(block, ensure_ascii=False).encode()
    return block


async def reads(folder: Path, path: Any, **arguments: Any) -> str:
    block = await run(folder, "read_file", path=path, **arguments)
    assert "is_error" not in block, block
    return str(block["content"])


async def refuses(folder: Path, path: Any, name: str = "read_file", **arguments: Any) -> str:
    block = await run(folder, name, path=path, **arguments)
    assert block["is_error"] is True
    assert "somebody else" not in block["content"]
    return str(block["content"])


@pytest.mark.parametrize("path", ["notes.txt", "./notes.txt", "sub/../notes.txt", "../agent/notes.txt"])
async def test_a_file_of_the_folder_can_be_read_however_it_is_named(folder: Path, path: str) -> None:
    (folder / "sub").mkdir()
    assert await reads(folder, path) == "remember the milk"


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "../agent-2/secret.txt", "sub/../../secret.txt", "/etc/passwd", "..", "/", "..//..//etc/passwd"],
)
@pytest.mark.parametrize("tool", ["read_file", "list_files"])
async def test_there_is_no_way_out_of_the_folder(folder: Path, path: str, tool: str) -> None:
    assert await refuses(folder, path, tool) == OUTSIDE


async def test_a_link_out_of_the_folder_leads_nowhere(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "links").symlink_to(folder.parent)
    assert await refuses(folder, "link.txt") == OUTSIDE
    assert await refuses(folder, "links/secret.txt") == OUTSIDE
    assert await refuses(folder, "links", "list_files") == OUTSIDE


async def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to("notes.txt")
    assert await reads(folder, "link.txt") == "remember the milk"


async def test_a_folder_that_is_itself_behind_a_link_can_be_read(folder: Path) -> None:
    (folder.parent / "alias").symlink_to(folder)
    assert await reads(folder.parent / "alias", "notes.txt") == "remember the milk"


async def test_links_in_a_circle_are_no_file(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    assert NO_SUCH_FILE in await refuses(folder, "a")
    assert (await run(folder, "list_files"))["content"] == "a\nb\nnotes.txt"


@pytest.mark.parametrize("path", ["notes.txt\0", "\0", "", "  ", None, 7, ["notes.txt"], {}])
async def test_what_is_no_path_is_refused_with_a_sentence(folder: Path, path: object) -> None:
    assert "Give the path" in await refuses(folder, path)


@pytest.mark.parametrize(
    "path", ["nothing.txt", "notes.txt/deeper", "\ud800", "~/notes.txt", "$HOME", "%2e%2e/secret.txt"]
)
async def test_what_is_not_there_is_not_there(folder: Path, path: str) -> None:
    assert NO_SUCH_FILE in await refuses(folder, path)


async def test_a_name_that_no_disk_takes_is_refused(folder: Path) -> None:
    assert "cannot be done" in await refuses(folder, "x" * 5_000)


async def test_a_pipe_is_no_file_and_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert NO_SUCH_FILE in await refuses(folder, "pipe")


async def test_a_folder_is_listed_and_not_read(folder: Path) -> None:
    (folder / "sub").mkdir()
    assert "use list_files" in await refuses(folder, "sub")
    assert (await run(folder, "list_files", path="sub"))["content"] == "(no files)"
    assert (await run(folder, "list_files"))["content"] == "notes.txt\nsub/"
    assert "no such folder" in await refuses(folder, "notes.txt", "list_files")


async def test_a_long_file_is_read_piece_by_piece_without_a_gap(folder: Path) -> None:
    text = "".join(f"line {number} 🙂\n" for number in range(2_000))
    (folder / "long.txt").write_text(text)
    read, offset = "", 0
    while True:
        piece, more, following = (await reads(folder, "long.txt", offset=offset)).partition("\n[More follows: read on")
        read += piece
        if not more:
            break
        offset = int(following.split()[-1].strip(".]"))
    assert read == text


async def test_a_huge_file_gives_a_small_result_at_once(folder: Path) -> None:
    with (folder / "huge.txt").open("wb") as file:
        file.write(b"line\n" * 100_000)
        file.truncate(1 << 33)  # a hole: it takes no place
    assert len(await reads(folder, "huge.txt")) < 8_100
    assert "More follows" in await reads(folder, "huge.txt", offset=100_000)
    assert "first 100,000,000 characters" in await refuses(folder, "huge.txt", offset=1 << 32)


async def test_a_piece_takes_no_more_tokens_than_a_result_may_and_the_next_begins_where_it_ended(folder: Path) -> None:
    text = "".join(chr(0x4E00 + number % 5_000) for number in range(9_000))
    (folder / "chinese.txt").write_text(text)
    first, _, note = (await reads(folder, "chinese.txt")).partition("\n[More")
    assert len(first) < 4_100
    assert note.endswith(f"offset {len(first)}.]")
    assert (await reads(folder, "chinese.txt", offset=len(first))).startswith(text[len(first) : len(first) + 100])


async def test_an_offset_behind_the_end_gives_nothing(folder: Path) -> None:
    assert await reads(folder, "notes.txt", offset=10**30) == "(empty)"
    assert await reads(folder, "notes.txt", offset=13) == "milk"


@pytest.mark.parametrize("offset", [-1, 1.5, "3", True, None])
async def test_an_offset_that_is_no_count_is_refused(folder: Path, offset: object) -> None:
    assert "whole number" in await refuses(folder, "notes.txt", offset=offset)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.zip", b"PK\x03\x04\x00\x00", "a ZIP archive"),
        ("b", b"\x7fELF\x02\x01\x00", "a program"),
        ("c.pdf", b"%PDF-1.7\n\x00", "a PDF"),
        ("d.mp3", b"\x00\x01\x02", "audio/mpeg"),
        ("e", b"\x00\x01\x02", "not known"),
    ],
)
async def test_what_is_no_text_is_told_by_its_kind_and_size(folder: Path, name: str, content: bytes, kind: str) -> None:
    (folder / name).write_bytes(content)
    told = await reads(folder, name)
    assert "Not a text" in told
    assert kind in told
    assert f"{len(content)} bytes" in told


@pytest.mark.parametrize(("encoding", "text"), [("utf-16", "Grüße 你好"), ("cp1252", "Grüße"), ("utf-8-sig", "Grüße")])
async def test_text_is_read_in_the_encodings_that_files_come_in(folder: Path, encoding: str, text: str) -> None:
    (folder / "text.txt").write_bytes(text.encode(encoding))
    assert await reads(folder, "text.txt") == text
    assert await reads(folder, "text.txt", offset=2) == text[2:]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_is_seen(folder: Path, kind: str) -> None:
    Image.new("RGB", (40, 30), "teal").save(folder / "picture", kind)
    block = await run(folder, "read_file", path="picture")
    text, image = block["content"]
    assert text["text"] == "[File: picture]"
    assert (image["source"]["width"], image["source"]["height"]) == (40, 30)
    assert (folder / image["source"]["path"]).read_bytes() == (folder / "picture").read_bytes()


async def test_a_picture_that_was_seen_stays_as_it_was_when_the_file_changes(folder: Path) -> None:
    Image.new("RGB", (40, 30), "teal").save(folder / "picture.png")
    block = await run(folder, "read_file", path="picture.png")
    (folder / "picture.png").unlink()
    (folder / "picture.png").symlink_to(folder.parent / "secret.txt")
    [message] = filled(folder, [Message(role="user", content=[block])])
    assert not isinstance(message["content"], str)
    image = message["content"][0]["content"][1]
    assert image["source"]["type"] == "base64"
    assert base64.b64decode(image["source"]["data"]).startswith(b"\x89PNG")


async def test_a_broken_picture_is_an_error_for_the_model(folder: Path) -> None:
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    assert "cannot be shown" in await refuses(folder, "picture.png")


async def test_a_link_that_is_put_in_the_way_after_the_look_is_not_followed(folder: Path) -> None:
    found = own_folder.inside(folder, "notes.txt")
    (folder / "notes.txt").unlink()
    (folder / "notes.txt").symlink_to(folder.parent / "secret.txt")
    with pytest.raises(own_folder.Refused, match="link"), own_folder.opened(folder, found):
        pytest.fail("it was opened")


async def test_a_folder_that_becomes_a_link_after_the_look_is_not_entered(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "secret.txt").write_text("of our own")
    found = own_folder.inside(folder, "sub/secret.txt")
    (folder / "sub").rename(folder / "gone")
    (folder / "sub").symlink_to(folder.parent)
    with pytest.raises(own_folder.Refused), own_folder.opened(folder, found):
        pytest.fail("it was opened")


@pytest.mark.parametrize("text", ["", "\n \t\n"])
async def test_a_file_of_nothing_is_said_to_be_empty_since_no_provider_takes_blank_text(
    folder: Path, text: str
) -> None:
    (folder / "blank.txt").write_text(text)
    assert await reads(folder, "blank.txt") == "(empty)"


async def test_names_that_are_no_text_are_listed_as_text(folder: Path) -> None:
    try:
        (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt"))).touch()
    except OSError:
        pytest.skip("this disk takes no such name")
    assert (await run(folder, "list_files"))["content"] == "?.txt\nnotes.txt"


async def test_of_many_files_some_are_listed(folder: Path) -> None:
    for number in range(250):
        (folder / f"{number:03}").touch()
    lines = (await run(folder, "list_files"))["content"].splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("000", "[and 51 more]", 201)


async def test_a_result_is_cut_to_what_the_turn_allows(folder: Path) -> None:
    (folder / "long.txt").write_text("a" * 100 + "b" * 100)
    block = await run(folder, "read_file", most_characters=180, path="long.txt")
    assert block["content"] == "a" * 100 + "\n[More follows: read on from offset 100.]"


async def test_an_unknown_tool_is_an_error_for_the_model(folder: Path) -> None:
    block = await run(folder, "rm", path="notes.txt")
    assert block["content"] == "There is no tool 'rm'."
    assert block["is_error"]


async def test_arguments_that_are_no_object_are_as_good_as_none(folder: Path) -> None:
    box = Toolbox(folder, HERE)
    block = (await box.run({"type": "tool_use", "id": "1", "name": "list_files", "input": "notes.txt"})).block
    assert block["content"] == "notes.txt"


@dataclass(frozen=True)
class Broken:
    """A tool whose disk fails."""

    name: str = "broken"
    description: str = "Fails."
    parameters: Mapping[str, Any] = field(default_factory=dict)
    idempotent: bool = False

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        raise PermissionError(13, "Permission denied")


async def test_a_disk_that_fails_is_an_error_for_the_model(folder: Path) -> None:
    box = Toolbox(folder, HERE, [Broken()])
    block = (await box.run({"type": "tool_use", "id": "1", "name": "broken", "input": {}})).block
    assert (block["content"], block["is_error"]) == ("That cannot be done: Permission denied", True)


def test_only_idempotent_tools_that_exist_may_run_again(folder: Path) -> None:
    def may_run_again(name: str, *tools: Tool, **arguments: Any) -> bool:
        call = {"type": "tool_use", "id": "1", "name": name, "input": arguments}
        return Toolbox(folder, HERE, tools or FILE_TOOLS).may_run_again(call)

    assert may_run_again("read_file", path="a")
    assert may_run_again("write_file", path="a", content="b")
    assert not may_run_again("write_file", path="a", content="b", append=True)
    assert not may_run_again("broken", Broken())
    assert not may_run_again("gone")


def test_the_definitions_are_as_the_api_takes_them(folder: Path) -> None:
    definitions = Toolbox(folder, HERE).definitions
    assert [definition["name"] for definition in definitions] == [tool.name for tool in FILE_TOOLS]
    assert all(definition["input_schema"]["type"] == "object" for definition in definitions)


async def test_a_file_of_the_folder_is_sent_with_its_caption(folder: Path) -> None:
    call = {"type": "tool_use", "id": "1", "name": "send_file", "input": {"path": "notes.txt", "caption": " Here. "}}
    done = await Toolbox(folder, HERE).run(call)
    assert done.sending
    assert (done.sending.file.name, done.sending.caption) == ("notes.txt", "Here.")
    assert (folder / done.sending.file.path).read_text() == "remember the milk"
    assert "is_error" not in done.block


async def test_what_is_sent_is_what_the_file_was_whatever_it_becomes(folder: Path) -> None:
    done = await Toolbox(folder, HERE).run(
        {"type": "tool_use", "id": "1", "name": "send_file", "input": {"path": "notes.txt"}}
    )
    (folder / "notes.txt").unlink()
    (folder / "notes.txt").symlink_to(folder.parent / "secret.txt")
    assert done.sending
    assert (folder / done.sending.file.path).read_text() == "remember the milk"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "gone.txt", ".", "empty.txt", 7])
async def test_what_cannot_be_sent_is_an_error_for_the_model_and_goes_nowhere(folder: Path, path: Any) -> None:
    (folder / "empty.txt").touch()
    done = await Toolbox(folder, HERE).run(
        {"type": "tool_use", "id": "1", "name": "send_file", "input": {"path": path}}
    )
    assert done.block["is_error"]
    assert done.sending is None
