"""What Chat Completions refuses about the order of messages: calls and their results, roles, what was thought."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.servers.chat.manners import Manner
from tests.servers.chat.refusals import ChatRefused
from tests.servers.messages.wire import Json

SKIP = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures"""
_AFTER = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool"},
}
"""By mistral-common's validator of requests."""


def check_order(messages: Sequence[Json], manner: Manner) -> None:
    """Raise `ChatRefused` for messages that may not follow each other."""
    check_pairs(messages)
    if manner.order == "tool_then_assistant":
        _check_roles(messages)
    if manner.order == "alternate":
        _check_alternation(messages)
    if messages[-1]["role"] == "assistant" and not manner.last_assistant:
        raise ChatRefused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            type="invalid_request_message_order",
            code="3230",
        )
    match manner.thoughts:
        case "reasoning":
            _check_reasoning(messages)
        case "never":
            _check_no_reasoning(messages)
        case "signature":
            _check_signatures(messages)


def check_pairs(messages: Sequence[Json]) -> None:
    """Raise `ChatRefused` unless each call is followed by its one result, and each result follows its call."""
    open_: list[str] = []
    answered: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            _check_result(number, message, open_, answered)
            answered.add(message["tool_call_id"])
            continue
        _check_answered(number, open_, answered)
        open_, answered = [call["id"] for call in message.get("tool_calls") or ()], set()
    _check_answered(len(messages), open_, answered)


def _check_result(number: int, message: Json, calls: list[str], answered: set[str]) -> None:
    if not calls:
        raise ChatRefused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
            " 'tool_calls'.",
            param=f"messages.[{number}].role",
        )
    id_ = message["tool_call_id"]
    if id_ not in calls:
        raise ChatRefused(
            f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of previous message.",
            param=f"messages.[{number}].tool_call_id",
        )
    if id_ in answered:
        raise ChatRefused(
            f"Duplicate value for 'tool_call_id' of '{id_}' in message[{number}]",
            param=f"messages.[{number}].tool_call_id",
        )


def _check_answered(number: int, calls: list[str], answered: set[str]) -> None:
    missing = [call for call in calls if call not in answered]
    if missing:
        raise ChatRefused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}",
            param=f"messages.[{number}].role",
        )


def _check_roles(messages: Sequence[Json]) -> None:
    for before, after in pairwise(messages):
        if after["role"] not in _AFTER[before["role"]]:
            raise ChatRefused(
                f"Unexpected role '{after['role']}' after role '{before['role']}'",
                type="invalid_request_message_order",
                code="3230",
            )


def _check_alternation(messages: Sequence[Json]) -> None:
    """As in the templates of many models: https://github.com/charmbracelet/crush/issues/279"""
    if any(message["role"] == "system" for message in messages[1:]):
        raise ChatRefused("System message must be at the beginning.")
    said = [m["role"] for m in messages if m["role"] != "system"]
    for before, after in pairwise(said):
        if before == after and before != "tool":
            raise ChatRefused(
                "After the optional system message, conversation roles must alternate user and assistant roles except"
                " for tool calls and results."
            )


def _check_reasoning(messages: Sequence[Json]) -> None:
    """https://api-docs.deepseek.com/guides/thinking_mode"""
    for message in messages:
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            raise ChatRefused(
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                code="invalid_request_error",
            )


def _check_no_reasoning(messages: Sequence[Json]) -> None:
    """https://api-docs.deepseek.com/guides/reasoning_model"""
    for number, message in enumerate(messages):
        if "reasoning_content" in message:
            raise ChatRefused(
                f"The reasoning_content is an intermediate result for display purposes only and will not be included in"
                f" the context for inference. Please remove the reasoning_content from your message to reduce network"
                f" traffic. (messages[{number}])"
            )


def _check_signatures(messages: Sequence[Json]) -> None:
    """The first call of each step since people last spoke must have one, and one that this server gave."""
    spoke = max((n for n, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for number, message in enumerate(messages[spoke + 1 :], spoke + 1):
        if not message.get("tool_calls"):
            continue
        call = message["tool_calls"][0]
        signature = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
        if not signature:
            raise ChatRefused(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
                " correctly, and missing thought_signature may lead to degraded model performance. Additional data,"
                f" function call `default_api:{call['function']['name']}` , position {number + 1}. Please refer to"
                " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
        if signature != SKIP and not str(signature).startswith("signed-"):
            raise ChatRefused("Corrupted thought signature.")
