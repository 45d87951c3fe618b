"""Nothing that nobody said: each line that memory shows of talk is in its message, word for word. FEATURES A7."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.compaction import PlanContext
from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.life import merged
from bot.compaction.strategies.memory import Memory
from bot.estimate import Family, message_tokens
from bot.history import Entry, EntryKind
from bot.messages import text_of
from tests.unit.entries import full, replied, said

_LINE = re.compile(r"#(?P<number>\d+|-) (?P<who>[^:\[]+?)(?: \[[^\]]+\])*: (?P<text>.*)")
_PIECES = (
    "The deadline is 3 March.", "Actually, the deadline moved to 10 March.", "My trip goes from Chicago to Boston.",
    "NO, NOT BOSTON!", "> Please DO NOT call Maria.", "It is 650 now.", "- 4 passengers", "- 4 bags", "We need:",
    "👍👍", "```\nport = 8080\n```", "Die Rechnungsadresse ist Rosenstraße 4.", "会议在3月15日。不要迟到。",
    "لا تتصل قبل التاسعة.",
    "“He said: never email Bob. Never.”", "Ada: yes, the second", "ok", "Is it z.B. at 9 a.m. or at ten?", "x" * 700,
    "word " * 120, "[now Seven] is a song", "# not a heading", "> name\tvalue", "a\u2028b", "สวัสดีครับ ผมชื่อสมชาย",
)  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=60), min_size=1, max_size=5).map("\n".join)
_JOINED = st.lists(st.sampled_from(_PIECES) | st.text(max_size=60), min_size=1, max_size=5).map(" ".join)


def _talk(texts: Sequence[str]) -> list[Entry]:
    return [(replied if at % 3 == 0 else said)(at, text) for at, text in enumerate(texts, 1)]


def _bare(text: str) -> str:
    """White space, and the marks of a quotation at the beginning of lines, are nobody's words."""
    return "".join(re.sub(r"^[ \t>]+", "", text, flags=re.MULTILINE).split())


@settings(max_examples=60, deadline=None)
@given(st.lists(_TEXTS | _JOINED, min_size=1, max_size=9), st.integers(20, 900))
@example(["Never on Mondays!", "Anything else?", "never, on Mondays"], 900)
@example(["The deadline is 3 March.", "👍👍 It moved to 10 March.", "It moved to 10 March."], 900)
def test_every_line_is_in_the_message_whose_number_stands_before_it(texts: list[str], room: int) -> None:
    entries = _talk(texts)
    number = ""
    for line in checkpoint_of(merged(candidates_of(entries)).facts, room).split("\n")[3:]:
        if line.startswith("## "):
            break
        if found := _LINE.fullmatch(line):
            number, told = found["number"], found["text"]
            is_reply = entries[int(number) - 1].kind is EntryKind.REPLY
            assert (found["who"] == "assistant") is is_reply, "an echo is nobody else's word"
        else:
            told = line.removeprefix("- ")
        if line:
            assert _bare(told.removesuffix(" …")) in _bare(text_of(entries[int(number) - 1].blocks))


WORDS = "the tide tables say that the harbour master closes the northern gate for repairs"
KEPT = (
    "Never call Anna before 9:00.",
    "My locker code is QX-5512.",
    "Die Hausmeisterin heißt Frau Öztürk.",
    "会议改到3月15日，不要迟到。",
)


def _counted(entry: Entry) -> Entry:
    tokens = message_tokens({"role": entry.role, "content": entry.blocks}, family=Family.NEWER)
    return replace(entry, tokens=round(tokens))


def test_twenty_compactions_without_a_book_lose_double_and_grow_nothing() -> None:
    """Each reads what the one before wrote, in a history that is numbered anew."""
    page = [said(0, text) for text in KEPT]
    sizes: list[int] = []
    for turn in range(20):
        for at in range(8):
            page.append(said(0, f"Question {turn}-{at}: {WORDS}?"))
            page.append(replied(0, f"{WORDS.capitalize()}, on page {at}."))
        page = [_counted(replace(entry, seq=at)) for at, entry in enumerate(page, 1)]
        plan = Memory().plan(page, full(3_000, 3_000), PlanContext(target=1_200))
        assert plan is not None
        _, inserted = plan.layer(1, len(page) + 1, run=None)
        kept = [entry for entry in page if not any(low <= entry.seq <= high for low, high in plan.hidden)]
        page = [*map(_counted, inserted), *kept]
        checkpoint = text_of(page[0].blocks)
        assert [checkpoint.count(text) for text in KEPT] == [1] * len(KEPT), turn
        sizes.append(sum(entry.tokens for entry in page))
    assert max(sizes) <= 1_200
