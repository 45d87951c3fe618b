"""Writes exports of any size, and remembers what was said in them.

A talk is made of sentences, of words of which a few are frequent and most are rare, as in any language. What is written
is never held in memory whole.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

_FREQUENT = "the of and to in is was it for that with on are this be at i you he she we they my your have not"
_ONSETS = (*"bcdfghjklmnprstvw", "st", "tr", "pl", "gr", "ch", "sh")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "n", "r", "s", "t", "l", "m", "nd", "rt", "ck")
_VOCABULARY = 30_000
_BEGIN = 1_700_000_000


@dataclass
class Written:
    """What a generated export holds. ``sentences``: every so-manieth of them, with the title of its conversation."""

    conversations: int = 0
    messages: int = 0
    sentences: list[tuple[str, str]] = field(default_factory=list)


class _Talk:
    """Makes what people and models say."""

    def __init__(self, seed: int, every: int) -> None:
        self.random = random.Random(seed)
        words = dict.fromkeys(_FREQUENT.split())
        while len(words) < _VOCABULARY:
            words["".join(self._syllable() for _ in range(self.random.choice((1, 2, 2, 3))))] = None
        self._words = list(words)
        self._weights = [*accumulate(1 / (rank + 2) for rank in range(len(self._words)))]
        self._every = every
        self._made = 0
        self._short_ids: set[str] = set()
        self.written = Written()

    def _syllable(self) -> str:
        return "".join(self.random.choice(sounds) for sounds in (_ONSETS, _VOWELS, _CODAS))

    def title(self) -> str:
        """Of a conversation, different from all others."""
        self.written.conversations += 1
        return f"{' '.join(self._drawn(3)).title()} {self.written.conversations}"

    def said(self, title: str, sentences: int) -> str:
        """So many sentences."""
        self.written.messages += 1
        made: list[str] = []
        for _ in range(sentences):
            words = self._drawn(self.random.randint(8, 16))
            if self.random.random() < 0.2:
                words.insert(self.random.randrange(len(words)), str(self.random.randrange(10_000)))
            sentence = " ".join(words).capitalize()
            self._made += 1
            if self._made % self._every == 0:
                self.written.sentences.append((title, sentence))
            made.append(f"{sentence}.")
        return " ".join(made)

    def exchange(self, title: str) -> tuple[str, str]:
        """A question and its answer."""
        return self.said(title, self.random.randint(1, 3)), self.said(title, self.random.randint(4, 14))

    def _drawn(self, count: int) -> list[str]:
        return self.random.choices(self._words, cum_weights=self._weights, k=count)

    def id(self) -> str:
        """Of anything."""
        return f"{self.random.getrandbits(128):032x}"

    def short_id(self) -> str:
        """Of a message of a session, unlike that of every other."""
        while (name := self.id()[:8]) in self._short_ids:
            pass
        self._short_ids.add(name)
        return name


def write(form: str, path: Path, size: int, *, seed: int = 1, every: int = 10) -> Written:
    """An export of about ``size`` bytes, with every so-manieth of its sentences."""
    talk = _Talk(seed, every)
    with path.open("w", encoding="utf-8") as file:
        _FORMS[form](talk, file, size)
    return talk.written


def _array(file: TextIO, size: int, made: Iterator[dict[str, Any]]) -> None:
    file.write("[")
    before = ""
    while file.tell() < size:
        file.write(before + json.dumps(next(made), ensure_ascii=False))
        before = ", "
    file.write("]")


def _chatgpt(talk: _Talk, file: TextIO, size: int) -> None:
    _array(file, size, _chatgpt_conversations(talk))


def _chatgpt_conversations(talk: _Talk) -> Iterator[dict[str, Any]]:
    at = float(_BEGIN)
    while True:
        title, mapping, parent = talk.title(), dict[str, Any](), "root"
        mapping["root"] = {"id": "root", "message": None, "parent": None, "children": []}
        began = at
        for _ in range(talk.random.randint(5, 30)):
            for role, text in zip(("user", "assistant"), talk.exchange(title), strict=True):
                at += 30
                name = talk.id()
                message = {
                    "id": name,
                    "author": {"role": role, "name": None, "metadata": {}},
                    "create_time": at,
                    "update_time": None,
                    "content": {"content_type": "text", "parts": [text]},
                    "status": "finished_successfully",
                    "end_turn": True,
                    "weight": 1.0,
                    "metadata": {"timestamp_": "absolute", "message_type": None},
                    "recipient": "all",
                }
                mapping[parent]["children"].append(name)
                mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
                parent = name
        head = {"title": title, "create_time": began, "update_time": at, "moderation_results": []}
        yield {**head, "mapping": mapping, "current_node": parent, "conversation_id": talk.id(), "is_archived": False}


def _claude(talk: _Talk, file: TextIO, size: int) -> None:
    _array(file, size, _claude_conversations(talk))


def _claude_conversations(talk: _Talk) -> Iterator[dict[str, Any]]:
    minute = 0
    while True:
        title, messages = talk.title(), list[dict[str, Any]]()
        for _ in range(talk.random.randint(5, 30)):
            for sender, text in zip(("human", "assistant"), talk.exchange(title), strict=True):
                minute += 1
                at = _iso(minute)
                block = {"start_timestamp": at, "stop_timestamp": at, "type": "text", "text": text, "citations": []}
                message = {"uuid": talk.id(), "text": "", "content": [block], "sender": sender}
                messages.append({**message, "created_at": at, "updated_at": at, "attachments": [], "files": []})
        head = {"uuid": talk.id(), "name": title, "created_at": _iso(minute), "updated_at": _iso(minute)}
        yield {**head, "account": {"uuid": "me"}, "chat_messages": messages}


def _telegram(talk: _Talk, file: TextIO, size: int) -> None:
    """One group, as Telegram Desktop indents it."""
    title = talk.title()
    head = json.dumps({"name": title, "type": "private_supergroup", "id": 1234567890})
    file.write(f'{head[:-1]},\n "messages": [\n')
    people = [(f"user{number}", name) for number, name in enumerate(("Ada", "Grace", "Alan", "Edsger"), start=100)]
    number, before = 0, ""
    while file.tell() < size:
        number += 1
        sender, name = talk.random.choice(people)
        text = talk.said(title, talk.random.randint(1, 3))
        message: dict[str, Any] = {
            "id": number,
            "type": "message",
            "date": _iso(number)[:19],
            "date_unixtime": str(_BEGIN + 60 * number),
            "from": name,
            "from_id": sender,
        }
        if number > 10 and talk.random.random() < 0.1:
            message["reply_to_message_id"] = number - talk.random.randint(1, 9)
        message |= {"text": text, "text_entities": [{"type": "plain", "text": text}]}
        file.write(before + json.dumps(message, ensure_ascii=False, indent=1))
        before = ",\n  "
    file.write("\n ]\n}")


def _openclaw(talk: _Talk, file: TextIO, size: int) -> None:
    """One long session."""
    title, before, minute = talk.title(), None, 0
    _line(file, {"type": "session", "version": 3, "id": talk.id(), "timestamp": _iso(0), "cwd": "/home/ada"})
    while file.tell() < size:
        asked, answered = talk.exchange(title)
        for role, text in (("user", asked), ("assistant", answered)):
            minute += 1
            name = talk.short_id()
            message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
            message["timestamp"] = (_BEGIN + 60 * minute) * 1_000
            _line(
                file, {"type": "message", "id": name, "parentId": before, "timestamp": _iso(minute), "message": message}
            )
            before = name


def _hermes(talk: _Talk, file: TextIO, size: int) -> None:
    """As `hermes sessions export` writes them."""
    number = 0
    while file.tell() < size:
        title, messages = talk.title(), list[dict[str, Any]]()
        for _ in range(talk.random.randint(5, 60)):
            for role, text in zip(("user", "assistant"), talk.exchange(title), strict=True):
                number += 1
                message = {"id": number, "role": role, "content": text, "tool_calls": None, "active": 1}
                messages.append({**message, "timestamp": _BEGIN + 60.0 * number})
        head = {"id": f"20260301_{number:06}_{talk.id()[:6]}", "source": "cli", "title": title, "model": "m"}
        _line(file, {**head, "started_at": _BEGIN + 60.0 * number, "messages": messages})


def _line(file: TextIO, value: dict[str, Any]) -> None:
    file.write(json.dumps(value, ensure_ascii=False) + "\n")


def _iso(minutes: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(_BEGIN + 60 * minutes, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


_FORMS: dict[str, Callable[[_Talk, TextIO, int], None]] = {
    "chatgpt": _chatgpt,
    "claude": _claude,
    "telegram": _telegram,
    "openclaw": _openclaw,
    "hermes": _hermes,
}
FORMS = tuple(_FORMS)
FILES = {
    "chatgpt": "conversations.json",
    "claude": "conversations.json",
    "telegram": "result.json",
    "openclaw": "session.jsonl",
    "hermes": "sessions.jsonl",
}
"""What each is called."""
