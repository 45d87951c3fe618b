"""The candidates of one entry: the first of the two stages of finding facts. Pure; what it answers can be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bot.compaction.facts.checkpoint import facts_in
from bot.compaction.facts.fact import Candidate, FactKind, Reason, Speaker
from bot.compaction.facts.speech import speech_candidates
from bot.compaction.facts.tools import path_candidates, tool_candidates
from bot.compaction.places import dates_like_places, said_places
from bot.compaction.quotes import SENT, note_and_words, parts_of
from bot.compaction.sentences import asks
from bot.compaction.standing_rules import is_note
from bot.compaction.summary.frames import told_by
from bot.estimate.cuts import head_of, one_line
from bot.history import Entry, EntryKind
from bot.history.quotations import speaker_in
from bot.messages import Block, in_brackets, text_of, tool_calls

_LONGEST_SEARCHED, _MOST_RETURNED = 20_000, 1_500_000
"""Characters of one message in which places are looked for; and of what tools returned, the last ones, in which records
are looked for when a whole page is searched: they hold more than is kept."""
_LONGEST_NOTE, _LONGEST_TITLE = 160, 80
_QUOTATION = re.compile(r"\A(?:(?:>.*)?\n)+")
"""What a message answers, before its words."""

_OF_THE_MODEL = (EntryKind.REPLY, EntryKind.SUMMARY, EntryKind.NOTE, EntryKind.WOKEN)
_SPEAKERS = {EntryKind.SAID: Speaker.PERSON, **dict.fromkeys(_OF_THE_MODEL, Speaker.MODEL)}


def candidates_in(
    entry: Entry,
    calls: Mapping[str, Block] = MappingProxyType({}),
    *,
    asked: bool = False,
    is_old: bool = False,
    unread: str = "",
) -> tuple[Candidate, ...]:
    """The lines of this entry that may become facts, and those that may not, with the reason. ``calls``: the tool calls
    that its results answer, by their ids. ``asked``: what was said before it ends in a question. ``is_old``: what tools
    only looked at in it is not read; ``unread``: nor is what this tool returned. The answer depends on nothing else, so
    that it can be kept with the entry."""
    if is_note(entry):
        return ()  # a pinned rule stands by itself, and one that was let go nowhere
    found: list[Candidate] = []
    for block in entry.blocks:
        call = calls.get(str(block.get("tool_use_id")), {})
        if block.get("type") == "tool_result" and not (unread and call.get("name") == unread):
            found.extend(tool_candidates(call, block, entry.seq, is_old=is_old))
            dates = dates_like_places(head_of(text_of(block.get("content") or ""), _LONGEST_SEARCHED))
            found.extend(path_candidates(dates, entry.seq, reason=Reason.DATE_LIKE))
    text = text_of(entry.blocks)
    if entry.layer is not None:
        text, details = told_by(entry)
        found.extend(facts_in(details, entry.seq))
    speaker = _SPEAKERS.get(entry.kind)
    if entry.kind in (EntryKind.SAID, EntryKind.FILE):
        found.extend(_sent(entry, text))
    if speaker is not None and text.strip():
        found.extend(_spoken(entry, text, speaker, asked=asked and speaker is Speaker.PERSON))
        searched = head_of(text, _LONGEST_SEARCHED)
        found.extend(path_candidates(dates_like_places(searched), entry.seq, speaker, Reason.DATE_LIKE))
        # What a model says of a place is shown by what its tools return.
        if speaker is Speaker.PERSON and ("/" in searched or "\\" in searched):
            named = (place for quoted, part in parts_of(searched) if not quoted for place in said_places(part))
            found.extend(path_candidates(named, entry.seq, speaker))
    return tuple(found)


def _spoken(entry: Entry, text: str, speaker: Speaker, *, asked: bool) -> Iterator[Candidate]:
    """What is said; where several people talk, each line with the name of who says it."""
    name, words = speaker_in(entry.blocks) or entry.person, _QUOTATION.sub("", text)
    if speaker is not Speaker.PERSON or not name or not words.startswith(f"{name}: "):
        yield from speech_candidates(text, entry.seq, speaker, asked=asked)
        return
    yield from speech_candidates(text.removesuffix(words), entry.seq, speaker)
    for found in speech_candidates(words.removeprefix(f"{name}: "), entry.seq, speaker, asked=asked):
        note, own = note_and_words(found.text)
        yield replace(found, text=f"{note}{name}: {own}")


def _sent(entry: Entry, text: str) -> Iterator[Candidate]:
    """A note of the pictures and documents that a message brings: they go with it."""
    for kind, name in (("image", "picture"), ("document", "document")):
        if blocks := [block for block in entry.blocks if block.get("type") == kind]:
            named = (in_brackets(str(block["title"])) for block in blocks if block.get("title"))
            titles = ", ".join(one_line(title, _LONGEST_TITLE) for title in named)
            what = f"a {name}" if len(blocks) == 1 else f"{len(blocks)} {name}s"
            note = f"{SENT}{what}{': ' if titles else ''}{titles}] {text}"
            yield Candidate(FactKind.STATEMENT, one_line(note, _LONGEST_NOTE), entry.seq)


def candidates_of(entries: Sequence[Entry]) -> tuple[Candidate, ...]:
    """All candidates of entries in reading order."""
    return tuple(candidate for _, found in candidates_by_entry(entries) for candidate in found)


def candidates_by_entry(
    entries: Sequence[Entry], earlier: Sequence[Entry] = (), *, unread: str = ""
) -> Iterator[tuple[Entry, tuple[Candidate, ...]]]:
    """Entries in reading order, each with its candidates. ``earlier``: what came before, for its tool calls (of one id
    the later) and a question that waits for its answer. ``unread``: the tool whose results are not read."""
    calls: dict[str, Block] = {}
    asked, left = False, sum(map(_returned, entries))
    for at, entry in enumerate((*earlier, *entries)):
        calls.update((str(call.get("id")), call) for call in tool_calls(entry.blocks))
        if at >= len(earlier):
            left -= _returned(entry)
            yield entry, candidates_in(entry, calls, asked=asked, is_old=left > _MOST_RETURNED, unread=unread)
        text = text_of(entry.blocks) if entry.kind in _SPEAKERS else ""
        asked = asks(text) if text.strip() else asked


def _returned(entry: Entry) -> int:
    """Characters that tools returned in it."""
    return sum(len(text_of(block.get("content") or "")) for block in entry.blocks if block.get("type") == "tool_result")
