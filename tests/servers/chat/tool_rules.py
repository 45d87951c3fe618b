"""What Chat Completions refuses about tools and their calls."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from tests.servers.chat.manners import Manner
from tests.servers.chat.refusals import ChatRefused
from tests.servers.messages.wire import Json

NAME = r"^[a-zA-Z0-9_-]+$"
LONGEST_NAME = 64
MOST_TOOLS = 128
_NO_EFFORT_WITH_TOOLS = re.compile(r"gpt-(5\.[2-9]|[6-9])")
_NONE_WITH_TOOLS = re.compile(r"gpt-(5\.[5-9]|[6-9])")


def check_tools(body: Json, manner: Manner) -> None:
    """Raise `ChatRefused` for wrong definitions, or for a wish about tools without any."""
    tools = body.get("tools")
    if tools is None:
        _check_none_wanted(body)
        return
    if not tools:
        raise ChatRefused(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param="tools",
            code="empty_array",
        )
    if len(tools) > MOST_TOOLS:
        raise ChatRefused(
            f"Invalid 'tools': array too long. Expected an array with maximum length {MOST_TOOLS}, but got an array"
            f" with length {len(tools)} instead.",
            param="tools",
            code="array_above_max_length",
        )
    _check_effort(body, manner)
    names = [_check_tool(f"tools[{number}]", tool, manner) for number, tool in enumerate(tools)]
    if manner.names_unique and len(set(names)) < len(names):
        raise ChatRefused("Tool names must be unique.")
    _check_choice(body.get("tool_choice"), names, manner)


def _check_effort(body: Json, manner: Manner) -> None:
    """https://github.com/openai/openai-openapi/issues/541, https://github.com/BerriAI/litellm/pull/34569: from 5.5 on,
    saying nothing is as good as saying something."""
    effort, model = body.get("reasoning_effort"), str(body["model"])
    wrong = _NO_EFFORT_WITH_TOOLS.match(model) and effort not in (None, "none")
    silent = _NONE_WITH_TOOLS.match(model) and effort is None
    if manner.name in ("openai", "azure") and (wrong or silent):
        raise ChatRefused(
            f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use"
            " function tools, use /v1/responses or set reasoning_effort to 'none'.",
            param="reasoning_effort",
        )


def _check_none_wanted(body: Json) -> None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and body[name] != "none":
            raise ChatRefused(
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", param=name
            )


def _check_tool(at: str, tool: Any, manner: Manner) -> str:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        kind = tool.get("type") if isinstance(tool, dict) else None
        raise ChatRefused(
            f"Invalid value: '{kind}'. Supported values are: 'function'.", param=f"{at}.type", code="invalid_value"
        )
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ChatRefused(
            f"Missing required parameter: '{at}.function.name'.",
            param=f"{at}.function.name",
            code="missing_required_parameter",
        )
    for name in (tool.keys() - {"type", "function"}) | (
        function.keys() - {"name", "description", "parameters", "strict"}
    ):
        if manner.refuses_unknown:
            raise ChatRefused(f"Unknown parameter: '{at}.{name}'.", param=f"{at}.{name}", code="unknown_parameter")
    _check_name(f"{at}.function.name", function["name"])
    longest, description = manner.longest_description, function.get("description") or ""
    if longest is not None and len(description) > longest:
        raise ChatRefused(
            f"Invalid '{at}.function.description': string too long. Expected a string with maximum length {longest},"
            f" but got a string with length {len(description)} instead.",
            param=f"{at}.function.description",
            code="string_above_max_length",
        )
    _check_schema(at, function)
    return str(function["name"])


def _check_name(at: str, name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise ChatRefused(
            f"Invalid '{at}': string too long. Expected a string with maximum length {LONGEST_NAME}, but got a string"
            f" with length {len(name)} instead.",
            param=at,
            code="string_above_max_length",
        )
    if not re.match(NAME, name):
        raise ChatRefused(
            f"Invalid '{at}': string does not match pattern. Expected a string that matches the pattern '{NAME}'.",
            param=at,
            code="invalid_value",
        )


def _check_schema(at: str, function: Json) -> None:
    schema = function.get("parameters")
    if schema is None:
        return  # a function without parameters

    def wrong(why: str) -> ChatRefused:
        return ChatRefused(
            f"Invalid schema for function '{function['name']}': {why}",
            param=f"{at}.function.parameters",
            code="invalid_function_parameters",
        )

    if not isinstance(schema, dict) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, dict) else schema
        raise wrong(f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.")
    if why := _why_no_schema(json.dumps(schema)):
        raise wrong(why)
    for name, inner in (schema.get("properties") or {}).items():
        if isinstance(inner, dict) and inner.get("type") == "array" and "items" not in inner:
            raise wrong(f"In context=('properties', '{name}'), array schema missing items.")


@lru_cache(256)  # each request brings the same tools, and to read a schema by the rules takes milliseconds
def _why_no_schema(text: str) -> str:
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError as error:
        return str(error.message)
    return ""


def _check_choice(choice: Any, names: list[str], manner: Manner) -> None:
    if choice is None or choice in ("auto", "required", "none"):
        if choice == "none" and not manner.tool_choice_none:
            raise ChatRefused("Invalid value: 'none'. Supported values are: 'auto' and 'required'.")
        return
    if isinstance(choice, dict) and choice.get("type") == "function" and isinstance(choice.get("function"), dict):
        if choice["function"].get("name") in names:
            return
        raise ChatRefused(
            f"Tool choice '{choice['function'].get('name')}' not found in 'tools' parameter.", param="tool_choice"
        )
    raise ChatRefused(
        f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.",
        param="tool_choice",
        code="invalid_value",
    )


def check_calls(number: int, message: Json, manner: Manner) -> None:
    """Raise `ChatRefused` unless these are calls as a model makes them."""
    if "tool_calls" not in message:
        return
    at, calls = f"messages[{number}].tool_calls", message["tool_calls"]
    if calls is None and manner.refuses_unknown:
        raise ChatRefused(
            f"Invalid type for '{at}': expected an array of objects, but got null instead.",
            param=at,
            code="invalid_type",
        )
    if calls == []:
        raise ChatRefused(
            f"Invalid '{at}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param=at,
            code="empty_array",
        )
    seen: set[str] = set()
    for place, call in enumerate(calls or ()):
        _check_call(f"{at}[{place}]", call, manner)
        if call["id"] in seen and call["id"]:
            raise ChatRefused(
                f"Duplicate value for 'tool_call_id' of '{call['id']}' in message[{number}]",
                param=f"messages.[{number}].tool_calls",
            )
        seen.add(call["id"])


def _check_call(at: str, call: Any, manner: Manner) -> None:
    if not isinstance(call, dict):
        raise ChatRefused(f"Invalid type for '{at}': expected an object.", param=at, code="invalid_type")
    function = call.get("function")
    for name, value in (("id", call.get("id")), ("type", call.get("type")), ("function", function)):
        if value is None:
            raise ChatRefused(
                f"Missing required parameter: '{at}.{name}'.", param=f"{at}.{name}", code="missing_required_parameter"
            )
    extra = {"extra_content"} if "extra_content" in manner.message_fields else set()
    for name in call.keys() - {"id", "type", "function"} - extra:
        if manner.refuses_unknown:
            raise ChatRefused(f"Unknown parameter: '{at}.{name}'.", param=f"{at}.{name}", code="unknown_parameter")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        raise ChatRefused(
            f"Invalid type for '{at}.function.arguments': expected a string, but got an object instead.",
            param=f"{at}.function.arguments",
            code="invalid_type",
        )
    if not isinstance(function.get("name"), str):
        raise ChatRefused(f"Missing required parameter: '{at}.function.name'.", param=f"{at}.function.name")
    _check_name(f"{at}.function.name", function["name"])
    if not re.fullmatch(manner.call_id, call["id"]):
        raise _wrong_id(at, call["id"], manner)


def _wrong_id(at: str, id_: str, manner: Manner) -> ChatRefused:
    if manner.form == "mistral":
        return ChatRefused(
            f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9.",
            type="invalid_function_call",
            code="3280",
        )
    return ChatRefused(
        f"Invalid '{at}.id': string too long. Expected a string with maximum length 40, but got a string with length"
        f" {len(id_)} instead.",
        param=f"{at}.id",
        code="string_above_max_length",
    )
