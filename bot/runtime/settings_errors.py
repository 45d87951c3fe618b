"""What pydantic says of a wrong setting, as a sentence that names it, its value and what to write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

from bot.runtime.redact import redact

_LONGEST = 80
_AS_JSON = 'Lists are written as JSON, for example \'["ABC", "DEF"]\'.'
_LOGIN = re.compile(r"(?<=//)[^/\s]*@|[^/\s:@]*:[^/\s@]+@")
"""What stands before the host of an address, also of one that is none."""
_FIELD = re.compile(r'field "(\w+)"')
_WANTED = {
    "bool_parsing": "true or false",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number from {ge:g} on",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "{expected}",
}
"""By https://docs.pydantic.dev/latest/errors/validation_errors/."""


def wrong_values(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    """A sentence for each; no value of a secret is in it."""
    return [_sentence(item, settings) for item in error.errors()]


def _sentence(item: Any, settings: type[BaseModel]) -> str:
    name = "__".join(str(part) for part in item["loc"]).upper()
    field = _field(settings, item["loc"])
    if field is None:
        return f"{name}: {item['msg']}."
    is_secret = _mentions(field.annotation, SecretStr)
    if isinstance(item["input"], dict):  # one underscore too many, and pydantic looks for a group
        return " ".join(f"{name}__{str(key).upper()} is no setting, but {name} is one." for key in item["input"])
    shown = "" if is_secret else f"={_short(item['input'])}"
    if item["type"] == "value_error":
        return f"{name}{shown} {str(item['ctx']['error']).rstrip('.')}."
    if item["type"] == "dict_type":
        return f"{name}{shown} sets nothing. Write {name}__OPTION=VALUE."
    wanted = _WANTED.get(item["type"])
    if wanted is None:
        return f"{name}{shown} cannot be: {item['msg']}."
    default = field.default
    example = f", e.g. {_as_written(default)}" if isinstance(default, int | float) else ""
    return f"{name}{shown} cannot be. Write {wanted.format(**item.get('ctx', {}))}{example}."


def _field(settings: type[BaseModel], path: tuple[Any, ...]) -> FieldInfo | None:
    owner: Any = settings
    found = None
    for part in path:
        if not (isinstance(owner, type) and issubclass(owner, BaseModel)) or part not in owner.model_fields:
            return found
        found = owner.model_fields[part]
        owner = found.annotation
    return found


def _mentions(annotation: Any, wanted: type) -> bool:
    return annotation is wanted or any(_mentions(part, wanted) for part in get_args(annotation))


def _short(value: object) -> str:
    text = redact(_LOGIN.sub("", " ".join(str(value).split())))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _as_written(default: float | bool) -> str:  # noqa: FBT001  # a default is what it is
    return str(default).lower() if isinstance(default, bool) else f"{default:g}"


def unreadable(error: SettingsError, settings: type[BaseModel], given: Mapping[str, str]) -> str:
    """What is wrong where a value should be JSON, or a group's name is taken for a setting's, as a sentence."""
    names = {name.upper() for name, value in given.items() if value}
    if '"strategy"' in str(error):
        return "STRATEGY is not a setting: AGENTS__STRATEGY=NAME chooses, STRATEGY__NAME__OPTION=VALUE sets an option."
    if (found := _FIELD.search(str(error))) and _is_group(settings, found[1]):
        group = found[1].upper()
        if group in names:
            return (
                f"{group} is no setting, but what a group of them begins with: {group}__…, as .env.example lists them."
            )
        inside = sorted(name for name in names if name.startswith(f"{group}__"))
        wrong = [name for name in inside if not _is_json(given, name)]
        shown = [f"{name}={_short(_value(given, name))}" for name in wrong or inside]
        return f"{', '.join(shown)} cannot be read. {_AS_JSON}"
    return f"{error}. {_AS_JSON}"


def _is_group(settings: type[BaseModel], name: str) -> bool:
    field = settings.model_fields.get(name)
    return field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _is_json(given: Mapping[str, str], name: str) -> bool:
    try:
        json.loads(_value(given, name))
    except ValueError:
        return False
    return True


def _value(given: Mapping[str, str], name: str) -> str:
    return next(value for known, value in given.items() if known.upper() == name)
