"""What the chunks of one streamed answer come to, in all the shapes in which endpoints send them.

Nothing is taken for granted but that a chunk is an object: arguments come in pieces or at once, calls one after the
other or by turns, with their number, their id and their name in each piece, in the first alone, or not at all; usage
in the last chunk, in each, or nowhere. A whole answer that is not streamed is one chunk.
https://platform.openai.com/docs/api-reference/chat/streaming
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import from_json

from bot.errors import ModelOverflow
from bot.history import REASONING, Usage
from bot.messages import Block, text_block
from bot.model.base import CUT_OFF, Reply
from bot.model.chat.conversion import is_lasting, keeps_reasoning
from bot.model.chat.think_tags import ThinkTags
from bot.model.foreign import CALL_ID
from bot.model.provider_errors import no_end
from bot.runtime.amounts import NANO
from bot.runtime.providers import Quirks

REFUSED = "refusal"
_OWN_ID = re.compile(r"[a-zA-Z0-9_-]{9,40}")
"""Shorter ones are counted anew in every answer."""
_TEXT_THOUGHTS = ("reasoning_content", "reasoning")
"""Where thoughts stand as a text; which of them is used changes with a server's version."""
_GROWING = ("text", "summary", "data")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens"})
_OUT_OF_WINDOW = "model_length"
_DECLINED = re.compile(r"content_?filter|refusal|safety|prohibited|sensitive|recitation|blocklist|\bspii\b")
_BROKEN = re.compile(r"error|malformed|insufficient_system_resource|abort|cancel")
_HIGH = re.compile(r"[\ud800-\udbff]\Z")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


class ErrorInStream(Exception):
    """An error in the middle of an answer, in the form in which an SDK has one."""

    status_code = 200

    def __init__(self, body: object) -> None:
        super().__init__("The answer broke off.")
        self.message = str(self)
        self.body = body


@dataclass
class _Call:
    """``number``: its own in the answer, where it has one."""

    number: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    given: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        """As far as they came."""
        return "".join(self.pieces)


@dataclass
class ChatStream:
    """``text``: all that was said so far; tokens in ``usage``; ``finish``: why it ended, in the endpoint's words; empty
    until then; ``answered_by``: what it calls the model that answers."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: str = ""
    answered_by: str = ""
    id: str = ""
    """What it calls the answer."""
    nano: int | None = None
    """What it says that the answer cost, in nano-dollars."""
    _held: str = ""
    """Half a character."""
    _refused: bool = False
    _tags: ThinkTags = field(default_factory=ThinkTags)
    _calls: list[_Call] = field(default_factory=list)
    _thought: list[str] = field(default_factory=list)
    _details: list[dict[str, Any]] = field(default_factory=list)
    _chunks: list[str] = field(default_factory=list)

    def take(self, chunk: Any) -> bool:
        """The next one; True when the text grew. Raises ErrorInStream for one that says that it all went wrong, and
        TypeError, AttributeError or ValueError for what is no chunk."""
        if not isinstance(chunk, Mapping):
            raise TypeError("a chunk is an object")
        if problem := chunk.get("error") or (chunk if chunk.get("object") == "error" else None):
            raise ErrorInStream(problem)
        self.answered_by = str(chunk.get("model") or self.answered_by)
        self.id = str(chunk.get("id") or self.id)
        self._count(chunk.get("usage"))
        self._count(_mapping(chunk.get("x_groq")).get("usage"))
        grew = False
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue  # one was asked for
            if problem := choice.get("error"):
                raise ErrorInStream(problem)
            self._count(choice.get("usage"))
            self.finish = str(choice.get("finish_reason") or self.finish)
            grew |= self._grow(_mapping(choice.get("delta")) or _mapping(choice.get("message")))
        return grew

    @property
    def received(self) -> str:
        """All that came, thoughts and the arguments of calls too, as far as it came."""
        calls = (call.name + call.arguments for call in self._calls)
        return "".join((*self._thought, *self._chunks, self._tags.thought, self.text, *calls))

    def reply(
        self,
        quirks: Quirks,
        *,
        place: str,
        model: str,
        names: Mapping[str, str],
        used: Collection[str],
        new_id: Callable[[], str],
        ended: bool = True,
    ) -> Reply:
        """The answer. ``names``: ours, of tools that are called otherwise there; ``used``: the ids of calls that the
        page has already; ``new_id`` makes one; ``ended``: the endpoint said that nothing follows.

        Raises ModelOverflow, and TryAgain for an answer that broke off.
        """
        if self.finish == _OUT_OF_WINDOW:
            raise ModelOverflow("The answer ran into the end of the model's window.")
        if _BROKEN.search(self.finish.lower()) or not (self.finish or ended):
            raise no_end()
        self._say(self._tags.end(is_cut=self._is_cut))
        calls, given, broken = self._all_calls(names, used, new_id)
        thoughts = self._thoughts(quirks, given) if keeps_reasoning(quirks, calls=bool(calls)) else None
        blocks: list[Block] = []
        if thoughts:
            kept = {"type": REASONING, "place": place, "model": model, "field": quirks.reasoning, "value": thoughts}
            blocks.append({**kept, "lasting": True} if is_lasting(quirks) else kept)
        if self.text.strip():
            blocks.append(text_block(self.text))
        usage = replace(self.usage, reasoning=0 if thoughts else self._reasoning())
        return Reply((*blocks, *calls), usage, self._stop_reason(calls=bool(calls)), self.answered_by, broken)

    def _reasoning(self) -> int:
        """Tokens that were only thought: where nothing is told of them, their share of the answer by length."""
        thoughts = sum(map(len, (*self._thought, *self._chunks, self._tags.thought)))
        return self.usage.reasoning or (self.usage.output * thoughts // len(self.received) if thoughts else 0)

    def _stop_reason(self, *, calls: bool) -> str:
        finish = self.finish.lower()
        if self._refused or _DECLINED.search(finish):  # what was declined in the middle of a call is not called
            return REFUSED
        if calls:
            return "tool_use"
        return CUT_OFF if self._is_cut else "end_turn"

    def _grow(self, delta: Mapping[str, Any]) -> bool:
        before = len(self.text)
        for words in _texts(delta.get("content")):
            self._say(self._tags.take(words))
        if isinstance(declined := delta.get("refusal"), str) and declined:
            self._refused = True
            self._say(self._tags.end(is_cut=False) + declined)
        self._think(delta)
        if legacy := delta.get("function_call"):
            self._call({"index": 0, "function": legacy})
        calls = delta.get("tool_calls") or ()
        for call in [calls] if isinstance(calls, Mapping) else calls:
            self._call(call)
        if self._calls and delta.get("extra_content"):
            self._calls[-1].extra = _mapping(delta["extra_content"])
        return len(self.text) > before

    def _say(self, words: str) -> None:
        """A character may come in two halves."""
        words = self._held + words
        self._held = words[-1] if _HIGH.search(words) else ""
        self.text += _mended(words.removesuffix(self._held) if self._held else words)

    def _think(self, delta: Mapping[str, Any]) -> None:
        self._thought += [delta[name] for name in _TEXT_THOUGHTS if isinstance(delta.get(name), str)][:1]
        for detail in delta.get("reasoning_details") or ():
            self._think_in_detail(dict(detail))
        content = delta.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") == "thinking":
                self._chunks += _texts(part.get("thinking"))

    def _think_in_detail(self, detail: dict[str, Any]) -> None:
        """https://openrouter.ai/docs/guides/best-practices/reasoning-tokens"""
        last = self._details[-1] if self._details else {}
        is_more = (last.get("type"), last.get("index")) == (detail.get("type"), detail.get("index"))
        if not is_more or "data" in detail:
            self._details.append(detail)
            return
        for name, value in detail.items():
            if name in _GROWING and isinstance(value, str):
                last[name] = f"{last.get(name) or ''}{value}"
            elif value is not None:
                last[name] = value

    def _call(self, piece: Mapping[str, Any]) -> None:
        asked = _mapping(piece.get("function")) or piece
        name, given = str(asked.get("name") or ""), asked.get("arguments")
        number, own = piece.get("index"), str(piece.get("id") or "")
        call = self._goes_on(number, own, name, given)
        if call is None:
            if own and any(own == it.id and given in (it.given, it.arguments) for it in self._calls):
                return  # said again, as a whole
            call = _Call(number if isinstance(number, int) else None, own)
            self._calls.append(call)
        if name and name != call.name and not call.pieces:
            call.name += name
        if isinstance(given, Mapping):
            call.given = given
        elif isinstance(given, str) and given:
            call.pieces.append(given)
        if extra := _mapping(piece.get("extra_content")):
            call.extra = extra

    def _goes_on(self, number: Any, own: str, name: str, given: Any) -> _Call | None:
        """The call that a piece is more of; None for a new one. A number or an id may be missing, or be the same for
        all; then a name begins the next call, unless what is there is waiting for its arguments."""
        if isinstance(number, int):
            known = next((call for call in reversed(self._calls) if call.number == number), None)
        elif own:
            known = next((call for call in reversed(self._calls) if call.id == own), None)
        else:
            known = self._calls[-1] if self._calls else None
        if known is None or not name or not known.name:
            return known
        if own and known.id and own != known.id:
            return None
        if known.given is None and not _is_object(known.arguments):
            return known
        has_own = bool(own) or isinstance(number, int)
        brings = isinstance(given, Mapping) or (isinstance(given, str) and given.lstrip().startswith("{"))
        return None if name != known.name or brings or not has_own else known

    def _all_calls(
        self, names: Mapping[str, str], used: Collection[str], new_id: Callable[[], str]
    ) -> tuple[list[Block], dict[str, Mapping[str, Any]], frozenset[str]]:
        """The calls, what came with each besides, by its id, and which of them are broken."""
        taken = set(used)
        calls: list[Block] = []
        extras: dict[str, Mapping[str, Any]] = {}
        broken = set[str]()
        for call in self._calls:
            if not call.name and not call.arguments and not call.given:
                continue
            is_own = _OWN_ID.fullmatch(call.id) and call.id not in taken and call.id != call.name
            own = call.id if is_own else new_id()
            assert re.fullmatch(CALL_ID, own)
            taken.add(own)
            given = call.given
            if given is None:
                given, is_whole = _arguments(_mended(call.arguments))
                never_began = not call.arguments.strip() and call is self._calls[-1] and self._is_cut
                if never_began or not is_whole:
                    broken.add(own)
            name = _mended(names.get(call.name, call.name)) or "unnamed"
            calls.append({"type": "tool_use", "id": own, "name": name, "input": dict(given)})
            if call.extra:
                extras[own] = call.extra
        return calls, extras, frozenset(broken)

    @property
    def _is_cut(self) -> bool:
        return self.finish.lower() in _CUT

    def _thoughts(self, quirks: Quirks, extras: Mapping[str, Any]) -> Any:
        match quirks.reasoning:
            case "reasoning_details":
                return self._details
            case "extra_content":
                return extras
            case "thinking_chunks":
                text = "".join(self._chunks)
                return [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}] if text else None
            case _:
                return _mended("".join((*self._thought, self._tags.thought)))

    def _count(self, told: Any) -> None:
        """Each count is of the whole answer so far."""
        if isinstance(told, Mapping):
            self.usage = usage_of(told)
            self.nano = _nano(told.get("cost"), self.nano)


def usage_of(told: Mapping[str, Any]) -> Usage:
    """What an endpoint reports, in our sense: the input without what was read from a cache or written to it.

    Where the reasoning is not part of what it calls the completion, it is in the total.
    """
    prompt, completion = _number(told, "prompt_tokens"), _number(told, "completion_tokens")
    asked, answered = _mapping(told.get("prompt_tokens_details")), _mapping(told.get("completion_tokens_details"))
    read = _number(asked, "cached_tokens") or _number(
        told, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"
    )
    written = _number(asked, "cache_write_tokens") or _number(told, "cache_creation_input_tokens")
    read = min(read, prompt)
    written = min(written, prompt - read)
    output = max(completion, _number(told, "total_tokens") - prompt)
    thought = _number(answered, "reasoning_tokens") or _number(told, "reasoning_tokens") or output - completion
    return Usage(prompt - read - written, read, written, output, reasoning=min(thought, output))


def _nano(told: object, before: int | None) -> int | None:
    """Dollars, as a number."""
    is_number = isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < NANO
    return round(told * NANO) if is_number and isinstance(told, int | float) else before


def _number(told: Mapping[str, Any], *names: str) -> int:
    found = (told.get(name) for name in names)
    return next((int(one) for one in found if isinstance(one, int | float) and one > 0), 0)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(content: object) -> Iterator[str]:
    """The words of a content: a text, or parts of which some are texts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence):
        for part in content:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
                yield str(part.get("text") or "")


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(from_json(arguments), dict)
    except ValueError:
        return False


def _arguments(given: str) -> tuple[Mapping[str, Any], bool]:
    """What the JSON says, and whether it is a whole object; of one that breaks off what is there."""
    if given.strip() in ("", "null"):
        return {}, True
    for is_whole in (True, False):
        try:
            found = from_json(given, allow_inf_nan=False, allow_partial=not is_whole)
            found = from_json(found, allow_inf_nan=False) if isinstance(found, str) else found
        except ValueError:
            continue
        if isinstance(found, dict):
            return found, is_whole
    return {"arguments": given}, False


def _mended(text: str) -> str:
    """Halves of characters as one, and what is none replaced."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
