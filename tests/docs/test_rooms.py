"""The rooms are as docs/architecture.md shows them, and stay small enough to find one's way."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from scripts.rooms import PAGE, PICTURE, page, picture, rooms
from tests.docs.pages import ROOT

MOST_NAMES, MOST_BESIDE, MOST_LINES = 16, 25, 15
ANEW = "`make docs` writes it anew"
WALKS = PAGE.read_text(encoding="utf-8").partition("\n## Three walks\n")[2].partition("\n## ")[0]
each_walk = pytest.mark.parametrize("walk", re.split(r"(?m)^### ", WALKS)[1:], ids=lambda walk: walk.split("\n")[0])
house = cache(rooms)
"""The imports of the whole program are read once."""
FOLDERS = sorted(
    {face.parent for part in ("bot", "connectors", "workers") for face in (ROOT / part).rglob("__init__.py")}
)


def test_the_page_and_the_picture_are_what_the_code_makes_them() -> None:
    said = PAGE.read_text(encoding="utf-8")
    assert said == page(said, house()), ANEW
    assert PICTURE.read_text(encoding="utf-8") == picture(house()), ANEW


def test_no_import_points_up() -> None:
    layers = {room.name: room.layer for room in house()}
    for room in house():
        if room.layer is not None:
            assert all((layers[other] or 0) > room.layer for other in room.imports if layers[other] is not None), room


def test_the_top_has_few_names_and_no_folder_is_an_index_without_chapters() -> None:
    # A folder that moved away may have left its bytecode behind.
    names = {path.stem for path in (ROOT / "bot").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    names.discard("__init__")
    assert len(names) <= MOST_NAMES
    for folder in [*FOLDERS, *(face.parent for face in (ROOT / "tests").rglob("__init__.py"))]:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_BESIDE, folder


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_says_shortly_what_it_is_for(folder: Path) -> None:
    face = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert 0 < len(face.splitlines()) <= MOST_LINES


@each_walk
def test_a_walk_names_files_that_are_there_and_enters_none_twice(walk: str) -> None:
    entered = re.findall(r"(?m)^\d+\. `([^`]+)`", walk)
    assert entered
    assert [name for name in entered if not (ROOT / name).is_file()] == []
    assert sorted(set(entered)) == sorted(entered)
    assert len(entered) <= 25
