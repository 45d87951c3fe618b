"""What does not fit: one message alone, and a history that was begun with a larger window."""

from __future__ import annotations

import asyncio

import pytest

from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply
from tests.servers.telegram.server import BotApiServer
from tests.wire.conftest import Served
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


@pytest.mark.asyncio(loop_scope="session")
async def test_the_same_over_telegram_in_a_script_whose_letters_take_more_than_a_token(
    served: Served, ada: Talk
) -> None:
    await ada.asks("The vault code is 4711-K.")
    await ada.told("字" * 4_000, TOO_LARGE)
    assert await ada.asks("What is the vault code?") == "The vault code is 4711-K."
    assert len(ada.turns) <= 3
    assert served.model.refused == []


SUMMARIES = {"good": None, "ok": "ok", "empty": "", "none": "No summary.", "same": None}


class _Useless(Brain):
    """Says the same text back where the conversation says so."""

    def __call__(self, request: MessagesRequest) -> Reply:
        if request.is_summary and "the model parrots" in request.all_text:
            return Reply(request.all_text)
        return super().__call__(request)


def _talks(model: MessagesServer, telegram: BotApiServer, brain: Brain, first: int) -> dict[str, Talk]:
    """One chat for each kind of summary."""
    talks = {kind: Talk(telegram, model, first + number) for number, kind in enumerate(SUMMARIES)}
    brain.summaries.update({talks[kind].name: text for kind, text in SUMMARIES.items() if text is not None})
    return talks


async def _fills_a_page(kind: str, talk: Talk) -> None:
    await talk.asks("Here the model parrots." if kind == "same" else "Hello.")
    await talk.says_much(2_000, lines=3)
    await talk.asks(f"The vault code is {kind}-4711.")


async def _goes_on(kind: str, talk: Talk) -> None:
    assert await talk.asks("Are you still there?"), kind
    assert (await talk.asks("The new code is 8.")).startswith("Noted ("), kind
    assert await talk.asks("What is the new code?") == "The new code is 8.", (kind, talk.texts)
    assert talk.statuses, kind


async def test_a_history_that_overflows_already_is_recovered_whatever_its_summaries_are_like(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    model.window = 12_000
    brain = model.brain = _Useless()
    by_setting, by_provider = _talks(model, telegram, brain, 1001), _talks(model, telegram, brain, 2001)
    served = await telegram_programs.serve()
    every = [*by_setting.items(), *by_provider.items()]
    await asyncio.gather(*(_fills_a_page(kind, talk) for kind, talk in every))
    assert not any(talk.summaries for _, talk in every)

    for talks, window, limit in ((by_setting, 12_000, "1400"), (by_provider, 2_000, "")):
        assert await served.stop() == 0
        model.window = window
        served = await telegram_programs.serve(AGENTS__EMERGENCY_CONTEXT_LIMIT=limit)
        before = len(model.requests)
        await asyncio.gather(*(_goes_on(kind, talk) for kind, talk in talks.items()))
        assert await talks["good"].asks("What is the vault code?") == "The vault code is good-4711."
        asked = model.requests[before:]
        turns = [it.request.tokens for it in asked if not it.request.is_summary and it.outcome == "completed"]
        assert max(turns) <= int(limit or window)
        assert len(asked) < 60  # no loop
