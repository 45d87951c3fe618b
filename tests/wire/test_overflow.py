"""What does not fit: one message, a whole history, a provider that refuses whatever it gets."""

from __future__ import annotations

import pytest

from tests.servers.messages import MessagesRequest, MessagesServer, Reply
from tests.servers.telegram import BotApiServer
from tests.wire.program import Programs
from tests.wire.talk import Brain, Talk

MAXIMUM = "Reached maximum compaction attempts. Please start a new session to continue."
TOO_LARGE = "Your message alone is too large for the model"


def _is_turn(request: MessagesRequest) -> bool:
    return not request.is_summary


async def test_a_message_larger_than_the_window_is_named_as_the_cause_and_the_next_one_is_answered(
    programs: Programs, model: MessagesServer
) -> None:
    chat = await programs.chat(
        "The vault code is 4711-K.", "word " * 3_000, "What is the vault code?", "Thank you.", "And good night."
    )
    assert len(chat.out) == 5
    assert TOO_LARGE in chat.out[1]
    assert chat.out[2] == "The vault code is 4711-K."
    assert all(line.startswith("Noted (") for line in chat.out[3:])
    assert len(model.requests) <= 6  # no loop
    assert model.refused == []


async def test_the_same_over_telegram_in_a_script_whose_letters_take_more_than_a_token(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    await ada.asks("The vault code is 4711-K.")
    await ada.told("字" * 4_000, TOO_LARGE)
    assert await ada.asks("What is the vault code?") == "The vault code is 4711-K."
    assert len(model.requests) <= 4
    assert model.refused == []


SUMMARIES = {"good": None, "ok": "ok", "empty": "", "none": "No summary.", "same": "same"}


class _Useless(Brain):
    """Says the same text back where the conversation says so."""

    def __call__(self, request: MessagesRequest) -> Reply:
        if request.is_summary and "the model parrots" in request.all_text:
            return Reply(request.all_text)
        return super().__call__(request)


def _talks(model: MessagesServer, telegram: BotApiServer, brain: Brain) -> dict[str, Talk]:
    """One chat for each kind of summary."""
    talks = {kind: Talk(telegram, model, 1001 + number) for number, kind in enumerate(SUMMARIES)}
    brain.summaries.update({talks[kind].name: text for kind, text in SUMMARIES.items() if text is not None})
    del brain.summaries[talks["same"].name]
    return talks


@pytest.mark.parametrize("lowered", ["by the provider", "by the setting"])
async def test_a_history_that_overflows_already_is_recovered_whatever_its_summaries_are_like(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer, lowered: str
) -> None:
    model.window = 12_000
    brain = model.brain = _Useless()
    talks = _talks(model, telegram, brain)
    first = await telegram_programs.serve()
    for kind, talk in talks.items():
        await talk.asks("Here the model parrots." if kind == "same" else "Hello.")
        await talk.says_much(2_000, lines=3)
        await talk.asks(f"The vault code is {kind}-4711.")
    assert await first.stop() == 0
    assert not any(talk.summaries for talk in talks.values())

    model.window = 2_000 if lowered == "by the provider" else 12_000
    await telegram_programs.serve(AGENTS__EMERGENCY_CONTEXT_LIMIT="1400" if lowered == "by the setting" else "")
    before = len(model.requests)
    for kind, talk in talks.items():
        assert await talk.asks("Are you still there?"), kind
        assert (await talk.asks("The new code is 8.")).startswith("Noted ("), kind
        assert await talk.asks("What is the new code?") == "The new code is 8.", kind
        assert talk.statuses, kind
    good = talks["good"]
    assert await good.asks("What is the vault code?") == "The vault code is good-4711."
    asked = [record for record in model.requests[before:] if record.outcome == "completed"]
    turns = [record.request.tokens for record in asked if not record.request.is_summary]
    assert max(turns) <= (2_000 if lowered == "by the provider" else 1_400)
    assert len(asked) < 60  # no loop


async def _overflowing(programs: Programs, model: MessagesServer, times: int) -> tuple[list[str], list[str]]:
    chat = await programs.start("chat")
    await chat.asks("The vault code is 4711-K.")
    for number in range(5):
        await chat.asks(f"Page {number} " + "has words that nobody needs. " * 8)
    refusal = "prompt is too long: 3205 tokens > 3000 maximum"
    model.fail(400, "invalid_request_error", refusal, times=times, when=_is_turn)
    await chat.asks("What is the vault code?")
    model.clear_faults()
    await chat.asks("What is the vault code?")
    assert await chat.ends() == 0, chat.describe()
    return chat.out[6:], [line for line in chat.err if line.startswith("🗜 Compacting")]


@pytest.mark.parametrize("times", [1, 3])
async def test_an_overflow_is_compacted_and_sent_again_up_to_three_times(
    programs: Programs, model: MessagesServer, times: int
) -> None:
    answers, compactions = await _overflowing(programs, model, times)
    assert answers == ["The vault code is 4711-K.", "The vault code is 4711-K."]
    assert 1 <= len(compactions) <= times  # where nothing is left to compact, it is only sent again


async def test_the_fourth_overflow_says_so_and_the_conversation_still_goes_on(
    programs: Programs, model: MessagesServer
) -> None:
    (told, answer), compactions = await _overflowing(programs, model, 4)
    assert MAXIMUM in told
    assert "/new" in told
    assert answer == "The vault code is 4711-K."
    assert 1 <= len(compactions) <= 3
    assert len([record for record in model.requests if record.outcome == "failed"]) == 4
