"""Clearing what tools returned: a line that says what it was stands in its place. Pure.

From eunice (FEATURES E2): ``[Tool: shell_exec returned 2847 chars, exit code 0]``.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.estimate import Family, messages_tokens
from bot.history import Entry, EntryKind
from bot.messages import Block, text_of, tool_calls

LONGEST_KEPT = 200
"""Characters: a longer output is cleared. The line in its place is shorter."""

_LONGEST_NAME = 64
_EDGE_LINES = 4
_EDGE_CHARACTERS = 800
_LONGEST_JSON = 1_000_000
_CODE_KEY = re.compile(r"(?:exit[_-]?(?:code|status)|return_?code)", re.IGNORECASE)
_STATED_CODE = re.compile(
    r"""
    \W{0,4}
    (?:(?:the\ )?(?:process|command|program|script|task|shell|job)\W{1,2})?
    (?:(?:has\ )?(?:exited|failed|finished|completed|terminated|ended)\W{1,2}(?:with\ )?)?
    (?:(?:non-zero|nonzero)\ )?
    (?:exit[\ _-]?(?:code|status)|return[\ _-]?code|errorlevel|(?<=exited\ with\ )(?:code|status))
    \W{0,4}?(?:(?:is|was)\ )?
    (?P<code>-?\d{1,10})
    (?=\W*$|\ ?[:;,.()\]<])
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Cleared:
    """What stands in place of the content of entries, by their seqs, and how many guessed tokens each of them frees."""

    blocks: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)
    saved: Mapping[int, int] = field(default_factory=dict)


def cleared(view: Sequence[Entry], before: int, *, only: Container[int] | None = None) -> Cleared:
    """Clear the long outputs among the first ``before`` entries, or of those alone with a seq in ``only``. What was
    cleared already is short, so it stays."""
    names: dict[str, str] = {}
    short: list[tuple[Entry, tuple[Block, ...]]] = []
    for entry in view[:before]:
        names.update((call["id"], str(call["name"])) for call in tool_calls(entry.blocks))  # some servers use ids again
        if only is not None and entry.seq not in only:
            continue
        if entry.kind is not EntryKind.RESULT or not any(_is_long(block) for block in entry.blocks):
            continue
        short.append((entry, tuple(_short(block, names) if _is_long(block) else block for block in entry.blocks)))
    messages = [{"role": entry.role, "content": list(blocks)} for entry, blocks in short]
    counts = map(math.ceil, messages_tokens(messages, family=Family.NEWER))
    saved = {entry.seq: entry.tokens - tokens for (entry, _), tokens in zip(short, counts, strict=True)}
    blocks = {entry.seq: blocks for entry, blocks in short if saved[entry.seq] > 0}
    return Cleared(blocks, {seq: saved[seq] for seq in blocks})


def exit_code(text: str) -> int | None:
    """The exit code that an output states: as a field of a JSON object, or in a line of its own among its first and
    last ones. Text that merely mentions one states none."""
    if text.lstrip().startswith("{") and len(text) <= _LONGEST_JSON and _CODE_KEY.search(text):
        try:
            return _field(json.loads(text))
        except (ValueError, RecursionError):
            return None
    return next(_stated(text), None)


def _field(output: object) -> int | None:
    """On the first or the second level: some tools put it beside the output, some into its metadata."""
    if not isinstance(output, dict):
        return None
    for level in (output, *(value for value in output.values() if isinstance(value, dict))):
        for key, code in level.items():
            if _CODE_KEY.fullmatch(key) and type(code) in (int, str) and re.fullmatch(r"-?\d{1,10}", str(code)):
                return int(code)
    return None


def _stated(text: str) -> Iterator[int]:
    last = text[-_EDGE_CHARACTERS:].splitlines()[-_EDGE_LINES:]
    first = text[:_EDGE_CHARACTERS].splitlines()[:_EDGE_LINES]
    for line in (*reversed(last), *first):
        if found := _STATED_CODE.match(line):
            yield int(found["code"])


def _is_long(block: Block) -> bool:
    """Pictures and documents are long whatever text stands beside them."""
    if block.get("type") != "tool_result":
        return False
    if isinstance(content := block.get("content"), str):
        return len(content) > LONGEST_KEPT
    texts, others = _parts(block)
    return bool(others) or sum(map(len, texts)) > LONGEST_KEPT


def _short(block: Block, names: Mapping[str, str]) -> Block:
    texts, others = _parts(block)
    name = " ".join(names.get(block["tool_use_id"], "an earlier call").split())[:_LONGEST_NAME]
    told = [f"{sum(map(len, texts))} chars", *(_counted(kind, number) for kind, number in others.items())]
    code = next((code for text in texts if (code := exit_code(text)) is not None), None)
    if code is not None:
        told.append(f"exit code {code}")
    if block.get("is_error"):
        told.append("an error")
    return {**block, "content": f"[Tool: {name} returned {', '.join(told)}]"}


_CLEARED = re.compile(r"\[Tool: [^\n]{1,200} returned \d{1,12} chars[^\n]{0,200}\]")


def is_cleared(block: Block) -> bool:
    """Whether a result is what :func:`cleared` left of one: that is no tool's word."""
    return block.get("type") == "tool_result" and bool(_CLEARED.fullmatch(text_of(block.get("content") or "")))


def _parts(block: Block) -> tuple[list[str], Counter[str]]:
    """The texts of a result, and how many parts of other types it has."""
    content: Any = block.get("content")
    if isinstance(content, str):
        return [content], Counter()
    parts = list(content or ())
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    return texts, Counter(str(part.get("type")) for part in parts if part.get("type") != "text")


def _counted(kind: str, number: int) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"
