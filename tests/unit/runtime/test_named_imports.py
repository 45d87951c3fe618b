"""Of a large package what is asked of it is imported; one that cannot be read is run as ever."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.runtime.named_imports import by_name

WORDS = {
    "__init__.py": (
        '"""Words."""\nfrom .one import One as One\nfrom .two import Two\nfrom . import three\nfrom .more import *\n'
    ),
    "one.py": "class One: ...\n",
    "two.py": "from . import one\nclass Two(one.One): ...\n",
    "three.py": "",
    "four.py": "",
    "more/__init__.py": "from .five import Five as Five, _hidden\n",
    "more/five.py": "class Five: ...\n_hidden = 5\n",
}
THINGS = (
    "from __future__ import annotations\nimport typing as _t\nfrom .one import One\n"
    'both = [One]\n__all__ = ["One", "both"]\nfor each in __all__:\n    count = len(each)\n'
)


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], str]]:
    """A package of such files; its name."""
    finders, number = list(sys.meta_path), 0
    sys.path.insert(0, str(tmp_path))

    def write(files: dict[str, str]) -> str:
        nonlocal number
        number += 1
        name = f"written_{number}"
        for place, text in files.items():
            path = tmp_path / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()
        return name

    yield write
    sys.path.remove(str(tmp_path))
    sys.meta_path[:] = finders
    for module in [module for module in sys.modules if module.startswith("written_")]:
        del sys.modules[module]


def loaded(name: str) -> set[str]:
    return {module.removeprefix(f"{name}.") for module in sys.modules if module.startswith(f"{name}.")}


def test_a_name_is_imported_when_it_is_asked_for(package: Callable[[dict[str, str]], str]) -> None:
    name = package(WORDS)
    assert by_name(name)
    words = importlib.import_module(name)
    assert loaded(name) == set()
    assert words.One is importlib.import_module(f"{name}.one").One
    assert loaded(name) == {"one"}
    assert issubclass(words.Two, words.One)
    assert words.three is sys.modules[f"{name}.three"]
    assert words.Five.__module__ == f"{name}.more.five"
    assert loaded(name) == {"one", "two", "three", "more", "more.five"}
    assert {"One", "Two", "three", "Five"} <= set(dir(words))
    assert words.__doc__ is None or "Words" in words.__doc__


def test_the_whole_of_it_can_be_taken(package: Callable[[dict[str, str]], str]) -> None:
    name = package(WORDS)
    assert by_name(name)
    taken: dict[str, object] = {}
    exec(f"from {name} import *", taken)
    assert set(taken) - {"__builtins__"} == {"One", "Two", "three", "Five"}


def test_a_module_that_it_does_not_name_is_found_and_what_is_nowhere_is_not(
    package: Callable[[dict[str, str]], str],
) -> None:
    name = package(WORDS)
    assert by_name(name)
    words = importlib.import_module(name)
    assert words.four is sys.modules[f"{name}.four"]
    assert not hasattr(words, "five")
    with pytest.raises(ImportError, match="cannot import name 'Six'"):
        exec(f"from {name} import Six")


def test_what_only_a_run_makes_is_made_by_a_run(package: Callable[[dict[str, str]], str]) -> None:
    name = package({**WORDS, "__init__.py": THINGS})
    assert by_name(name)
    words = importlib.import_module(name)
    assert loaded(name) == set()
    assert words.both == [words.One]
    assert words.count == len("both")
    assert words.__all__ == ["One", "both"]


@pytest.mark.parametrize(
    "init",
    [
        "from .one import One\nclass Own: ...\n",
        "from .one import One\nif True:\n    def own(): ...\n",
        "from .one import One as two\nfrom . import two as other\nOwn = 1\n",
        "from .one import *\nOwn = 1\nfrom .one import One\n",
        "Own = 1\nfrom .one import One\nfrom .two import *\n__all__ = [*['One'], 'Own']",
    ],
)
def test_one_that_cannot_be_read_is_run(init: str, package: Callable[[dict[str, str]], str]) -> None:
    name = package({**WORDS, "__init__.py": init})
    assert by_name(name)
    importlib.import_module(name)
    assert "one" in loaded(name)


@pytest.mark.parametrize("needed", ["{}.one:Gone", "{}.gone:One", "{}.broken:One"])
def test_a_package_without_what_is_needed_is_imported_as_ever(
    needed: str, package: Callable[[dict[str, str]], str]
) -> None:
    name = package({**WORDS, "broken.py": "raise ArithmeticError"})
    before = list(sys.meta_path)
    assert not by_name(name, f"{name}:One", needed.format(name))
    assert sys.meta_path == before
    assert name not in sys.modules
    assert loaded(name) == set()
    words = importlib.import_module(name)
    assert loaded(name) == {"one", "two", "three", "more", "more.five"}
    assert words.Two.__mro__[1] is words.One


def test_one_that_is_imported_already_stays_as_it_is(package: Callable[[dict[str, str]], str]) -> None:
    name = package(WORDS)
    words = importlib.import_module(name)
    before = list(sys.meta_path)
    assert not by_name(name, f"{name}:One")
    assert sys.meta_path == before
    assert sys.modules[name] is words
