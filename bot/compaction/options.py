"""A strategy with other options: from a command line, from the environment, or as arguments of a call. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from bot.compaction.plan import Strategy

_WORDS = re.compile(r"[\w.-]+(?:,[\w.-]+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def with_options(strategy: Strategy, values: Mapping[str, object]) -> Strategy:
    """The same strategy with these options, the others as they are.

    Names are the fields of its options, or what its ``aliases`` call them too; also as ``keepLastSegment`` (as
    ProbeAgent writes them), ``keep-last-segment`` or ``KEEP_LAST_SEGMENT``. Values are texts or of the field's type.
    Raises ``ValueError`` with one sentence that names the option and the value, and lists the options that there are
    for a name that there is not.
    """
    if not values:
        return strategy
    owner: Any = strategy
    options: Any = strategy.options
    if not all(is_dataclass(thing) and not isinstance(thing, type) for thing in (owner, options)):
        raise ValueError(f"The strategy {strategy.name} has no options that could be set.")
    types = get_type_hints(type(options), include_extras=True)
    known = {field.name: types[field.name] for field in fields(options) if field.init}
    chosen: dict[str, object] = {}
    for given, value in values.items():
        name = field_name(strategy, given)
        if name not in known:
            there = f"it has: {', '.join(known)}" if known else "it has none"
            raise ValueError(f"The strategy {strategy.name} has no option {given!r}; {there}.")
        if name in chosen:
            raise ValueError(f"The option {name} of the strategy {strategy.name} is given twice.")
        chosen[name] = _converted(value, known[name], f"The option {name} of the strategy {strategy.name}")
    try:
        changed: Strategy = replace(owner, options=replace(options, **chosen))
    except ValueError as error:
        told = {name: value for name, value in chosen.items() if f"{name}=" in str(error)} or chosen
        named = ", ".join(f"{name}={value!r}" for name, value in told.items())
        raise ValueError(f"The strategy {strategy.name} cannot have {named}: {_sentence(str(error))}") from error
    return changed


def option_names(strategy: Strategy) -> tuple[str, ...]:
    """What its options are called, and how they are called too."""
    options: Any = strategy.options
    if not is_dataclass(options):
        return ()
    return (*(field.name for field in fields(options) if field.init), *getattr(type(options), "aliases", {}))


def field_name(strategy: Strategy, given: str) -> str:
    """The field of its options that somebody may have meant by this name."""
    aliases: Mapping[str, str] = getattr(type(strategy.options), "aliases", {})
    name = _HUMP.sub("_", given.strip()).replace("-", "_").lower()
    return aliases.get(name, name)


def _converted(value: object, wanted: Any, what: str) -> object:
    """The value as the field's type. A text that is not one as it stands is read as JSON: ``null``, ``["a", "b"]``."""
    try:
        adapter = TypeAdapter(wanted)
    except PydanticSchemaGenerationError as error:
        raise ValueError(f"{what} cannot be set from outside.") from error
    try:
        made: object = adapter.validate_python(value)
    except ValidationError as error:
        made = _from_json(adapter, value)
        if made is value:
            raise ValueError(f"{what} cannot be {value!r}: {_sentence(error.errors()[0]['msg'])}") from error
    if isinstance(made, float) and not math.isfinite(made):
        raise ValueError(f"{what} cannot be {value!r}: it is a number.")
    return made


def _from_json(adapter: TypeAdapter[Any], value: object) -> object:
    """What a text says as JSON, or as words with commas between them; the value itself if nothing of that type."""
    if not isinstance(value, str):
        return value
    with suppress(ValidationError):
        return adapter.validate_json(value)
    with suppress(ValidationError):
        return adapter.validate_python(_listed(value))
    return value


def _listed(text: str) -> object:
    return text.split(",") if _WORDS.fullmatch(text) else text


def _sentence(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return f"{line[:1].lower()}{line[1:]}."
