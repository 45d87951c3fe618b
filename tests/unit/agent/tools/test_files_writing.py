"""Writing in the agent's own folder: all of a file or nothing, and never anywhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bot.agent.tools.files import file_tools
from bot.agent.tools.toolbox import Toolbox
from bot.files.own_folder import OWNED_FOLDERS
from tests.parser import HERE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("of somebody else")
    own = tmp_path / "agent"
    own.mkdir()
    return own


async def writes(
    folder: Path, path: Any, content: Any = "text", *, most: int = 1_000, full: int = 5_000, **more: Any
) -> str:
    block = await written(folder, path, content, most=most, full=full, **more)
    assert "is_error" not in block, block
    return str(block["content"])


async def refuses(folder: Path, path: Any, content: Any = "text", **more: Any) -> str:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    block = await written(folder, path, content, **more)
    assert block["is_error"], block
    after = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    assert after == before
    return str(block["content"])


async def written(
    folder: Path, path: Any, content: Any, *, most: int = 1_000, full: int = 5_000, **more: Any
) -> dict[str, Any]:
    arguments = {"path": path, "content": content, **more}
    call = {"type": "tool_use", "id": "1", "name": "write_file", "input": arguments}
    return dict((await Toolbox(folder, HERE, file_tools(most, full)).run(call)).block)


@pytest.mark.parametrize("text", ["remember the milk\n", "", "你好 Привет 🙂", "a\r\nb"])
async def test_what_is_written_is_what_the_file_has(folder: Path, text: str) -> None:
    size = len(text.encode())
    assert await writes(folder, "notes.txt", text) == f"notes.txt has {size} bytes now."
    assert (folder / "notes.txt").read_bytes() == text.encode()
    assert oct((folder / "notes.txt").stat().st_mode & 0o777) == "0o600"


async def test_a_file_is_replaced_or_added_to(folder: Path) -> None:
    await writes(folder, "notes.txt", "one\n")
    await writes(folder, "notes.txt", "two\n")
    await writes(folder, "notes.txt", "three\n", append=True)
    await writes(folder, "new.txt", "four\n", append=True)
    assert (folder / "notes.txt").read_text() == "two\nthree\n"
    assert (folder / "new.txt").read_text() == "four\n"


async def test_folders_are_made(folder: Path) -> None:
    await writes(folder, "reports/2026/may.md", "fine")
    assert (folder / "reports" / "2026" / "may.md").read_text() == "fine"


async def test_the_folder_itself_is_made(tmp_path: Path) -> None:
    await writes(tmp_path / "new" / "agent", "notes.txt")
    assert (tmp_path / "new" / "agent" / "notes.txt").read_text() == "text"


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "..", ".", "/", "a/../../secret.txt", "../agent-2/notes.txt", "a/../.."]
)
async def test_nothing_is_written_outside(folder: Path, path: str) -> None:
    assert "Only files in this conversation's folder" in await refuses(folder, path)


@pytest.mark.parametrize(
    "path",
    [
        *(f"{name}/x.txt" for name in OWNED_FOLDERS),
        "FILES/cat.png",
        "files",
        "compaction_20261121.md",
        "Compaction_1.md",
        "input_history",
        ".terminal.lock",
        ".bashrc",
        "sub/.hidden",
    ],
)
async def test_what_the_program_keeps_in_the_folder_is_not_written(folder: Path, path: str) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "cat.png").write_bytes(b"of a person")
    await refuses(folder, path)


async def test_no_link_is_written_through(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "links").symlink_to(folder.parent)
    (folder / "own.txt").write_text("own")
    (folder / "own-link.txt").symlink_to("own.txt")
    for path in ("link.txt", "links/secret.txt", "links/new.txt", "own-link.txt"):
        await refuses(folder, path)
        await refuses(folder, path, append=True)


@pytest.mark.parametrize("path", ["pipe", "sub", "notes.txt/deeper", "x" * 300, "a\0b", "", None, 7])
async def test_what_is_no_place_for_a_file_is_refused(folder: Path, path: Any) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    (folder / "notes.txt").write_text("text")
    await refuses(folder, path)


@pytest.mark.parametrize("more", [{"content": None}, {"content": 7}, {"append": "yes"}, {"append": 1}])
async def test_arguments_of_the_wrong_kind_are_refused(folder: Path, more: dict[str, Any]) -> None:
    await refuses(folder, "notes.txt", **{"content": "text", **more})


async def test_a_file_may_have_so_many_bytes_and_no_more(folder: Path) -> None:
    await writes(folder, "notes.txt", "é" * 500)
    assert "1,001 bytes" in await refuses(folder, "other.txt", "é" * 500 + "e")
    assert "at most" in await refuses(folder, "notes.txt", "e", append=True)


async def test_a_folder_that_is_full_takes_no_more(folder: Path) -> None:
    for number in range(5):
        await writes(folder, f"{number}.txt", "a" * 1_000)
    assert "full" in await refuses(folder, "one-more.txt", "a")


async def test_what_is_half_a_character_is_written_as_a_question_mark(folder: Path) -> None:
    await writes(folder, "notes.txt", "a\ud800b")
    assert (folder / "notes.txt").read_text() == "a?b"


async def test_a_part_that_a_crash_left_behind_goes_with_the_next_file(folder: Path) -> None:
    await writes(folder, "notes.txt")
    (folder / ".parts" / "0123~").write_text("half")
    await writes(folder, "notes.txt", "again")
    assert [*(folder / ".parts").iterdir()] == []


async def test_what_could_not_be_written_leaves_the_file_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await writes(folder, "notes.txt", "before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in await refuses(folder, "notes.txt", "after")
    assert [*(folder / ".parts").iterdir()] == []


async def test_half_a_character_is_no_name_of_a_file(folder: Path) -> None:
    assert await refuses(folder, "a\ud800.txt") == "There is no such file; no file can have that name."


async def test_a_file_under_two_names_fills_the_folder_once(folder: Path) -> None:
    await writes(folder, "large.txt", "x" * 900)
    for number in range(9):
        os.link(folder / "large.txt", folder / f"again{number}.txt")
    await writes(folder, "small.txt", "y" * 900)
