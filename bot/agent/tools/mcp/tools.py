"""What a server offers, as tools that a model can be offered.

A definition that the Messages API refuses would fail every request, so definitions are mended where that changes
nothing for the server, and left out otherwise. https://docs.claude.com/en/docs/agents-and-tools/tool-use
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

MOST_TOOLS = 100
"""Of one server."""
_LONGEST_SERVER = 40
_LONGEST_TOOL = 76
"""With the digest that tells cut names apart, a name has at most 127 of 128 characters."""
_LONGEST_DESCRIPTION = 4_000
_MOST_SCHEMA = 20_000
"""Characters of a schema as JSON."""
_DIGEST_BYTES = 4
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf")
"""What the Messages API does not take there. The server checks it all the same."""
_HINTS = ("readOnlyHint", "idempotentHint")


@dataclass(frozen=True)
class Offer:
    """A tool as its server offers it. ``harmless``: the server says that it changes nothing, or nothing more when it
    is called again."""

    name: str
    description: str
    schema: Mapping[str, Any]
    harmless: bool = False


def mended_listing(tools: object) -> tuple[list[dict[str, Any]], list[str]]:
    """The tools of a raw ``tools/list`` result that can be used, each with only what is used of it, and a sentence
    for each that was left out. One tool that breaks the protocol would else cost all of them."""
    kept: list[dict[str, Any]] = []
    problems: list[str] = []
    given = tools if isinstance(tools, list) else []
    for tool in given[:MOST_TOOLS]:
        try:
            kept.append(_mended(tool))
        except (ValueError, RecursionError) as error:
            problems.append(str(error) or "a schema that is nested too deep")
    if len(given) > MOST_TOOLS:
        problems.append(f"{len(given) - MOST_TOOLS:,} tools after the first {MOST_TOOLS}")
    return kept, problems


def unique_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A name for each pair of server and tool: ``server__tool``, as the Messages API takes names, none twice.

    The same pairs get the same names, in whatever order they come.
    """
    names: dict[tuple[str, str], str] = {}
    for server, tool in sorted(set(pairs)):
        safe_server, safe_tool = _UNSAFE.sub("_", server), _UNSAFE.sub("_", tool)
        name = f"{safe_server[:_LONGEST_SERVER]}__{safe_tool[:_LONGEST_TOOL]}"
        if name in names.values() or len(safe_server) > _LONGEST_SERVER or len(safe_tool) > _LONGEST_TOOL:
            digest = blake2s(repr((server, tool)).encode(), digest_size=_DIGEST_BYTES)
            name = f"{name}_{digest.hexdigest()}"
        names[server, tool] = name
    return names


def _mended(tool: object) -> dict[str, Any]:
    """Raises ValueError with a sentence for a tool that cannot be used."""
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or not isinstance(name, str) or not name:
        raise ValueError("a tool without a name")
    description = tool.get("description")
    hints = tool.get("annotations")
    return {
        "name": name,
        "description": description[:_LONGEST_DESCRIPTION] if isinstance(description, str) else "",
        "inputSchema": _mended_schema(name[:_LONGEST_TOOL], tool.get("inputSchema")),
        "annotations": {key: isinstance(hints, dict) and hints.get(key) is True for key in _HINTS},
    }


def _mended_schema(name: str, schema: object) -> dict[str, Any]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if schema is None:
        return {"type": "object"}
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise ValueError(f"{name}: its arguments are no object")
    mended = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP and key != "$schema"}
    mended["type"] = "object"
    if len(json.dumps(mended, ensure_ascii=False, allow_nan=False)) > _MOST_SCHEMA:
        raise ValueError(f"{name}: its schema has more than {_MOST_SCHEMA:,} characters")
    try:
        Draft202012Validator.check_schema(mended)
    except SchemaError as error:
        raise ValueError(f"{name}: its schema is no JSON schema: {error.message[:200]}") from error
    if strange := [key for key in mended.get("properties", {}) if not _PROPERTY.fullmatch(key)]:
        raise ValueError(f"{name}: models cannot be given an argument called {strange[0][:40]!r}")
    return mended
