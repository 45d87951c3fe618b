"""A folder of conversations, measured: which there are, and what each contender makes of them.

``tools/DOMAIN.jsonl``, ``chat/AUTHOR.jsonl`` and ``text/LANGUAGE.jsonl``; what is held out lies in a folder ``unseen``
beside ``seen``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from bot.estimate import estimate_tokens
from bot.messages import Message, text_of
from tests.bench.recall import relevance
from tests.bench.yardstick import inventions, needs, plain_chat, prose
from tests.bench.yardstick.contenders import Contender
from tests.bench.yardstick.figures import Figure, Measure
from tests.bench.yardstick.needs import Need
from tests.bench.yardstick.planted import Score
from tests.bench.yardstick.prose import PROSE, Paragraph
from tests.bench.yardstick.reading import request_text
from tests.bench.yardstick.recorded import Cut, Shape, cuts, read
from tests.bench.yardstick.requests import compacted, is_valid

VALUE_SHARES = (0.25, 0.10)
SHORT_SHARES = (0.50, 0.40, 0.33)
"""Of histories below ``LONG``: what a window that compacts so little leaves of them."""
CHAT_SHARES = (0.25, 0.10)
PROSE_SHARES = (0.20, 0.10)
SMALLEST, LONG = 1_000, 3_000
"""Tokens: what is shorter than the first is not measured, nobody compacts it; what is shorter than the second, by
itself.
"""
CHAINED = (1, 5, 20)
_CHAIN_SHARE = 0.25
_MOST_TIMES = 4


@dataclass(frozen=True)
class Extent:
    """How much is measured: of each shape in a domain, chats of an author, talks in a language."""

    cuts: int = 12
    values: int = 200
    """A domain whose cuts need fewer has more of them, up to four times as many."""
    chats: int = 5
    talks: int = 4
    chains: int = 3

    @classmethod
    def quick(cls) -> Extent:
        """Enough to see where one stands."""
        return cls(cuts=3, values=0, chats=1, talks=1, chains=1)


@dataclass(frozen=True)
class Data:
    """One folder, half of the data or all of it."""

    folder: Path
    held_out: bool
    extent: Extent
    seed: int = 1

    @classmethod
    def of(cls, folder: Path, extent: Extent, seed: int) -> list[Data]:
        """``seen`` and ``unseen`` where there are such, else the folder itself. Raises ``ValueError`` for neither."""
        halves = [(folder / "seen", False), (folder / "unseen", True)]
        found = [cls(path, held_out, extent, seed) for path, held_out in halves if path.is_dir()]
        if not found and not any((folder / part).is_dir() for part in ("tools", "chat", "text")):
            raise ValueError(f"{folder} has none of tools/, chat/, text/, seen/ and unseen/.")
        return found or [cls(folder, held_out=False, extent=extent, seed=seed)]

    def figures(self, contender: Contender, measures: Sequence[str]) -> Iterator[Figure]:
        """What this contender makes of it: ``values``, ``answers``, ``prose``, ``chains``, or some of them."""
        for name in measures:
            yield from getattr(self, f"_{name}")(contender)

    def _values(self, contender: Contender) -> Iterator[Figure]:
        for domain, cases in self._domains:
            for cut in cases:
                before = estimate_tokens(cut.before)
                is_long = before >= LONG
                for share in VALUE_SHARES if is_long else SHORT_SHARES:
                    request, fits = compacted(contender, cut.before, round(share * before))
                    kept = needs.kept(cut.needs, request) if fits else []
                    score, once = Score(len(kept), len(cut.needs)), Score(_once(kept), _once(cut.needs))
                    yield self._figure(Measure.VALUES if is_long else Measure.SHORT, domain, share, contender, score)
                    if is_long:
                        yield self._figure(Measure.ONCE, domain, share, contender, once)
                    yield self._figure(Measure.FITS, domain, share, contender, Score(fits, 1))
                    yield self._figure(Measure.VALID, domain, share, contender, Score(is_valid(request), 1))
                    if contender.quotes:
                        yield self._invented(domain, share, contender, cut.before, request)

    def _answers(self, contender: Contender) -> Iterator[Figure]:
        for path in self._files("chat"):
            for chat in plain_chat.read(path)[: self.extent.chats]:
                wanted = plain_chat.answerable(chat)
                before = estimate_tokens(chat.messages)
                for share in CHAT_SHARES:
                    request, fits = compacted(contender, chat.messages, round(share * before))
                    score = plain_chat.kept(wanted, request) if fits else Score(0, len(wanted))
                    yield self._figure(Measure.ANSWERS, path.stem, share, contender, score)
                    if contender.quotes:
                        yield self._invented(path.stem, share, contender, chat.messages, request)

    def _prose(self, contender: Contender) -> Iterator[Figure]:
        for language, talks in self._talks:
            for made in talks:
                before = estimate_tokens(made.messages)
                for share in PROSE_SHARES:
                    request, fits = compacted(contender, made.messages, round(share * before))
                    verdict = prose.judged(made, request_text(request) if fits else "")
                    yield self._figure(Measure.CONSTRAINTS, language, share, contender, verdict.constraints)
                    yield self._figure(Measure.UPDATES, language, share, contender, verdict.updates)
                    yield self._figure(Measure.STALE, language, share, contender, verdict.stale)
                    if contender.quotes:
                        yield self._invented(language, share, contender, made.messages, request)

    def _chains(self, contender: Contender) -> Iterator[Figure]:
        """The same talk again and again: what was laid down in it, after many compactions of what follows."""
        for language, talks in self._talks:
            for made in talks[: self.extent.chains]:
                limit = round(_CHAIN_SHARE * estimate_tokens(made.messages))
                page = list(made.messages)
                for number in range(1, max(CHAINED) + 1):
                    page, fits = compacted(contender, page, limit)
                    if number in CHAINED:
                        verdict = prose.judged(made, request_text(page) if fits else "")
                        for measure, score in (
                            (Measure.CONSTRAINTS, verdict.constraints),
                            (Measure.STALE, verdict.stale),
                        ):
                            yield self._figure(measure, language, _CHAIN_SHARE, contender, score, rounds=number)
                    page = [*page, *self._more(language, number)]

    def _more(self, language: str, number: int) -> list[Message]:
        """A few turns that say nothing that matters."""
        texts = Random(f"{self.seed} {number}").sample(self._texts[language], 5)
        return [
            message
            for paragraph in texts
            for message in (
                Message(role="user", content=paragraph.questions[0]),
                Message(role="assistant", content=paragraph.text),
            )
        ]

    def recall(self) -> Iterator[Figure]:
        """What recall finds, beside a textbook BM25."""
        for path in self._files("chat"):
            for chat in plain_chat.read(path)[: self.extent.chats]:
                asked = [relevance.Question(each.question, each.evidence) for each in chat.questions if each.evidence]
                if asked:
                    found = asyncio.run(relevance.hits([text_of(m["content"]) for m in chat.messages], asked))
                    for name, hits in (("recall", found.ours), ("plain BM25", found.plain)):
                        score = Score(hits, found.questions)
                        yield Figure(Measure.RECALL, path.stem, self.held_out, 1.0, name, score)

    def _invented(
        self, group: str, share: float, contender: Contender, before: Sequence[Message], request: Sequence[Message]
    ) -> Figure:
        found = inventions.invented(before, request)
        return self._figure(Measure.INVENTED, group, share, contender, Score(len(found.lines), found.of))

    def _figure(
        self, measure: Measure, group: str, share: float, contender: Contender, score: Score, *, rounds: int = 1
    ) -> Figure:
        return Figure(measure, group, self.held_out, share, contender.name, score, rounds)

    @cached_property
    def _domains(self) -> list[tuple[str, list[Cut]]]:
        return [(path.stem, self._cases(path)) for path in self._files("tools")]

    def _cases(self, path: Path) -> list[Cut]:
        short: list[Cut] = []
        of_shape: dict[Shape, list[Cut]] = {shape: [] for shape in Shape}
        most = _MOST_TIMES * self.extent.cuts
        for cut in cuts(read(path), Random(self.seed)):
            size = estimate_tokens(cut.before)
            if size >= LONG:
                of_shape[cut.shape].append(cut)
            elif size >= SMALLEST:
                short.append(cut)
            if min(len(of_shape[Shape.STITCHED]), len(of_shape[Shape.RESUMED])) >= most:
                break
        return [*short[: self.extent.cuts], *_enough(list(of_shape.values()), self.extent)]

    @cached_property
    def _texts(self) -> dict[str, list[Paragraph]]:
        return {
            path.stem: [
                Paragraph(line["text"], line["questions"])
                for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
            ]
            for path in self._files("text")
            if path.stem in PROSE
        }

    @cached_property
    def _talks(self) -> list[tuple[str, list[prose.Prose]]]:
        wordings = "B" if self.held_out else "A"
        return [
            (
                language,
                [prose.talk(language, wordings, texts, self.seed + number) for number in range(self.extent.talks)],
            )
            for language, texts in self._texts.items()
            if wordings in PROSE[language]
        ]

    def _files(self, part: str) -> list[Path]:
        return sorted((self.folder / part).glob("*.jsonl"))


def _enough(of_shapes: Sequence[Sequence[Cut]], extent: Extent) -> list[Cut]:
    """The first few of each shape; one more of each, and one more, while all together need too little."""
    for number in range(extent.cuts, _MOST_TIMES * extent.cuts + 1):
        found = [cut for some in of_shapes for cut in some[:number]]
        if sum(len(cut.needs) for cut in found) >= extent.values:
            break
    return found


def _once(some: Iterable[Need]) -> int:
    return sum(not need.comes_again for need in some)
