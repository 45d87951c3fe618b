"""The issue's own dialog: sixty messages, and a window that holds twenty of them."""

from __future__ import annotations

import re

from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import Program, Programs
from tests.wire.talk import Talk

LINES = [
    "The vault code is 4711-K.",
    *(
        f"Line {number}: item {number} costs {number * 3} euros, and somebody has to put it on shelf {number % 7} "
        "before noon tomorrow. Thank you very much."
        for number in range(2, 60)
    ),
    "What is the vault code?",
]
_DONE = re.compile(r"🗜 Compacted: ([\d,]+) → ([\d,]+) tokens")


def _check_requests(model: MessagesServer) -> None:
    assert model.refused == []
    assert max(record.request.tokens for record in model.requests) <= model.window
    assert not any(record.request.merged_roles for record in model.requests)


def _check_statuses(finished: list[str]) -> None:
    assert len(finished) >= 3
    for text in finished:
        found = _DONE.match(text)
        assert found, text
        before, after = (int(number.replace(",", "")) for number in found.groups())
        assert after < before


def _finished(chat: Program) -> list[str]:
    """The last line about each compaction; there are no others than these, one at each beginning, and the first of all,
    which says what a line is."""
    hint, *notices = [line for line in chat.err if line]
    assert hint.startswith("Each line is a message of its own.")
    started = [line for line in notices if line.startswith("🗜 Compacting")]
    finished = [line for line in notices if line.startswith("🗜 Compacted")]
    assert len(started) == len(finished)
    assert sorted(started + finished) == sorted(notices)
    return finished


async def test_sixty_piped_lines_are_all_answered_in_a_window_of_3_000_tokens_and_the_first_line_is_remembered(
    programs: Programs, model: MessagesServer
) -> None:
    chat = await programs.chat(*LINES)
    assert len(chat.out) == 60
    assert all(line.startswith("Noted (") for line in chat.out[:-1])
    assert chat.out[-1] == "The vault code is 4711-K."
    _check_statuses(_finished(chat))
    _check_requests(model)


async def test_a_pipe_that_ends_sees_the_compaction_through_that_its_last_answer_began(
    programs: Programs, model: MessagesServer
) -> None:
    model.slow(3.0, when=lambda request: request.is_summary)
    chat = await programs.chat(*LINES[:16])
    assert len(chat.out) == 16
    assert _finished(chat)


async def test_the_same_dialog_over_telegram_shows_one_status_for_each_compaction(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    for line in LINES[:-1]:
        assert (await ada.asks(line)).startswith("Noted (")
    assert await ada.asks(LINES[-1]) == "The vault code is 4711-K."
    await ada.sees(lambda: all(_DONE.match(status.text) for status in ada.statuses))
    _check_statuses([status.text for status in ada.statuses])
    assert len(ada.texts) == 60 + len(ada.statuses)
    assert telegram.typing(ada.number)
    _check_requests(model)


async def test_a_long_conversation_is_read_from_the_prompt_cache_and_so_is_its_summary(
    programs: Programs, model: MessagesServer
) -> None:
    model.window = 20_000
    story = [f"Chapter {number}. " + f"In chapter {number} the ship sails on. " * 12 for number in range(40)]
    chat = await programs.chat(*story, "/compact")
    assert len(chat.out) == 40
    assert "🗜 Compacted" in chat.err[-1]
    turns = [record.usage for record in model.requests if not record.request.is_summary]
    assert sum(turn.cache_read_input_tokens for turn in turns) > 0.8 * sum(turn.prompt_tokens for turn in turns)
    summary = next(record.usage for record in model.requests if record.request.is_summary)
    assert summary.cache_read_input_tokens > 0.8 * summary.prompt_tokens
