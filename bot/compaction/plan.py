"""What a strategy answers: a layer, or a layer that still wants a summary of named entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from bot.compaction.facts.fact import Fact
from bot.compaction.summary.checks import missing
from bot.compaction.summary.details import demanded, texts_of
from bot.estimate import Family, Level, Meter, text_tokens
from bot.history import SET_ASIDE, Entry, EntryKind, Layer, Ranges, merge_ranges
from bot.messages import Audience, Block, text_block

SUMMARY = "\x02summary\x03"
"""Stands in an inserted text where the summary goes. No text of people holds it: control characters are cleaned."""

DETAILS_SHARE = 0.05
"""Of the limit: what exact details may take below a summary, unless an option says otherwise."""

Trigger = Literal["auto", "manual", "recovery", "ahead", "rolling", "facts"]
"""Why a compaction begins: before a request, by a person, because a provider refused the context, after a reply; or
why a summary is written of what one would take away, so that it finds it written."""


@dataclass(frozen=True)
class PlanContext:
    """What a strategy may know besides the page."""

    focus: str = ""
    """What the person asked to keep."""
    rules: tuple[str, ...] = ()
    """Regular expressions of what every summary must preserve."""
    trigger: Trigger = "auto"
    target: int | None = None
    """Tokens that the whole request may take afterwards, as the meter counts; None: the strategy's own choice."""
    facts: tuple[Fact, ...] | None = None
    """What is known of the conversation; None: the strategy finds it on the page."""
    vectors: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Embeddings of entries by their seq. A strategy goes on without those that are missing."""

    @property
    def unasked(self) -> bool:
        """Whether the program itself wants this compaction, and could go on without it."""
        return self.trigger not in ("manual", "recovery")


@dataclass(frozen=True)
class Inserted:
    """One entry that a layer adds, before the entry with seq ``place``."""

    place: int
    kind: EntryKind
    text: str
    audience: Audience = Audience.MODEL


@dataclass(frozen=True)
class Plan:
    """A layer in the making. ``hidden`` and ``replaced`` name seqs up to ``upto``; ``summarise`` names the entries
    that a summary is wanted of (none: the layer is complete as it is)."""

    strategy: str
    upto: int
    floor: int
    hidden: Ranges = ()
    replaced: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)
    inserted: tuple[Inserted, ...] = ()
    summarise: tuple[int, ...] = ()
    must_keep: tuple[str, ...] = ()
    """What somebody demanded of the summary, letter by letter: what it lacks is asked for, and then added."""
    focus: str = ""
    kind: str = "compaction"
    asks: str = ""
    """What the summary is to hold, for the model that writes it; empty: what every summary holds."""
    given: str = ""
    """Options that a person gave for this run alone, as they were written."""

    running: str = ""
    """A summary of more than ``summarise``, which the new one updates."""
    folded: tuple[int, ...] = ()
    """Of a running summary: all that it is of, what was folded into it before too."""
    details_share: float = DETAILS_SHARE
    """Of the limit: what exact details may take that the summary lacks."""

    def layer(
        self, number: int, next_seq: int, *, run: str | None, summary: str = "", recall: bool = False, days: str = ""
    ) -> tuple[Layer, list[Entry]]:
        """The layer and the entries it inserts, numbered from ``next_seq`` on. ``recall``: whether the model can look
        up what is hidden; then it is told which entries those are, and ``days``, on which they were said."""
        layer = Layer(number, self.upto, self.hidden, dict(self.replaced), self.kind, self.floor, run)
        added = [
            Entry(
                seq=next_seq + index,
                role="user",
                blocks=(text_block(text.replace(SUMMARY, summary)),),
                kind=item.kind,
                audience=item.audience,
                layer=number,
                place=item.place,
            )
            for index, (item, text) in enumerate(zip(self.inserted, self._texts(days, recall=recall), strict=True))
        ]
        return layer, added

    def _texts(self, days: str, *, recall: bool) -> list[str]:
        """What is inserted. Where to look is said once: after the summary, else after the first line of the last note,
        since what follows that may be a list that is read again."""
        texts = [item.text for item in self.inserted]
        if not recall or not self.hidden:
            return texts
        for at, text in enumerate(texts):
            if SUMMARY in text:
                texts[at] = text.replace(SUMMARY, f"{SUMMARY}\n\n{_where(self.hidden, days)}", 1)
                return texts
        notes = [at for at, item in enumerate(self.inserted) if item.kind is EntryKind.NOTE]
        for at in notes[-1:]:
            first, end, rest = texts[at].partition("\n")
            texts[at] = f"{first}\n{_where(self.hidden, days)}{end}{rest}"
        return texts

    def as_json(self) -> dict[str, Any]:
        """For the run's row."""
        data = {**asdict(self), "replaced": {str(seq): list(blocks) for seq, blocks in self.replaced.items()}}
        later = [name for name, usual in (("given", ""), ("details_share", DETAILS_SHARE)) if data[name] == usual]
        for name in later:  # a process of the version before knows no such thing
            del data[name]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Back from the run's row."""
        return cls(
            **{
                **data,
                "hidden": tuple((low, high) for low, high in data["hidden"]),
                "replaced": {int(seq): tuple(blocks) for seq, blocks in data["replaced"].items()},
                "inserted": tuple(
                    Inserted(item["place"], EntryKind(item["kind"]), item["text"], Audience(item["audience"]))
                    for item in data["inserted"]
                ),
                "summarise": tuple(data["summarise"]),
                "folded": tuple(data.get("folded", ())),
                "must_keep": tuple(data["must_keep"]),
            }
        )


class Strategy(Protocol):
    """A pure decision: what of this page to hide, replace or summarise.

    One that has an attribute ``wants_vectors`` that is true gets embeddings of the entries, where they can be had; one
    with ``wants_facts`` gets what is known of the conversation. One whose ``begins_early`` is false is never asked
    below its first level, others a little earlier when nobody waits.
    """

    @property
    def name(self) -> str:
        """As settings and people call it."""

    @property
    def options(self) -> Any:
        """A frozen dataclass. Its fields are settings: `STRATEGY__<NAME>__<FIELD>`."""

    def level(self, meter: Meter) -> Level:
        """How urgent a compaction is."""

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """What to do with these visible entries (in reading order), or None when nothing would be won."""


@dataclass(frozen=True)
class Scale:
    """Between what entries were guessed to take and what the meter counts, which a provider may have corrected."""

    head: int
    """Tokens of what no compaction can take away: system prompt and tools."""
    ratio: float
    """The meter's tokens for one guessed token of an entry."""

    @classmethod
    def of(cls, view: Iterable[Entry], meter: Meter) -> Scale:
        """How this page's entries compare with its meter."""
        guessed = sum(entry.tokens for entry in view)
        return cls(meter.head, (meter.total - meter.head) / guessed if guessed else 1.0)

    def total(self, tokens: float) -> float:
        """The meter's total, if the page held entries of so many guessed tokens."""
        return self.head + tokens * self.ratio

    def room(self, total: float) -> float:
        """Guessed tokens of entries that fit, if the meter's total is to be this."""
        return (total - self.head) / self.ratio if self.ratio else 0.0


def everything_but(kept: Sequence[Entry], upto: int) -> Ranges:
    """All seqs up to ``upto`` but those of ``kept``, as ranges. What lies beneath other layers is hidden twice."""
    spans: list[tuple[int, int]] = []
    low = 1
    for seq in sorted(entry.seq for entry in kept if entry.seq <= upto):
        if seq > low:
            spans.append((low, seq - 1))
        low = seq + 1
    if low <= upto:
        spans.append((low, upto))
    return tuple(spans)


def fresh_start(upto: int) -> Plan:
    """Nothing up to here is seen any more, and nothing stands in its place: `/new`."""
    return Plan("new", upto, upto + 1, everything_but((), upto), kind="new")


def away_again(imported: Layer) -> Plan:
    """What was brought over from elsewhere is in nobody's sight any more: `/undo` of the layer that said what it is.
    What that layer left in view goes with the rest."""
    hidden = merge_ranges((*imported.hidden, (imported.hidden[-1][1] + 1, imported.upto)))
    return Plan("import", imported.upto, 0, hidden, kind=SET_ASIDE)


_MOST_SPANS = 3


def _where(hidden: Ranges, days: str) -> str:
    """Which entries a summary or a note stands for, when they were said, and how they are read (FEATURES B3)."""
    spans = hidden if len(hidden) <= _MOST_SPANS else ((hidden[0][0], hidden[-1][1]),)
    named = ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in spans)
    gaps = " with gaps" if len(hidden) > _MOST_SPANS else ""
    said = f", said {days}" if days else ""
    return f"(Out of view: messages {named}{gaps}{said}; recall finds and reads them.)"


def details_of(
    gone: Iterable[Entry], tokens: float, rules: Sequence[str] = (), *, kept: Iterable[Entry] = (), focus: str = ""
) -> tuple[str, ...]:
    """What somebody demanded that a summary of the entries that go holds, in at most so many tokens: what ``rules``
    match, and the values in ``focus``; but not what can be read in those that are ``kept``."""
    items = demanded(gone, rules=rules, focus=focus) if rules or focus else ()
    stays = "\n".join(text for entry in kept for text in texts_of(entry)) if items else ""
    return within(missing(stays, items), tokens)


def within(items: Sequence[str], tokens: float) -> tuple[str, ...]:
    """The first of these items that take at most so many tokens together."""
    taken: list[str] = []
    for item in items:
        tokens -= text_tokens(item, family=Family.NEWER) + 2
        if tokens < 0:
            break
        taken.append(item)
    return tuple(taken)
