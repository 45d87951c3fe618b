"""`.env.example` lists every setting and nothing else, each with one line about it and its default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from pydantic import BaseModel

from bot.compaction import STRATEGIES
from bot.runtime.providers import ANTHROPIC, providers
from bot.runtime.settings import Settings
from bot.runtime.strategies import configured

EXAMPLE = Path(__file__).parents[3] / ".env.example"
_LINE = re.compile(r"# ([A-Z][A-Z0-9_]*)=(.*)")


def names(group: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of all settings as they stand in the environment."""
    for name, field in group.model_fields.items():
        kind = field.annotation
        if name == "strategy" and not prefix:
            yield from options_of_strategies()
        elif name == "providers" and not prefix:
            yield from (name for one in providers().values() if one.name != ANTHROPIC for name in one.variables)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from names(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"


def options_of_strategies() -> Iterator[str]:
    """Each strategy's own; the levels are those of all agents."""
    for name, strategy in STRATEGIES.items():
        for option in fields(strategy.options):
            if option.name not in ("warning", "critical"):
                yield f"STRATEGY__{name.upper()}__{option.name.upper()}"


def listed() -> list[str]:
    """The names that the example lists, in its order."""
    return [found[1] for line in EXAMPLE.read_text().splitlines() if (found := _LINE.fullmatch(line))]


def test_every_setting_is_listed_once_and_nothing_that_is_no_setting() -> None:
    assert sorted(listed()) == sorted(names(Settings))


def test_each_setting_stands_below_one_line_about_it() -> None:
    for block in EXAMPLE.read_text().split("\n\n"):
        lines = block.strip().splitlines()
        if any(_LINE.fullmatch(line) for line in lines):
            comment, setting = lines
            assert comment.startswith("# ")
            assert not _LINE.fullmatch(comment)
            assert _LINE.fullmatch(setting)


def test_the_example_as_it_is_sets_nothing() -> None:
    assert all(line.startswith("#") for line in EXAMPLE.read_text().splitlines() if line)


def test_the_values_in_the_example_are_the_defaults(tmp_path: Path) -> None:
    uncommented = tmp_path / ".env"
    uncommented.write_text(_LINE.sub(r"\1=\2", EXAMPLE.read_text()))
    set_so, unset = Settings(_env_file=uncommented), Settings(_env_file=None)
    assert set_so.model_copy(update={"strategy": {}}) == unset
    # Where the warning level is set it is that of all, also of those that have another one by themselves.
    uncommented.write_text(uncommented.read_text().replace("AGENTS__WARNING=0.75\n", ""))
    set_so = Settings(_env_file=uncommented)
    chosen, default = configured(STRATEGIES, set_so), configured(STRATEGIES, unset)
    assert [chosen.get(name) for name in chosen.names] == [default.get(name) for name in default.names]
