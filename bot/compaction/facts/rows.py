"""Records that a later action changed: a row that was listed, with the values that it was given since. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compaction.facts.records import Fields, id_in, is_id_name, words_of_name

_CHANGING = """
update set change edit modify patch rename move put save replace upsert assign reschedule adjust mark write store
correct reassign extend switch fix
"""
_CHANGES = frozenset(_CHANGING.split())
"""First words of the names of tools that give something that exists new values. In another language none is known: the
action is told, and the row as it was returned."""
_NOT_OF_IT = frozenset({"tool", "result", "error"})
_FEW = 3
"""Letters that the names of one thing begin with in common."""


def identities(fields: Fields) -> Iterator[str]:
    """The cells that a thing can be found by."""
    return (cell for name, cell in fields.items() if is_id_name(name))


def with_new_values(record: Fields, key: str, action: Fields) -> Fields | None:
    """The record as it is after the action; None if the action does not change it.

    ``key``: the record's; it says what kind of thing it is about. The action has to name the id of the same kind of
    thing, and to give another value to a field that the record has.
    """
    words = _words(action.get("tool", "").rsplit("__", 1)[-1])
    of_id = next((name for name in action if is_id_name(name)), "")
    mine = id_in(record)
    if not words or words[0] not in _CHANGES or mine is None or action.get(of_id) != mine[1]:
        return None
    nouns = _words(key.removeprefix("entity:").partition("=")[0])
    if nouns and not any(_is_one(noun, told) for noun in nouns for told in (*words[1:], *_words(of_id))):
        return None
    known = {_bare(name): name for name in record}
    given = {known.get(_bare(name), ""): cell for name, cell in action.items() if name not in (*_NOT_OF_IT, of_id)}
    changed = {name: cell for name, cell in given.items() if name and cell and record[name] != cell}
    return {**record, **changed} if changed else None


def _words(name: str) -> list[str]:
    """The words of a name, without the one for an id."""
    return [word.casefold() for word in words_of_name(name) if not is_id_name(word)]


def _is_one(noun: str, other: str) -> bool:
    least = max(_FEW, min(len(noun), len(other)) - 1)
    return noun[:least] == other[:least]


def _bare(name: str) -> str:
    return name.casefold().replace("_", "").removeprefix("new")
