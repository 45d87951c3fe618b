"""Files of this machine that a message names, and what a path that is being written may become."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.terminal.attach import begun, mentioned, offered_paths


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With some files, and this process in it."""
    for name in ("notes.txt", "my photo.png", ".hidden", "docs/plan.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at @notes.txt", ["notes.txt"]),
        ("@notes.txt, @docs/plan.md and @notes.txt again.", ["notes.txt", "plan.md"]),
        ('is @"my photo.png" good?', ["my photo.png"]),
        ("is '@notes.txt' good? (@notes.txt)", []),
        ("see @docs/plan.md.", ["plan.md"]),
        ("@docs is a folder, @nobody a person, me@notes.txt a mail, @ nothing", []),
        ("@.hidden", [".hidden"]),
        ("@" + "x" * 5000, []),
        ("@~nobody-of-this-name/x", []),
        ("a\n@notes.txt", ["notes.txt"]),
    ],
)
def test_a_file_with_an_at_before_it_is_sent_and_nothing_else_is(folder: Path, text: str, names: list[str]) -> None:
    found, _ = mentioned(text)
    assert [file.name for file in found] == names
    for file in found:
        assert Path(file.ref).is_relative_to(folder)
        assert file.size == Path(file.ref).stat().st_size


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@nosuch.txt hi", ["nosuch.txt"]),
        ("see @docs/none and @docs/none.", ["docs/none"]),
        ('is @"my phota.png" good?', ["my phota.png"]),
        ("@notes.txt, @docs/plan.md, @docs and @.hidden are there", []),
        ("@nobody, @a. @... @/ me@nosuch.txt @ nothing", []),
    ],
)
def test_what_looks_like_a_file_behind_an_at_and_is_none_is_named_once(
    folder: Path, text: str, names: list[str]
) -> None:
    assert list(mentioned(text)[1]) == names, folder


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("look at @", ["@docs/", '@"my photo.png"', "@notes.txt"]),
        ("look at @no", ["@notes.txt"]),
        ("@my", ['@"my photo.png"']),
        ('@"my ph', ['@"my photo.png"']),
        ("@'my ph", ["@'my photo.png'"]),
        ("@.", ["@.hidden"]),
        ("@docs/", ["@docs/plan.md"]),
        ("@nowhere/x", []),
        ("me@no", []),
        ("@notes.txt and", []),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_path_is_completed_hidden_ones_only_where_a_dot_is_typed(text: str, offered: list[str]) -> None:
    found = [*offered_paths(text)]
    assert [whole for whole, _, _ in found] == offered
    for whole, _, replaced in found:
        assert begun(text)
        assert text[len(text) - replaced] == whole[0] == "@"
