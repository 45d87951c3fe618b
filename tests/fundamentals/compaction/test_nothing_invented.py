"""Whatever was said and returned: each line that a compaction shows of it stands there word for word."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bot.compaction.manual.manual import compact_history
from bot.compaction.manual.refusals import CannotFit, NotCompacted
from bot.estimate import estimate_tokens
from bot.messages import Message, text_block
from tests.bench.yardstick.inventions import invented, shown
from tests.bench.yardstick.prose import PROSE

SENTENCES = sorted(
    {
        sentence
        for sets in PROSE.values()
        for words in sets.values()
        for sentence in [*words["constraints"], *(text for pair in words["updates"] for text in pair)]
    }
)
CHANGES = [
    "I booked a trip from Chicago to Oslo for Maria.",
    "We have been friends for 4 years.",
    "So sorry for your loss, Maria.",
    "No, it is for John: the trip from Oslo to Chicago, in 7 years.",
    "Please DO NOT run commands in there.",
    "Actually run hexdump instead of strings, Python instead of Perl.",
    "Correction: the gate code is B-22, not A-11.",
    "The gate code is A-11.",
    "Forget the table at Chez Lume. That is done, cancelled, and settled!",
    "On line ONE it says 3.5 %, on line 12 it says 40 %.",
    "是 4 年，不是 7 年。不要改 main 分支。",
    "Nein, am Dienstag um 9:30 Uhr, nicht am Montag.",
]
PEOPLE = ["", "Ann: ", "Bo Li: ", "Оля: "]
"""How a message in a group begins."""
CITIES = ["Oslo", "Chicago", "Köln", "上海", "Ann"]

Turn = tuple[str, str, list[object] | None, str]
"""Who asks, what, the records that a tool finds, and the answer."""

sentences = st.sampled_from([*SENTENCES, *CHANGES])
records = st.fixed_dictionaries(
    {
        "order_id": st.integers(10**9, 10**9 + 9).map(str),
        "city": st.sampled_from(CITIES),
        "price": st.floats(1, 999).map(lambda number: round(number, 2)),
        "items": st.lists(st.fixed_dictionaries({"item_id": st.integers(70, 79), "note": sentences}), max_size=3),
    }
)
turns = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE),
        st.lists(sentences, min_size=1, max_size=3).map(" ".join),
        st.one_of(st.none(), st.lists(records, min_size=1, max_size=4)),
        st.lists(sentences, min_size=1, max_size=4).map("\n".join),
    ),
    min_size=8,
    max_size=24,
)


@pytest.mark.parametrize("strategy", ["memory", "reset"])
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(turns=turns, share=st.sampled_from([0.2, 0.4]))
def test_each_line_that_is_shown_is_in_the_conversation_word_for_word(
    strategy: str, turns: list[Turn], share: float
) -> None:
    talk = conversation(turns)
    assert invented(talk, page(talk, strategy, share)).lines == []


def test_there_are_lines_to_compare() -> None:
    talk = conversation(
        [("", " ".join(CHANGES[at : at + 3]), None, "All right.") for at in range(len(CHANGES) - 2)] * 2
    )
    assert list(shown(talk, page(talk, "memory", 0.4)))
    assert list(shown(talk, page(talk, "reset", 0.4)))


def conversation(turns: Sequence[Turn]) -> list[Message]:
    made: list[Message] = []
    for number, (who, request, found, answer) in enumerate(turns):
        made.append(Message(role="user", content=[text_block(f"{who}{request}")]))
        if found:
            call = {"type": "tool_use", "id": f"call_{number}", "name": "find_orders", "input": {"number": number}}
            result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": json.dumps({"orders": found})}
            made += [Message(role="assistant", content=[call]), Message(role="user", content=[result])]
        made.append(Message(role="assistant", content=[text_block(answer)]))
    return made


def page(talk: list[Message], strategy: str, share: float) -> list[Message]:
    """Compacted with a summary that says nothing of it; what cannot be made smaller is as it was."""
    made: Sequence[Mapping[str, Any]] = talk
    try:
        made = compact_history(
            talk,
            strategy=strategy,
            limit=max(200, round(share * estimate_tokens(talk))),
            summary="They talked about this and that." if strategy == "reset" else None,
        ).messages
    except CannotFit as refusal:
        made = refusal.result.messages
    except NotCompacted:
        pass
    return [Message(role=message["role"], content=message["content"]) for message in made]
