"""What was found or read again, as text: for a model, and for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.estimate.bounds import fitting, tokens_of
from bot.estimate.cuts import beginning, cut_before
from bot.history import ASKED, EntryKind
from bot.history.entry_text import RECALLED
from bot.messages import AgentId
from bot.runtime.zones import UTC_NAME, local_time
from bot.store import Database, Tx
from bot.store.search import recall
from bot.store.search.recall import Recalled
from bot.store.search.snippets import snippet
from bot.store.search.words import query_words

MOST_HITS = 10
_WIDEST, _NARROWEST = 300, 100
"""Characters of a snippet."""
_NOTE_CHARACTERS, _NOTE_TOKENS = 120, 50
"""For what is said at the end: where more is."""
_LINE_TOKENS = 2
"""Between two lines, and what the guesses for single lines are short of the guess for all."""
_PEOPLE_CHARACTERS = 1_700
"""One message, on the platform whose messages are the shortest."""
_PEOPLE_SNIPPET = 160
_PEOPLE_PIECE = 500
_MOST_BETWEEN = 10
"""Entries between a hit and its question, or its answer: calls of tools and their results."""
_RANGE = re.compile(r"#?(\d{1,9})(?:\s*[-–—]\s*#?(\d{1,9}))?")
_GOES_ON = "  "
_ENDS_A_LABEL = re.compile(r"[():：#]")
ME = "the bot"
"""What people call who wrote the answers."""
USAGE = "/recall WORDS finds what was said in this conversation, /recall 12-40 reads messages 12 to 40."


def hits_for_model(query: str, found: Sequence[Recalled], zone: str = UTC_NAME, *, characters: int, tokens: int) -> str:
    """The best hits, as many as fit into so many ``characters`` and ``tokens``."""
    asked = query[:_NARROWEST]
    if not found:
        return f"{RECALLED}nothing that is out of view answers {asked!r}. What is in view was not searched.]"
    lines = [f"{RECALLED}messages out of view for {asked!r}, the best first. from_seq and to_seq read them in full.]"]
    words = query_words(query)
    width = max(_NARROWEST, min(_WIDEST, (characters - len(lines[0])) // 6))
    characters, tokens = characters - len(lines[0]), tokens - tokens_of(lines[0])
    for item in found[:MOST_HITS]:
        line = f"{_label(item, zone, me='you')}: {snippet(item.text, words, width)}"
        characters, tokens = characters - len(line) - 1, tokens - tokens_of(line) - _LINE_TOKENS
        if min(characters, tokens) >= 0:
            lines.append(line)
            continue
        if len(lines) == 1:  # there is little room, and the best hit is worth it in part
            characters, tokens = characters + len(line), tokens + tokens_of(line)
            lines.append(beginning(line, fitting(line[: max(1, characters)], max(1, tokens))))
        break
    return "\n".join(lines)


def range_for_model(
    found: Sequence[Recalled], high: int, zone: str = UTC_NAME, *, offset: int, characters: int, tokens: int
) -> str:
    """Entries in full, as many as fit into so many ``characters`` and ``tokens``; a single one that is larger from
    ``offset`` (characters) on. Says where more is. Of each all lines but the first are indented, so that nothing that
    was said or returned reads as another entry."""
    opening = f"{RECALLED}as it was said.]"
    if not found:
        return f"{RECALLED}there are no messages with these numbers.]"
    lines = [opening]
    characters, tokens = characters - len(opening) - _NOTE_CHARACTERS, tokens - tokens_of(opening) - _NOTE_TOKENS
    for item in found:
        skipped = offset if item is found[0] else 0
        label = _label(item, zone, me="you")
        text = item.text[skipped:] or "(nothing to read)"
        whole = f"{label}: {_indented(text)}"
        if len(whole) <= characters and tokens_of(whole) <= tokens:
            characters, tokens = characters - len(whole) - 1, tokens - tokens_of(whole) - _LINE_TOKENS
            lines.append(whole)
            continue
        if len(lines) > 1:
            return "\n".join([*lines, f"[More: recall from_seq={item.seq} to_seq={high}]"])
        spread = _indented(text)
        most = min(fitting(spread, max(1, tokens - tokens_of(label))), max(1, characters - len(label)))
        most -= len(_GOES_ON) * spread[:most].count("\n")
        shown = text[: cut_before(text, most) or most] or text[:1]
        more = f"[More: recall from_seq={item.seq} to_seq={high} offset={skipped + len(shown)}]"
        return "\n".join([opening, f"{label}: {_indented(shown)}", more])
    rest = found[-1].seq + 1
    if len(found) == recall.MOST_READ and rest <= high:
        lines.append(f"[More: recall from_seq={rest} to_seq={high}]")
    return "\n".join(lines)


async def answer_people(database: Database, agent_id: AgentId, argument: str, zone: str = UTC_NAME) -> str:
    """The answer to /recall, in one message."""
    if not argument:
        return USAGE
    span = _RANGE.fullmatch(argument)
    async with database.read() as tx:
        if span:
            low, high = int(span[1]), int(span[2] or span[1])
            read = await recall.read(tx, agent_id, audience=recall.PEOPLE, low=low, high=high)
            if read:
                return _range_for_people(read, high, zone)
        found = await recall.search(tx, agent_id, argument, audience=recall.PEOPLE, most=MOST_HITS)
        around = await _around(tx, agent_id, found[0].seq) if found else []
    if span and not found:
        return "There are no messages with these numbers in this conversation."
    return _hits_for_people(argument, found, around, zone)


async def _around(tx: Tx, agent_id: AgentId, seq: int) -> list[Recalled]:
    low, high = seq - _MOST_BETWEEN, seq + _MOST_BETWEEN
    return await recall.read(tx, agent_id, audience=recall.PEOPLE, low=low, high=high)


def _hits_for_people(query: str, found: Sequence[Recalled], around: Sequence[Recalled], zone: str) -> str:
    """``around``: what people may read close to the best hit."""
    if not found:
        return f"I find nothing about {query[:_NARROWEST]!r} in this conversation."
    words = query_words(query)
    lines: list[str] = []
    characters = _PEOPLE_CHARACTERS
    for item in found:
        line = f"{_label(item, zone, me=ME)}: {snippet(item.text, words, _PEOPLE_SNIPPET)}"
        characters -= len(line) + 1
        if characters < 0:
            break
        lines.append(line)
    return "\n".join([*lines, _where_to_read(found[: len(lines)], around)])


def _where_to_read(shown: Sequence[Recalled], around: Sequence[Recalled]) -> str:
    """All that was shown, where it stands close together; else the best of it, from the question to the answer."""
    first, last = min(item.seq for item in shown), max(item.seq for item in shown)
    if first < last < first + MOST_HITS:
        return f"/recall {first}-{last} reads them in full."
    best = shown[0]
    before = [item.seq for item in around if item.seq < best.seq and item.entry.kind in ASKED]
    after = [item.seq for item in around if item.seq > best.seq and item.entry.kind is EntryKind.REPLY]
    first = best.seq if best.entry.kind in ASKED or not before else before[-1]
    last = best.seq if best.entry.kind is EntryKind.REPLY or not after else after[0]
    if first == last:
        return f"/recall {first} reads {'it' if len(shown) == 1 else f'#{first}'} in full."
    return f"/recall {first}-{last} reads #{best.seq} in full, and what belongs to it."


def _range_for_people(read: Sequence[Recalled], high: int, zone: str) -> str:
    lines: list[str] = []
    characters = _PEOPLE_CHARACTERS
    for item in read:
        text = item.text.strip() or "(nothing to read)"
        piece = text if len(text) <= _PEOPLE_PIECE else f"{text[:_PEOPLE_PIECE].rstrip()} …"
        line = f"{_label(item, zone, me=ME)}: {piece}"
        characters -= len(line) + 1
        if characters < 0:
            return "\n".join([*lines, f"More: /recall {item.seq}-{high}"])
        lines.append(line)
    return "\n".join(lines)


def _label(item: Recalled, zone: str, *, me: str) -> str:
    """``zone``: by which that is told whose own is not kept."""
    said = item.entry.said
    day = said.minute if said else local_time(item.at, zone).strftime("%Y-%m-%d %H:%M")
    return f"#{item.seq} ({day}, {_who(item, me)})"


def _indented(text: str) -> str:
    return text.replace("\n", f"\n{_GOES_ON}")


def _who(item: Recalled, me: str) -> str:
    kind = item.entry.kind
    if kind in ASKED:
        return " ".join(_ENDS_A_LABEL.sub(" ", item.who).split()) or "a person"
    if kind is EntryKind.REPLY:
        return me
    if kind is EntryKind.RESULT:
        return f"result of {item.who or 'a tool'}"
    return kind.value
