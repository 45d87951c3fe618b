"""Exact details: what a summary leaves out of the messages that go, as lines and rows that can be understood. Pure.

They are the facts of these messages (:mod:`bot.compaction.facts`), those that an earlier compaction listed among them,
and what an earlier summary says. Of all that, what tells most beside the summary and the messages that stay is chosen,
and stands below the summary, where the next compaction reads it again as facts.

And what somebody demanded of every summary: patterns of the operator, and values in the words of a person who asked
for the compaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from bot.compaction.coverage import DENSE, Line, Rarity, chosen, share_covered, terms_of
from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import facts_in
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.fact import Fact, FactKind, FactStatus
from bot.compaction.facts.life import merged
from bot.compaction.facts.tools import value_of
from bot.compaction.grammar import QUOTED
from bot.compaction.parts.tool_outputs import is_cleared
from bot.compaction.summary.checks import missing
from bot.compaction.summary.corrected import outdated_lines, outdated_values, words_of
from bot.compaction.summary.frames import (
    EXACT_DETAILS,
    SUBSECTION,
    apart,
    as_details,
    headed,
    told_by,
    with_details,
)
from bot.estimate import Family, text_tokens
from bot.estimate.cuts import head_and_end_of, one_line
from bot.history import REQUESTS, Entry, EntryKind
from bot.messages import text_of

LONGEST_ITEM = 200
"""Characters of one thing that is demanded."""
MOST_DEMANDED = 20
_LONGEST_TEXT = 20_000
"""Characters of one message that patterns are searched in, half of them from its end."""

_EARLIER = "## From the earlier summary"
_DEMANDED, _LATEST = "### Asked to be kept", "### Latest request"
_BULLET = "- "
_LONGEST_TOLD = 300
"""Characters of a line of an earlier summary, and of the latest request."""

_TOLD_SHARE = 0.3
"""Of the room: what an earlier summary says."""
_SAID_ALREADY = 0.8
"""A line of which the summary or what stays says so much, every value included, is not listed."""
_VALUE = re.compile(r"[\d@_]")
_IS_DENSE = re.compile(f"[{DENSE}]")
_LETTER = rf"[^\W{DENSE}]"
"""Of a writing with blanks, or a digit: beside one another they make one word or number."""


def demanded(entries: Iterable[Entry], *, rules: Sequence[str] = (), focus: str = "") -> tuple[str, ...]:
    """What a summary of these entries must hold letter by letter: what ``rules`` match, the newest first, and the
    values in ``focus`` that stand in them. At most ``MOST_DEMANDED`` items of each, none twice.

    ``rules``: regular expressions; ``re.error`` is raised for one that is none.
    """
    patterns = [re.compile(rule) for rule in rules]
    texts = [text for entry in reversed(list(entries)) for text in texts_of(entry)] if patterns or focus else []
    ruled = (hit for text in texts for rule in patterns for hit in _matches(rule, text))
    whole = "\n".join(texts).casefold()
    named = (value for value in _values(focus) if value.casefold() in whole)
    found: dict[str, str] = {}
    for hits in (ruled, named):
        for item in islice(dict.fromkeys(one_line(hit, LONGEST_ITEM) for hit in hits), MOST_DEMANDED):
            found.setdefault(item.casefold(), item)
    return tuple(found.values())


def _values(text: str) -> Iterator[str]:
    """What is exact in a text: what is quoted, and whatever has a digit, an ``@`` or a path's stroke in it."""
    for found in QUOTED.finditer(text):
        yield next(group for group in found.groups() if group)
    for word in text.split():
        plain = word.strip(".,;:!?…()[]{}<>\"'“”«»„‚‘’")
        if re.search(r"[\d@_/\\]", plain) and any(char.isalnum() for char in plain):
            yield plain


def _matches(rule: re.Pattern[str], text: str) -> Iterator[str]:
    """What the pattern finds, the last first: its first group that matched, or all of it."""
    for found in reversed(list(rule.finditer(text))):
        hit = next((group for group in found.groups() if group), found[0]).strip().rstrip(".,;:!?'’")
        if hit and any(char.isalnum() for char in hit):
            yield hit


def texts_of(entry: Entry) -> Iterator[str]:
    """What was said in an entry, and what tools returned; of what a layer inserted, what is told in it."""
    if entry.layer is not None:
        yield from filter(None, told_by(entry))
        return
    for block in entry.blocks:
        text = text_of([block]) if block.get("type") == "text" else text_of(block.get("content") or "")
        if text.strip():
            yield head_and_end_of(text, _LONGEST_TEXT)


@dataclass(frozen=True)
class Page:
    """What is known when details are chosen. ``gone``: the messages that go; ``kept``: those that stay; ``running``: a
    summary that the new one updates, if it is none of ``gone``; ``demanded``: what has to be there letter by letter;
    ``redact``: takes secrets out of a text, and a line that it changes is not listed."""

    gone: Sequence[Entry]
    kept: Sequence[Entry] = ()
    running: str = ""
    demanded: tuple[str, ...] = ()
    redact: Callable[[str], str] = str


def completed(summary: str, page: Page, room: float) -> str:
    """The summary with exact details below it, which take at most so many tokens."""
    return Details(summary, page).completed(room)


class Details:
    """What may be listed beside a summary: what is neither in it nor in the messages that stay."""

    def __init__(self, summary: str, page: Page) -> None:
        self._page, self._summary = page, summary
        earlier = [(*told_by(entry), entry.seq) for entry in page.gone if entry.layer is not None]
        if page.running:
            after = max((entry.seq for entry in (*page.gone, *page.kept)), default=0) + 1
            earlier.append((*apart(page.running), after))
        told = [line for words, details, _ in earlier for line in _told_in(words, details) if self._may_be_told(line)]
        found = _facts_of(page.gone, [(details, seq) for _, details, seq in earlier])
        kept = [text for entry in page.kept for text in texts_of(entry)]
        self._rarity = Rarity.of([*(fact.text for fact in found), *told, summary, *kept])
        latest = _latest_request(page)
        self._latest = latest if latest and self._may_be_told(latest) and missing(summary, [latest]) else ""
        self._covered = {term for text in (summary, self._latest, *kept) for term in terms_of(text)}
        shown = "\n".join((summary, self._latest, *kept))
        lacking = [fact for fact in found if self._may_be_told(fact.text) and not self._says(fact, shown)]
        says = [*_told_in(summary, "")]
        spoken = [(fact.last, fact.text) for fact in found if fact.kind.is_prose and fact.seqs]
        spoken += [(entry.seq, text) for entry in page.kept for text in texts_of(entry)]
        before = outdated_values(spoken, says)
        self._facts = [fact for fact in lacking if not self._is_of_these(fact.text, before.get(fact.text))]
        outdated = outdated_lines(told, says)
        self._told = [line for line in dict.fromkeys(told) if line not in outdated and not self._is_covered(line)]
        self._lacking = missing(summary, page.demanded)

    def completed(self, room: float) -> str:
        """The summary, what an earlier one said besides, and exact details: what tells most in so many tokens. What was
        demanded is listed in any case."""
        left = room - _tokens(headed(""))
        latest = _section(_LATEST, [self._latest] if self._latest else ())
        latest = latest if _tokens(latest) <= left else ""
        left -= _tokens(latest)
        earlier = _section(_EARLIER, self._chosen_told(min(left, _TOLD_SHARE * room)))
        left -= _tokens(earlier)
        facts = self._chosen_facts(left) if left > 0 else ""
        wanted = missing(f"{earlier}\n{facts}", self._lacking)
        summary = f"{self._summary.rstrip()}\n\n{earlier}" if earlier else self._summary
        if wanted and not (facts or latest):
            return f"{summary.rstrip()}\n\n" + _section(f"{EXACT_DETAILS}\n", wanted)
        return with_details(summary, "\n".join(filter(None, (facts, _section(_DEMANDED, wanted), latest))))

    def _chosen_facts(self, room: float) -> str:
        facts = [replace(fact, pinned=True) if self._is_demanded(fact.text) else fact for fact in self._facts]
        made = checkpoint_of(
            facts,
            room + _tokens(headed("")),
            covered=self._covered,
            measure=lambda text: _tokens(headed(as_details(text))),
        )
        return as_details(made)

    def _chosen_told(self, room: float) -> list[str]:
        lines = [Line(text, _tokens(f"{_BULLET}{text}\n"), sure=self._is_demanded(text)) for text in self._told]
        taken = chosen(lines, room, rarity=self._rarity, covered=self._covered)
        return [self._told[at] for at in sorted(taken)]

    def _may_be_told(self, text: str) -> bool:
        return self._page.redact(text) == text

    def _says(self, fact: Fact, shown: str) -> bool:
        """Whether a fact stands in the summary or in what stays; a remark is about what it is said to."""
        if fact.kind is FactKind.GIVEN:
            return _stands_in(value_of(fact), shown)
        return fact.status is not FactStatus.REMARK and self._is_covered(fact.text)

    def _is_covered(self, text: str) -> bool:
        lacks = [term for term in terms_of(text) if term not in self._covered]
        if any(map(_VALUE.search, lacks)):
            return False
        return not lacks or share_covered(text, self._covered, rarity=self._rarity) > _SAID_ALREADY

    def _is_of_these(self, text: str, outdated: frozenset[str] | None) -> bool:
        """Whether no value is lacking of this line but outdated ones."""
        lacks = (term for term in terms_of(text) if term not in self._covered and _VALUE.search(term))
        return outdated is not None and outdated.issuperset(word for term in lacks for word in words_of(term))

    def _is_demanded(self, text: str) -> bool:
        return bool(self._lacking) and len(missing(text, self._lacking)) < len(self._lacking)


def _stands_in(value: str, text: str) -> bool:
    """Whether a value can be read in a text, and is no piece of a longer word or number there. In writing without
    blanks nothing tells where a word ends."""
    if value not in text:
        return False
    begins, ends = (not _IS_DENSE.match(end) for end in (value[:1], value[-1:]))
    plain = re.escape(value)  # stands first in the pattern, so that it is searched for fast
    before = rf"(?<!{_LETTER}{plain})(?<!\d[.,]{plain})" if begins else ""
    return bool(re.search(plain + before + (rf"(?!{_LETTER}|[.,]\d)" if ends else ""), text))


def _tokens(text: str) -> float:
    return text_tokens(text, family=Family.NEWER) if text else 0.0


def _facts_of(gone: Sequence[Entry], earlier: Iterable[tuple[str, int]]) -> tuple[Fact, ...]:
    """The facts of these messages, after those that earlier compactions listed."""
    said = (entry for entry in gone if entry.layer is None)
    own = [replace(entry, blocks=tuple(b for b in entry.blocks if not is_cleared(b))) for entry in said]
    read = [found for details, seq in earlier for found in facts_in(details, seq)]
    return merged([*read, *candidates_of(own)]).facts


def _section(title: str, lines: Iterable[str]) -> str:
    listed = [f"{_BULLET}{line}" for line in lines]
    return "\n".join([title, *listed]) if listed else ""


def _told_in(told: str, details: str) -> Iterator[str]:
    """What an earlier summary says, line by line, without its headings; and of its details what is no fact."""
    for line in told.splitlines():
        plain = line.strip().lstrip("-*• ")
        if plain and not plain.startswith("#"):
            yield one_line(plain, _LONGEST_TOLD)
    is_told = False
    for line in details.splitlines():
        if line.startswith(SUBSECTION):
            is_told = line in (_DEMANDED, _LATEST)
        elif is_told:
            yield line.removeprefix(_BULLET)


def _latest_request(page: Page) -> str:
    """In the words of the person, where no request stays."""
    if any(entry.kind in REQUESTS for entry in page.kept):
        return ""
    asked = next((entry for entry in reversed(page.gone) if entry.kind is EntryKind.SAID), None)
    return one_line(text_of(asked.blocks), _LONGEST_TOLD) if asked else ""
