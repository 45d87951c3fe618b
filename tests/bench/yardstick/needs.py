"""Values that later tool calls need and that were known before: what of them a compacted request still holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.messages import Message
from tests.bench.yardstick.reading import blocks_of, leaves, occurs, request_text


class ValueKind(StrEnum):
    """What a value is, by its form and the name of its field."""

    ID = "ids"
    NAME = "names"
    DATE = "dates"
    NUMBER = "numbers"
    WORD = "other words"


@dataclass(frozen=True)
class Need:
    """A value of a later tool call that was known before the cut."""

    value: str
    kind: ValueKind
    comes_again: bool
    """It is said or returned again between the cut and the call, so that nobody has to remember it."""


_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ][\d:]+)?|\d{1,2}:\d\d(?::\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,]*%?")
_NAME = re.compile(r"[A-ZÀ-ÞА-ЯЁ][\w'’-]*[a-zß-ÿа-яё](?: [A-ZÀ-ÞА-ЯЁ][\w'’.-]*)*")
_ID = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{3,}|[A-Z]{5,}|\S+@\S+|\S*/\S+")


def needs_of(before: Sequence[Message], after: Sequence[Message]) -> list[Need]:
    """The argument values of the tool calls after a cut that occur before it, each value once a call."""
    known = request_text(before)
    found: list[Need] = []
    for index, message in enumerate(after):
        since = request_text(after[:index])
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                found += _needs(block.get("input") or {}, known, since)
    return found


def kept(needs: Sequence[Need], request: Sequence[Message]) -> list[Need]:
    """Those that the request holds."""
    text = request_text(request)
    return [need for need in needs if occurs(need.value, text)]


def kind_of(field: str, value: str) -> ValueKind:
    """What a value is."""
    if _DATE.fullmatch(value):
        return ValueKind.DATE
    if _NUMBER.fullmatch(value):
        return ValueKind.NUMBER
    if _ID.fullmatch(value):
        return ValueKind.ID
    if field.endswith("name") or _NAME.fullmatch(value):
        return ValueKind.NAME
    return ValueKind.WORD


def _needs(given: object, known: str, since: str) -> Iterator[Need]:
    values = dict.fromkeys((field, text) for field, value in leaves(given) if (text := _written(value)))
    for field, value in values:
        if occurs(value, known):
            yield Need(value, kind_of(field, value), occurs(value, since))


def _written(value: str | float) -> str:
    """As it stands in a text; empty for strings of fewer than two characters."""
    if isinstance(value, str):
        return value if len(value.strip()) > 1 else ""
    return str(int(value)) if float(value).is_integer() else str(value)
