"""What does not fit: one message alone, and a history that was begun with a larger window."""

from __future__ import annotations

import asyncio

import pytest

from tests.servers.messages import MessagesRequest, MessagesServer, Reply
from tests.servers.telegram import BotApiServer
from tests.wire.program import Programs
from tests.wire.talk import Brain, Talk

TOO_LARGE = "Your message alone is too large for the model"


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


async def _fills_a_page(kind: str, talk: Talk) -> None:
    await talk.asks("Here the model parrots." if kind == "same" else "Hello.")
    await talk.says_much(2_000, lines=3)
    await talk.asks(f"The vault code is {kind}-4711.")


async def _goes_on(kind: str, talk: Talk) -> None:
    assert await talk.asks("Are you still there?"), kind
    assert (await talk.asks("The new code is 8.")).startswith("Noted ("), kind
    assert await talk.asks("What is the new code?") == "The new code is 8.", kind
    assert talk.statuses, kind


@pytest.mark.parametrize("lowered", ["by the provider", "by the setting"])
async def test_a_history_that_overflows_already_is_recovered_whatever_its_summaries_are_like(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer, lowered: str
) -> None:
    model.window = 12_000
    brain = model.brain = _Useless()
    talks = _talks(model, telegram, brain)
    first = await telegram_programs.serve()
    await asyncio.gather(*(_fills_a_page(kind, talk) for kind, talk in talks.items()))
    assert await first.stop() == 0
    assert not any(talk.summaries for talk in talks.values())

    model.window = 2_000 if lowered == "by the provider" else 12_000
    await telegram_programs.serve(AGENTS__EMERGENCY_CONTEXT_LIMIT="1400" if lowered == "by the setting" else "")
    before = len(model.requests)
    await asyncio.gather(*(_goes_on(kind, talk) for kind, talk in talks.items()))
    good = talks["good"]
    assert await good.asks("What is the vault code?") == "The vault code is good-4711."
    asked = [record for record in model.requests[before:] if record.outcome == "completed"]
    turns = [record.request.tokens for record in asked if not record.request.is_summary]
    assert max(turns) <= (2_000 if lowered == "by the provider" else 1_400)
    assert len(asked) < 60  # no loop
