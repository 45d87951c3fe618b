"""Records that a later action changed: a row that was listed, with the values that it was given since. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.compaction.facts.records import ID_HUMP, ID_NAMES, Fields, words_of_name

_CHANGING = """
update set change edit modify patch rename move put save replace upsert assign reschedule adjust mark write store
correct reassign extend switch fix
"""
_CHANGES = frozenset(_CHANGING.split())
"""First words of the names of tools that give something that exists new values."""
_ID_NAME = re.compile(rf"(?:^|[_.])(?:{ID_NAMES}|number)\Z|{ID_HUMP}\Z")
_NOT_OF_IT = frozenset({"tool", "result", "error"})
_FEW = 3
"""Letters that the names of one thing begin with in common."""


def identities(fields: Fields) -> Iterator[str]:
    """The cells that a thing can be found by."""
    return (cell for name, cell in fields.items() if _ID_NAME.search(name))


def with_new_values(record: Fields, key: str, action: Fields) -> Fields | None:
    """The record as it is after the action; None if the action does not change it.

    ``key``: the record's; it says what kind of thing it is about. The action has to name the same id of the same kind
    of thing, and to give another value to a field that the record has.
    """
    words = [word.casefold() for word in words_of_name(action.get("tool", "").rsplit("__", 1)[-1])]
    if not words or words[0] not in _CHANGES:
        return None
    of_id = next(((name, cell) for name, cell in action.items() if _ID_NAME.search(name)), None)
    if of_id is None or not _is_of(record, key, of_id, words[1:]):
        return None
    given = {name: cell for name, cell in action.items() if name not in _NOT_OF_IT and name != of_id[0]}
    known = {_bare(name): name for name in record}
    news = {known[_bare(name)]: cell for name, cell in given.items() if _bare(name) in known}
    changed = {name: cell for name, cell in news.items() if record[name] != cell and cell}
    return {**record, **changed} if changed else None


def _is_of(record: Fields, key: str, of_id: tuple[str, str], nouns: list[str]) -> bool:
    """Whether an action that names this id is about this record."""
    name, cell = of_id
    kind = key.removeprefix("entity:").partition("=")[0].rpartition("/")[0] if key.startswith("entity:") else ""
    if record.get(name) == cell and not _is_bare_id(name):
        return True
    mine = next((own for own in record if _ID_NAME.search(own)), "")
    if record.get(mine) != cell:
        return False
    told = [*nouns, *_parts(name)]
    if not _is_bare_id(mine):
        return any(_one_noun(part, noun) for part in _parts(mine) for noun in told)
    return not kind or any(_one_noun(part, noun) for part in _parts(kind) for noun in told)


def _is_bare_id(name: str) -> bool:
    return not _parts(name)


def _parts(name: str) -> list[str]:
    """The words of a name, without the one for an id."""
    words = [word.casefold() for word in words_of_name(name)]
    return [word for word in words if not _ID_NAME.search(word)]


def _one_noun(one: str, other: str) -> bool:
    least = min(len(one), len(other))
    return least >= _FEW and one[: max(_FEW, least - 1)] == other[: max(_FEW, least - 1)]


def _bare(name: str) -> str:
    return name.casefold().replace("_", "").removeprefix("new")
