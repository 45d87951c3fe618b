"""What Chat Completions refuses of a request, in OpenAI's words where a provider has none of its own.

The fields are those of https://github.com/openai/openai-openapi. Wordings are of error messages quoted in public issue
trackers where there was one at hand, and otherwise from memory (wrong types, empty arrays, files): what is refused is
to be relied on, how exactly that is said is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.servers.chat.manners import Manner
from tests.servers.chat.order_rules import check_order
from tests.servers.chat.part_rules import check_content
from tests.servers.chat.refusals import ChatRefused
from tests.servers.chat.tool_rules import check_calls, check_tools
from tests.servers.messages.wire import Json

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
MOST_MESSAGES = 2048

_MESSAGE_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"content", "name"}),
    "developer": frozenset({"content", "name"}),
    "user": frozenset({"content", "name"}),
    "assistant": frozenset({"content", "name", "refusal", "audio", "tool_calls", "function_call"}),
    "tool": frozenset({"content", "tool_call_id"}),
    "function": frozenset({"content", "name"}),
}
_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "model": (str, "a string"),
    "messages": (list, "an array of objects"),
    "tools": (list, "an array of objects"),
    "stream": (bool, "a boolean"),
    "stream_options": (dict, "an object"),
    "parallel_tool_calls": (bool, "a boolean"),
    "max_tokens": (int, "an integer"),
    "max_completion_tokens": (int, "an integer"),
    "temperature": ((int, float), "a decimal"),
}


@dataclass(frozen=True)
class ChatRules:
    """What is checked. ``longest_answer``: tokens."""

    manner: Manner
    longest_answer: int

    def check(self, body: Json) -> None:
        """Raise `ChatRefused` for the first thing that is wrong, but for the length of the prompt."""
        self._check_fields(body)
        self._check_answer(body)
        self._check_stream(body)
        messages = body["messages"]
        for number, message in enumerate(messages):
            self._check_message(number, message)
        check_order(messages, self.manner)
        check_tools(body, self.manner)

    def _check_fields(self, body: Json) -> None:
        if "model" not in body:
            raise ChatRefused("you must provide a model parameter")
        if "messages" not in body:
            raise ChatRefused(
                "Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter"
            )
        for name in body:
            if name not in self.manner.fields and self.manner.refuses_unknown:
                raise self._unknown(name)
        for name, (kind, called) in _TYPES.items():
            value = body.get(name)
            if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
                raise ChatRefused(
                    f"Invalid type for '{name}': expected {called}, but got {_called(value)} instead.",
                    param=name,
                    code="invalid_type",
                )
        if not body["messages"]:
            raise ChatRefused(
                "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array"
                " instead.",
                param="messages",
                code="empty_array",
            )
        if len(body["messages"]) > MOST_MESSAGES:
            raise ChatRefused(
                f"Invalid 'messages': array too long. Expected an array with maximum length {MOST_MESSAGES}, but got an"
                f" array with length {len(body['messages'])} instead.",
                param="messages",
                code="array_above_max_length",
            )

    def _unknown(self, name: str, at: str | None = None) -> ChatRefused:
        if self.manner.form == "mistral":
            return ChatRefused(f"Extra inputs are not permitted: body.{at or name}", status=422, code="extra_forbidden")
        if self.manner.name == "groq" and at is not None:
            return ChatRefused(f"'{at.rpartition('.')[0]}' : property '{name}' is unsupported")
        return ChatRefused(f"Unknown parameter: '{at or name}'.", param=at or name, code="unknown_parameter")

    def _check_answer(self, body: Json) -> None:
        for name in ("max_tokens", "max_completion_tokens"):
            wanted = body.get(name)
            if wanted is None:
                continue
            if name == self.manner.answer:
                raise ChatRefused(
                    f"Unsupported parameter: '{name}' is not supported with this model. Use 'max_completion_tokens'"
                    " instead.",
                    param=name,
                    code="unsupported_parameter",
                )
            if wanted < 1:
                raise ChatRefused(
                    f"Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {wanted} instead.",
                    param=name,
                    code="integer_below_min_value",
                )
            if wanted > self.longest_answer:
                raise ChatRefused(
                    f"max_tokens is too large: {wanted}. This model supports at most {self.longest_answer} completion"
                    f" tokens, whereas you provided {wanted}.",
                    param=name,
                    code="invalid_value",
                )
        if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
            raise ChatRefused(
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
                code="invalid_parameter_combination",
            )

    def _check_stream(self, body: Json) -> None:
        if body.get("stream_options") is None:
            return
        if not body.get("stream"):
            raise ChatRefused(
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
            )
        for name in body["stream_options"].keys() - {"include_usage", "include_obfuscation"}:
            raise self._unknown(name, f"stream_options.{name}")

    def _check_message(self, number: int, message: Any) -> None:
        at = f"messages[{number}]"
        if not isinstance(message, dict):
            raise ChatRefused(
                f"Invalid type for '{at}': expected an object, but got {_called(message)} instead.",
                param=at,
                code="invalid_type",
            )
        role = message.get("role")
        if role not in ROLES or (role == "developer" and self.manner.name not in ("openai", "azure", "openrouter")):
            supported = ", ".join(f"'{one}'" for one in ROLES[:-1])
            raise ChatRefused(
                f"Invalid value: '{role}'. Supported values are: {supported}, and '{ROLES[-1]}'.",
                param=f"{at}.role",
                code="invalid_value",
            )
        extra = self.manner.message_fields if role == "assistant" else frozenset()
        for name in message.keys() - _MESSAGE_FIELDS[role] - extra - {"role"}:
            if self.manner.refuses_unknown:
                raise self._unknown(name, f"{at}.{name}")
        if role == "assistant":
            check_calls(number, message, self.manner)
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise ChatRefused(
                f"Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'. ({at})",
                param=f"messages.[{number}].tool_call_id",
            )
        check_content(number, message, self.manner)


def _called(value: object) -> str:
    names: list[tuple[Callable[[object], bool], str]] = [
        (lambda v: v is None, "null"),
        (lambda v: isinstance(v, bool), "a boolean"),
        (lambda v: isinstance(v, str), "a string"),
        (lambda v: isinstance(v, int), "an integer"),
        (lambda v: isinstance(v, float), "a decimal number"),
        (lambda v: isinstance(v, Sequence), "an array"),
    ]
    return next((name for is_one, name in names if is_one(value)), "an object")
