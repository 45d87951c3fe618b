"""`palimpsest estimate`: how many tokens a transcript takes, and which of its parts takes how many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.process import one_line_errors

if TYPE_CHECKING:
    from bot.app.cli.transcripts.file import Transcript


def estimate(
    file: Annotated[str, typer.Argument(help="A JSON list, an object with messages, or JSONL; - is standard input.")],
    model: Annotated[str | None, typer.Option(help="Count as this model's tokenizer does.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """How many tokens a transcript takes as a request, and where they are."""
    from bot.app.cli.transcripts.file import json_text, read_transcript
    from bot.compaction.manual.given import Given
    from bot.estimate import family_of

    with one_line_errors():
        transcript = read_transcript(file)
        model = model or transcript.model
        Given.of(transcript.messages)
        parts = parts_of(transcript, model)
    total, family, count = sum(parts.values()), family_of(model).value, len(transcript.messages)
    if as_json:
        print(json_text({"total": total, "parts": parts, "model": model, "family": family, "messages": count}))
        return
    for name, tokens in {"total": total, **parts}.items():
        print(f"{name:<14} {tokens:>11,}")
    print(f"{count:,} messages, in tokens of {model or 'the newest models'} (tokenizer family: {family})")


def parts_of(transcript: Transcript, model: str | None) -> dict[str, int]:
    """Tokens by part; together what ``estimate_tokens`` says of the whole request. A message's framing counts to its
    role, or to the tool results where it has nothing else."""
    from bot.estimate import chat_form, estimate_tokens
    from bot.estimate.meter import SYSTEM_PROMPT, TOOLS

    tools = transcript.tools
    system: list[Any] = [transcript.system, chat_form.system_of(transcript.messages)]
    messages = [message for _, message in chat_form.read(transcript.messages)]
    prompt = estimate_tokens([], system=system, model=model)
    head = estimate_tokens([], system=system, tools=tools, model=model)
    total = estimate_tokens(messages, system=system, tools=tools, model=model)
    guessed = {"user": 0.0, "assistant": 0.0, "tool calls": 0.0, "tool results": 0.0}
    for message in messages:
        for name, tokens in _by_kind(message, model).items():
            guessed[name] += tokens
    return {SYSTEM_PROMPT: prompt, TOOLS: head - prompt, **_rounded(guessed, total - head)}


def _by_kind(message: Mapping[str, Any], model: str | None) -> dict[str, float]:
    from bot.estimate import block_tokens, family_of, message_tokens

    family = family_of(model)
    blocks = message["content"] if not isinstance(message["content"], str) else ()
    calls = sum(block_tokens(block, family=family) for block in blocks if block["type"] == "tool_use")
    results = [block_tokens(block, family=family) for block in blocks if block["type"] == "tool_result"]
    rest = message_tokens(message, family=family) - calls - sum(results)
    if results and len(results) == len(blocks):
        return {"tool results": sum(results) + rest}
    return {message["role"]: rest, "tool calls": calls, "tool results": sum(results)}


def _rounded(guessed: Mapping[str, float], total: int) -> dict[str, int]:
    """Whole tokens that add up to ``total``: what rounding down leaves goes to the largest remainders."""
    floors = {name: int(tokens) for name, tokens in guessed.items()}
    left = total - sum(floors.values())
    upwards = sorted(guessed, key=lambda name: floors[name] - guessed[name])[:left]
    return {name: tokens + (name in upwards) for name, tokens in floors.items()}
