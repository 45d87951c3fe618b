"""The tests of a module are found where the module is: `bot/store/inbox.py`, `tests/unit/store/test_inbox.py`."""

from __future__ import annotations

from pathlib import Path

UNIT = Path(__file__).parent
ROOT = UNIT.parents[1]
TESTS = sorted(UNIT.rglob("*/test_*.py"))


def source_of(folder: Path) -> Path:
    """Where that lies which the tests of a folder are about."""
    place = folder.relative_to(UNIT)
    return ROOT / place if place.parts[0] in ("connectors", "workers") else ROOT / "bot" / place


def test_every_folder_is_that_of_a_room() -> None:
    assert [str(folder) for folder in sorted({path.parent for path in TESTS}) if not source_of(folder).is_dir()] == []


def test_every_file_is_called_like_what_it_tests_and_perhaps_by_which_of_it() -> None:
    strange: list[str] = []
    for path in TESTS:
        there = {one.stem for one in source_of(path.parent).iterdir() if one.suffix == ".py" or one.is_dir()}
        name = path.stem.removeprefix("test_")
        if not any(name == module or name.startswith(f"{module}_") for module in there):
            strange.append(str(path.relative_to(ROOT)))
    assert strange == []
