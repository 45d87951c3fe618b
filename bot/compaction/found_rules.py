"""Rules in what people said, for people to pin: found by the labels of sentences, and by what a summary takes for a
constraint where a person's own sentence says the same. Pure.

Only people's own words are looked at: no file, no tool, no quotation, nothing that was forwarded or pasted, no word of
a model. What a summary says is never shown, but the sentence that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from bot.compaction.coverage import Rarity, share_covered, terms_of
from bot.compaction.facts.fact import FactKind
from bot.compaction.facts.speech import label_of
from bot.compaction.quotes import own_words, parts_of
from bot.compaction.sentences import sentences_in
from bot.compaction.standing_rules import LONGEST_RULE, plain
from bot.history import Entry, EntryKind
from bot.history.quotations import apart, speaker_in
from bot.messages import text_of

MOST_CHARACTERS = 400_000
"""Of what people said: the last so many are looked at."""
MOST_FOUND = 40
"""Rules: the latest."""

_SPEAKER = re.compile(r"([^\n:]{1,100}): ")
_FORWARDED = re.compile(r"\[forwarded(?: from [^\]\n]{0,200}\]|:|\])")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s+|\*\*)(?P<title>[^\n]{1,200})")
_CONSTRAINTS = re.compile(r"[\W\d]*(?:key |hard |open )?constraints?\b", re.IGNORECASE)
_SAME = 0.6
"""Of what a person's sentence tells: what a line has to say to be about that sentence."""
_FEW = 2
"""Terms, below which a sentence says too little to be known again."""


@dataclass(frozen=True)
class Found:
    """A sentence of somebody: who said it (``name``: as people are told apart where several talk), and where."""

    text: str
    person: str = ""
    name: str = ""
    key: str = ""
    seq: int = 0


def found_rules(
    entries: Sequence[Entry], *, several: bool, summary: str = "", skipped: str = "", gone: Collection[str] = ()
) -> list[Found]:
    """The rules in what people said, the latest first, each once.

    ``several``: people are named before their words; ``summary``: the latest; ``skipped``: a line of ours that may
    stand before somebody's words; ``gone``: what holds no more, as :func:`bot.compaction.standing_rules.plain` says it.
    """
    found: dict[str, Found] = {}
    sentences: list[Found] = []
    for sentence, label in _sentences(entries, several=several, skipped=skipped):
        if label is FactKind.CONSTRAINT:
            found.pop(plain(sentence.text), None)
            found[plain(sentence.text)] = sentence
        sentences.append(sentence)
    for sentence in _said_by_summary(summary, sentences):
        found.setdefault(plain(sentence.text), sentence)
    latest = sorted(found.values(), key=lambda one: one.seq, reverse=True)
    return [one for one in latest if plain(one.text) not in gone][:MOST_FOUND]


def constraints_in(summary: str) -> list[str]:
    """The lines below a summary's heading of constraints."""
    lines, inside = list[str](), False
    for line in summary.splitlines():
        heading = _HEADING.match(line)
        if heading:
            inside = _CONSTRAINTS.match(heading["title"]) is not None
            said = heading["title"].partition(":")[2].strip(" *")
            lines += [said] if inside and said else []
        elif inside and line.strip():
            lines.append(line.strip())
    return lines


def _said_by_summary(summary: str, sentences: Sequence[Found]) -> Iterator[Found]:
    lines = constraints_in(summary)
    if not lines:
        return
    rarity = Rarity.of([one.text for one in sentences])
    for line in lines:
        terms = terms_of(line)
        alike = [
            (share_covered(one.text, terms, rarity=rarity), one.seq, one)
            for one in sentences
            if len(terms_of(one.text)) >= _FEW
        ]
        best = max(alike, key=lambda item: item[:2], default=None)
        if best and best[0] >= _SAME:
            yield best[2]


def _sentences(entries: Sequence[Entry], *, several: bool, skipped: str) -> Iterator[tuple[Found, FactKind]]:
    """People's own sentences, each whole, in their order."""
    newest = {entry.key: entry.seq for entry in entries if entry.key}
    room, looked_at = MOST_CHARACTERS, list[tuple[Entry, str, str]]()
    for entry in reversed(entries):
        if entry.kind is not EntryKind.SAID or newest.get(entry.key, entry.seq) != entry.seq:
            continue  # a later text of the same message holds
        name, words = _words_of(entry, several=several, skipped=skipped)
        room -= len(words)
        if room < 0:
            break
        looked_at.append((entry, name, words))
    for entry, name, words in reversed(looked_at):
        whole = " ".join(words.split())
        own = (part for is_quoted, part in parts_of(words) if not is_quoted)
        for sentence in (sentence for part in own for sentence in sentences_in(part, joined=False)):
            if sentence in whole and len(sentence) <= LONGEST_RULE:
                yield Found(sentence, entry.person, name, entry.key, entry.seq), label_of(own_words(sentence))


def _words_of(entry: Entry, *, several: bool, skipped: str) -> tuple[str, str]:
    """Who says it, where people are named, and what, without what it quotes or forwards."""
    quoted = apart(entry.blocks)
    text, name = text_of(quoted[1] if quoted else entry.blocks), speaker_in(entry.blocks)
    if name:
        text = text.removeprefix(f"{name}: ")
    elif several and (named := _SPEAKER.match(text)):  # as earlier versions wrote it
        name, text = named[1], text[named.end() :]
    text = text.removeprefix(skipped).lstrip("\n") if skipped else text
    forwarded = _FORWARDED.search(text)
    return name, text[: forwarded.start()] if forwarded else text
