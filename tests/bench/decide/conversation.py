"""An agent's history as the bench wants it: a person asks, the model looks things up with tools and answers."""

from __future__ import annotations

import json
import random
from itertools import cycle, islice
from typing import Any

from bot.messages import Message

CHARACTERS = 620
"""Of a message on average, as in the published figures of other systems (2,000 messages of 1.24 M characters)."""

_ROUNDS = 4
"""Calls and their results between a request and its answer."""
_REQUEST, _REPLY, _ANSWER = 200, 120, 800
_RESULT = ((2 + 2 * _ROUNDS) * CHARACTERS - _REQUEST - _ANSWER) // _ROUNDS - _REPLY - 60
_TEXT = """
    the a of to and in is it that for on with as this was be by are from or an at not have has file line test error
    value function module server request response database index commit review deploy release version customer order
    payment refund address schedule meeting report budget quarter timeout retry queue worker cache token context layer
    summary history plan branch merge conflict build failure warning threshold metric dashboard alert night morning
    because however therefore although before after between without instead already always never sometimes often
"""
_WORDS = _TEXT.split()


def agent_history(messages: int, *, seed: int = 1) -> list[Message]:
    """So many messages: requests, replies with a call, its results, answers. No two of their texts are the same."""
    rng = random.Random(seed)
    turns = (message for number in range(messages) for message in _turn(number, rng))
    return list(islice(turns, messages))


def characters(messages: list[Message]) -> int:
    """All that is said, called and returned, in characters."""
    return sum(_characters(message["content"]) for message in messages)


def _characters(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(
        len(block["text"])
        if block["type"] == "text"
        else _characters(block["content"])
        if block["type"] == "tool_result"
        else len(json.dumps(block["input"]))
        for block in content
    )


def _turn(number: int, rng: random.Random) -> list[Message]:
    turn: list[Message] = [Message(role="user", content=f"Request {number}: {_prose(_REQUEST, rng)}")]
    for round_, kind in zip(range(_ROUNDS), cycle(("prose", "json", "code")), strict=False):
        call_id = f"toolu_{number}_{round_}"
        path = f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{number}.py"
        call = {"type": "tool_use", "id": call_id, "name": "read_file", "input": {"path": path, "limit": 200}}
        turn.append(Message(role="assistant", content=[{"type": "text", "text": _prose(_REPLY, rng)}, call]))
        text = {"prose": _prose, "json": _json, "code": _code}[kind](_RESULT, rng)
        turn.append(Message(role="user", content=[{"type": "tool_result", "tool_use_id": call_id, "content": text}]))
    return [*turn, Message(role="assistant", content=[{"type": "text", "text": _prose(_ANSWER, rng)}])]


def _prose(length: int, rng: random.Random) -> str:
    return ". ".join(" ".join(rng.choices(_WORDS, k=14)).capitalize() for _ in range(length // 80 + 1))[:length]


def _json(length: int, rng: random.Random) -> str:
    rows = [
        {"id": rng.randrange(10**7), rng.choice(_WORDS): rng.choice(_WORDS), "ok": True} for _ in range(length // 50)
    ]
    return json.dumps(rows).ljust(length)[:length]


def _code(length: int, rng: random.Random) -> str:
    one, two = rng.choices(_WORDS, k=2)
    lines = [
        f"    if self.{one}_{n} is not {two.upper()}:\n        return {two}({n}, {one!r})" for n in range(length // 60)
    ]
    return "\n".join(lines).ljust(length)[:length]
