"""The prompt cache: which part of a prompt was read before."""

import hashlib
import json
from collections.abc import Iterator

from tests.servers.messages_wire import (
    MESSAGE_TOKENS,
    Json,
    Usage,
    blocks_of,
    count,
    tokens_of_content,
    tokens_of_tools,
)


class PromptCache:
    """Remembers prompts up to each cache mark, and finds the longest one it has seen.

    A prompt's parts are its tools, its system prompt and each message, in that order. A
    mark in a part stores everything up to the end of that part; one at the top level
    stores it all. As with the real one only marked prefixes are stored, so an unmarked
    system prompt is not found again behind which the messages changed.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def clear(self) -> None:
        """Forget everything, as after five minutes."""
        self._seen.clear()

    def account(self, body: Json) -> Usage:
        """Split a prompt's tokens, and remember its marked prefixes."""
        prefixes = list(_prefixes(body))
        if body.get("cache_control"):
            key, tokens, _ = prefixes[-1]
            prefixes[-1] = (key, tokens, True)
        total = count(body)
        marked = [(key, tokens) for key, tokens, has_mark in prefixes if has_mark]
        if not marked:
            return Usage(input_tokens=total)
        end = marked[-1][1]
        read = max((t for k, t, _ in prefixes if k in self._seen and t <= end), default=0)
        self._seen.update(key for key, _ in marked)
        return Usage(
            input_tokens=total - end,
            cache_creation_input_tokens=end - read,
            cache_read_input_tokens=read,
        )


def _prefixes(body: Json) -> Iterator[tuple[str, int, bool]]:
    """Key, tokens, and whether it ends in a marked part, for every prefix."""
    digest = hashlib.sha256(str(body["model"]).encode())
    tools = body.get("tools") or []
    system = blocks_of(body.get("system"))
    parts: list[tuple[object, int]] = [
        (tools, tokens_of_tools(tools)),
        (system, tokens_of_content(system)),
    ]
    for message in body["messages"]:
        content = blocks_of(message["content"])
        tokens = MESSAGE_TOKENS + tokens_of_content(content)
        parts.append(([{"role": message["role"]}, *content], tokens))
    total = 0
    for part, tokens in parts:
        plain = json.dumps(_without_marks(part), sort_keys=True)
        digest.update(plain.encode() + b"\0")
        total += tokens
        yield digest.hexdigest(), total, _has_mark(part)


def _without_marks(part: object) -> object:
    """The same with every `cache_control` left out: moving a mark changes no prompt."""
    if isinstance(part, dict):
        kept = {k: v for k, v in part.items() if k != "cache_control"}
        return {key: _without_marks(value) for key, value in kept.items()}
    return [_without_marks(item) for item in part] if isinstance(part, list) else part


def _has_mark(part: object) -> bool:
    if isinstance(part, dict):
        return bool(part.get("cache_control")) or _has_mark(part.get("content"))
    return any(map(_has_mark, part)) if isinstance(part, list) else False
