"""Nothing that nobody said: each line that memory shows of talk is in its message, word for word. FEATURES A7."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.compaction import PlanContext
from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import SAID
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.merge import merged
from bot.compaction.strategies.memory import Memory
from bot.estimate import Family, message_tokens
from bot.history import Entry, History
from bot.messages import text_of
from tests.unit.entries import full, replied, said

_LINE = re.compile(r"#(?P<number>\d+|-) [^:\[]+(?: \[[^\]]+\])*: (?P<text>.*)")
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
def test_every_line_is_in_the_message_whose_number_stands_before_it(texts: list[str], room: int) -> None:
    entries = _talk(texts)
    number = ""
    for line in checkpoint_of(merged(candidates_of(entries)).facts, room).partition(f"{SAID}\n")[2].split("\n"):
        if line.startswith("## "):
            break
        if found := _LINE.fullmatch(line):
            number, told = found["number"], found["text"]
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


def _next(texts: Sequence[tuple[str, str]]) -> History:
    return History(
        tuple(_counted((said if who == "user" else replied)(at, text)) for at, (who, text) in enumerate(texts, 1))
    )


@pytest.mark.parametrize("rounds", [20])
def test_twenty_compactions_without_a_book_lose_double_and_grow_nothing(rounds: int) -> None:
    """Each reads what the one before wrote, in a history that is numbered anew."""
    texts = [("user", text) for text in KEPT]
    sizes: list[int] = []
    for turn in range(rounds):
        for at in range(8):
            texts += [
                ("user", f"Question {turn}-{at}: {WORDS}?"),
                ("assistant", f"{WORDS.capitalize()}, on page {at}."),
            ]
        page = _next(texts)
        plan = Memory().plan(page.visible, full(3_000, 3_000), PlanContext(target=900))
        assert plan is not None
        layer, inserted = plan.layer(1, page.last_seq + 1, run=None)
        after = page.covered(layer, list(map(_counted, inserted)))
        texts = [(entry.role, text_of(entry.blocks)) for entry in after.visible]
        checkpoint = texts[0][1]
        assert all(checkpoint.count(text) == 1 for text in KEPT), turn
        sizes.append(after.tally.total)
    assert max(sizes[1:]) <= 1.1 * 900
