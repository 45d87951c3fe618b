"""A provider that refuses, breaks off or is slow: waited out, compacted for, or told in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.servers.messages.server import MessagesRequest
from tests.wire.conftest import Served
from tests.wire.talk import Talk, conversation, said

pytestmark = pytest.mark.asyncio(loop_scope="session")

OVERFLOW = "prompt is too long: 3205 tokens > 3000 maximum"
MAXIMUM = "Reached maximum compaction attempts. Please start a new session to continue."


def _asked(ada: Talk, text: str) -> Callable[[MessagesRequest], bool]:
    return lambda request: ada.is_my_turn(request) and request.last_user_text.startswith(text)


async def _fill(ada: Talk) -> None:
    await ada.asks("The harbour code is 771-Q.")
    await ada.says_much(400, lines=3)


@pytest.mark.parametrize("times", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_an_overflow_is_compacted_and_sent_again_up_to_three_times(served: Served, ada: Talk, times: int) -> None:
    await _fill(ada)
    served.model.fail(400, "invalid_request_error", OVERFLOW, times=times, when=ada.is_my_turn)
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
    assert [turn.outcome for turn in ada.turns[4:]] == [*["failed"] * times, "completed"]
    assert ada.statuses[0].text.startswith("🗜 Compacted: ")
    assert len(ada.statuses) == times
    assert len({str(conversation(turn)) for turn in ada.turns[4:]}) == times + 1, "the same page is never sent again"


async def test_the_fourth_overflow_says_so_and_the_conversation_still_goes_on(served: Served, ada: Talk) -> None:
    await _fill(ada)
    served.model.fail(400, "invalid_request_error", OVERFLOW, times=4, when=ada.is_my_turn)
    told = await ada.told("What is the harbour code?", MAXIMUM)
    assert "The largest part of what is left (" in told
    assert "the system prompt and the tools, about " in told
    assert "shorten SYSTEM_PROMPT, offer fewer tools" in told
    assert told.endswith("(/new starts one; /undo takes it back.)")
    assert [turn.outcome for turn in ada.turns[4:]] == ["failed"] * 4
    assert len(ada.statuses) == 3
    assert len({str(conversation(turn)) for turn in ada.turns[4:]}) == 4
    assert (await ada.asks("What is the harbour code?")).endswith("The harbour code is 771-Q.")


async def test_rate_limits_overload_and_cut_streams_are_waited_out_without_a_word(served: Served, ada: Talk) -> None:
    lines = ["Rate limited.", "Overloaded.", "Overloaded in the stream.", "Cut off.", "Cut off at once."]
    whens = [_asked(ada, line) for line in lines]
    served.model.fail(429, "rate_limit_error", "Slow down.", retry_after=1, when=whens[0])
    served.model.fail(529, "overloaded_error", "Overloaded", times=2, when=whens[1])
    served.model.error_in_stream("overloaded_error", "Overloaded", 2, when=whens[2])
    served.model.cut_stream(whens[3], after=3)
    served.model.cut_stream(whens[4], after=0)
    for line in lines:
        assert (await ada.asks(line)).startswith("Noted (")
    assert len(ada.texts) == 5
    assert len(ada.turns) == 11
    limited, again = ada.turns[:2]
    assert again.started - limited.started >= 1.0
    assert said(ada.turns[-1]) == [f"{line} ({ada.name})" for line in lines]


async def test_a_refusal_is_told_and_its_message_stays_in_view(served: Served, ada: Talk) -> None:
    await ada.asks("Hello.")
    served.model.fail(400, "invalid_request_error", "messages: something is wrong", when=ada.is_my_turn)
    await ada.told("The harbour code is 771-Q.", "I cannot answer just now")
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
