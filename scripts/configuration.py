"""Writes `docs/configuration.md`, the reference of all settings: `make docs`.

What is known elsewhere is taken from there: sections, sentences and defaults from `.env.example`, what a value may be
from `bot.runtime.settings` and from the options of the strategies. Only who needs a setting is said here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, SecretStr
from pydantic_settings import NoDecode

from bot.compaction import STRATEGIES
from bot.runtime.amounts import Amount
from bot.runtime.providers import ANTHROPIC, providers
from bot.runtime.settings import Settings

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / ".env.example"
PAGE = ROOT / "docs" / "configuration.md"

NEEDED_BY: Mapping[str, str] = {
    "SYSTEM_PROMPT": "agents",
    "MODEL": "agents, worker",
    "MODEL_FALLBACK": "agents, worker",
    "COMPACTION_MODEL": "agents, worker",
    "MODEL_CALLS": "agents, worker",
    "MODEL_PATIENCE": "agents, worker",
    "MODEL_SILENCE": "agents, worker",
    "PROMPT_CACHE": "agents, worker",
    "TELEGRAM_": "gateway",
    "DISCORD_": "gateway",
    "GROUPS": "gateway",
    "TIMEZONE": "agents",
    "DELETED_MESSAGES": "agents",
    "ACCESS": "gateway, agents",
    "ALLOW": "gateway, agents",
    "ADMINS": "gateway, agents",
    "RATE__": "gateway",
    "FILES__MOST_BYTES": "gateway",
    "FILES__": "agents",
    "PAGE__": "gateway",
    "RETENTION__": "agents",
    "AGENTS__": "agents",
    "COMPACTION__BASE_URL": "agents, worker",
    "COMPACTION__API_KEY": "worker",
    "COMPACTION__": "agents",
    "STRATEGY__": "agents",
    "EMBEDDINGS__": "agents",
    "MEMORY__": "agents",
    "TOOLS__": "agents",
    "MCP_": "agents",
}
"""Roles by the name of a setting, or by what the names of a group begin with; all that is not here is for all roles.
A setting that a role does not need does no harm there, but tokens are best kept where they are needed."""

INTRODUCTION = """\
# Configuration

Every setting of the program, with its default. This page is made from [`.env.example`](../.env.example) and from the \
code by `make docs`; do not edit it.

- A setting is an environment variable, or a line of a file `.env` in the folder where the program is started. The \
environment wins. Nothing has to be set.
- An empty value is the same as none, and then the default counts; `—` means that there is none. Spaces and line \
breaks around a value are no part of it.
- What is true or false may also be written as `on` and `off`, `yes` and `no`, `1` and `0`.
- Names with two underscores belong to a group: `AGENTS__WARNING` is the `WARNING` of `AGENTS`.
- A wrong value stops the program at its start with a line that names it, and so does a name that is none in one of \
our groups (`AGENTS__STRATGY`), and a line of `.env` that is no `NAME=VALUE`. What does nothing, such as any other \
name that looks like a setting, is said once at the start. `palimpsest doctor` says the same, and more.
- *Secret* values appear in no log, trace or error.
- *Roles* says which [processes](operations.md#processes) need a setting, when the roles run apart. `palimpsest run` \
alone and `palimpsest chat` play them all.
"""

_SETTING = re.compile(r"# ([A-Z][A-Z0-9_]*)=(.*)")
_SECTION = re.compile(r"# --- (.+?)(?: \((docs/[\w-]+\.md)\))? ---")
_LINK = re.compile(r"docs/([\w-]+)\.md")


@dataclass(frozen=True)
class Setting:
    """One line of `.env.example` with the sentence above it."""

    name: str
    default: str
    sentence: str


@dataclass(frozen=True)
class Section:
    """A heading of `.env.example`, the page that it names, what is said of all below it, and its settings."""

    title: str
    more: str
    remarks: tuple[str, ...]
    settings: tuple[Setting, ...]


def sections(example: str) -> list[Section]:
    """What `.env.example` says. Raises ``ValueError`` for a setting that stands in no section, or has no sentence."""
    found: list[Section] = []
    for part in re.split(r"(?m)^(?=# --- )", example)[1:]:
        heading, *blocks = part.strip().split("\n\n")
        title, *remarks = heading.splitlines()
        settings: list[Setting] = []
        for block in blocks:
            *comments, line = block.splitlines()
            if not (comments and (setting := _SETTING.fullmatch(line))):
                raise ValueError(f".env.example: a sentence and a setting should stand here, and not {block!r}.")
            settings.append(Setting(setting[1], setting[2], " ".join(_text(comment) for comment in comments)))
        section = _SECTION.fullmatch(title)
        if section is None:
            raise ValueError(f".env.example: {title!r} is no heading of a section.")
        found.append(Section(section[1], section[2] or "", tuple(map(_text, remarks)), tuple(settings)))
    return found


def kinds() -> dict[str, Any]:
    """Every setting by its name in the environment: its annotation, with pydantic's bounds where it has some."""
    return dict(_kinds(Settings, ""))


def _kinds(group: type[BaseModel], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, field in group.model_fields.items():
        kind = field.annotation
        if group is Settings and name == "strategy":
            yield from _options()
        elif group is Settings and name == "providers":
            yield from _variables()
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _kinds(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", (kind, field.metadata)


def _variables() -> Iterator[tuple[str, Any]]:
    """Those of providers, which are no fields."""
    for provider in providers().values():
        if provider.name != ANTHROPIC:
            yield from ((name, (SecretStr if name in provider.keys else str, ())) for name in provider.variables)


def _options() -> Iterator[tuple[str, Any]]:
    """Each strategy's own; the levels are those of all agents."""
    for name, strategy in STRATEGIES.items():
        types = get_type_hints(type(strategy.options))
        for option in fields(strategy.options):
            if option.name in ("warning", "critical"):
                continue
            yield f"STRATEGY__{name.upper()}__{option.name.upper()}", (types[option.name], ())


def value_of(kind: Any, bounds: Any = ()) -> str:
    """What a value may be, in words."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (member for member in get_args(kind) if member is not NoneType)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    plain = {
        bool: "`true`, `false`",
        str: "text",
        SecretStr: "text, secret",
        Path: "path",
        Amount: "dollars, or a number and `tokens`",
    }
    if kind in plain:
        return plain[kind]
    if kind in (int, float):
        return ", ".join(["whole number" if kind is int else "number", *_bounds(bounds)])
    if get_origin(kind) in (frozenset, tuple):
        return "list, with commas" if NoDecode in bounds else "JSON list"
    raise TypeError(f"{kind} has no words yet: say in scripts/configuration.py what such a value is.")


def _bounds(bounds: Any) -> Iterator[str]:
    words = {"gt": "more than {}", "ge": "{} or more", "lt": "less than {}", "le": "{} at most"}
    for bound in bounds:
        for name, text in words.items():
            if (limit := getattr(bound, name, None)) is not None:
                yield text.format(f"{limit:,}" if limit else 0)


def needed_by(name: str) -> str:
    """The roles that need a setting; what is named wholly counts more than what only begins so."""
    groups = [group for group in NEEDED_BY if group.endswith("_") and name.startswith(group)]
    return NEEDED_BY.get(name) or (NEEDED_BY[max(groups, key=len)] if groups else "all")


def page(example: str) -> str:
    """The reference, as Markdown."""
    known = kinds()
    code = _code(known)
    parts = [INTRODUCTION]
    for section in sections(example):
        parts.append(f"## {section.title}\n")
        parts += [f"{marked(remark, code)}\n" for remark in section.remarks]
        parts += [f"More in {marked(section.more, code)}.\n"] if section.more else []
        rows = [_row(setting, known, code) for setting in section.settings]
        parts.append("\n".join(["| variable | default | value | roles | |", "|---|---|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def _row(setting: Setting, known: Mapping[str, Any], code: re.Pattern[str]) -> str:
    default = f"`{setting.default}`" if setting.default else "—"
    value = value_of(*known[setting.name])
    return f"| `{setting.name}` | {default} | {value} | {needed_by(setting.name)} | {marked(setting.sentence, code)} |"


def _code(names: Iterable[str]) -> re.Pattern[str]:
    """What is set as code in a sentence: what is already, JSON lists, addresses, names of settings, paths."""
    plain = "|".join(sorted((name for name in names if "_" not in name), key=len, reverse=True))
    setting = rf"\b(?:[A-Z]+_[A-Z_]*(?:<NAME>\w+)?|{plain})\b(?:=\S+)?"
    return re.compile(rf"""`[^`]+`|\[".*?"\]|\b\w+(?:\+\w+)?://[^\s;,]+|{setting}|(?<![\w/.])/\w[\w/]*""")


def marked(sentence: str, code: re.Pattern[str]) -> str:
    """A sentence of `.env.example` as Markdown: what ``code`` matches is code, pages are links."""
    told, end = "", 0
    for found in code.finditer(sentence):
        told += _plain(sentence[end : found.start()]) + f"`{found[0].strip('`')}`"
        end = found.end()
    return (told + _plain(sentence[end:])).replace("|", "\\|")


def _plain(text: str) -> str:
    return _LINK.sub(r"[\1](\1.md)", re.sub(r"([<>*_\[\]])", r"\\\1", text))


def _text(comment: str) -> str:
    return comment.removeprefix("#").strip()


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
