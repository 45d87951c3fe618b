"""A strategy by its name, or somebody's own by where it is imported from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from bot.compaction import STRATEGIES, compact_history
from bot.errors import ConfigurationError
from bot.runtime.strategies import named

MODULE = """
    from dataclasses import dataclass, replace
    from bot.compaction.strategies.monologue import Monologue, MonologueOptions

    @dataclass(frozen=True)
    class Mine(Monologue):
        name: str = "mine"

    ready = Mine(MonologueOptions(min_segments_to_keep=5))

    def made():
        return ready

    def fails():
        raise RuntimeError("no luck\\ntoday.")

    def wants(something):
        return ready

    class Half:
        name = "half"
        options = None

    class Wrong(Mine):
        level = 7

    nameless = replace(ready, name="")
    number = 7

    class Shelf:
        Kept = Mine
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current folder, forgotten again at the end."""
    name = f"strategies_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(dedent(MODULE))
    (tmp_path / f"{name}_broken.py").write_text("raise SystemExit('at import')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield name
    for known in [known for known in sys.modules if known.startswith(name)]:
        del sys.modules[known]


def test_a_name_is_looked_up_first() -> None:
    assert named("reset", STRATEGIES) is STRATEGIES["reset"]


@pytest.mark.parametrize("attribute", ["Mine", "ready", "made", "Shelf.Kept"])
def test_a_class_an_instance_a_function_and_what_is_in_a_class_are_found(module: str, attribute: str) -> None:
    strategy = named(f"{module}:{attribute}", STRATEGIES)
    assert strategy.name == "mine"
    assert compact_history([{"role": "user", "content": "hi"}], strategy=strategy).stats["removed"] == 0


def test_an_instance_is_taken_as_it_is(module: str) -> None:
    assert named(f"{module}:ready", {}).options.min_segments_to_keep == 5


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("magic", r"'magic' is not a strategy; there is: .*monologue.*, or your own as module:attribute\."),
        ("", r"'' is not a strategy"),
        (":Mine", r"The strategy :Mine cannot be imported: ValueError"),
        ("no_such_module:Mine", r"cannot be imported: ModuleNotFoundError: No module named 'no_such_module'\."),
        ("{}:", r"cannot be imported: .* has no ''\."),
        ("{}:Missing", r"cannot be imported: .* has no 'Missing'\."),
        ("{}_broken:Mine", r"cannot be imported: SystemExit: at import\."),
        ("{}:fails", r"cannot be made: RuntimeError: no luck today\."),
        ("{}:wants", r"cannot be made: TypeError: .*something"),
        ("{}:Half", r"has no level, plan, so it is none\."),
        ("{}:number", r"has no name, options, level, plan"),
        ("{}:Wrong", r"is none: its name is a text, and level and plan are functions\."),
        ("{}:nameless", r"is none: its name is a text"),
    ],
)  # fmt: skip
def test_what_is_no_strategy_is_one_sentence(module: str, path: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence) as caught:
        named(path.format(module), STRATEGIES)
    assert "\n" not in str(caught.value)
