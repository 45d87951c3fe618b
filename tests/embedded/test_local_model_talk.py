"""What a newcomer without a key reads: the tiny model, as the program asks it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bot.app.models import open_chains
from bot.messages import Message, text_block, text_of
from bot.model import Head
from bot.model.stand_in import begins_again
from bot.runtime.settings import Settings

ORDINARY = (
    "hi",
    "Who are you?",
    "What is the capital of France?",
    "Write a haiku about rain.",
    'Translate "good morning" into Spanish.',
    "How many text messages are sent in a minute, in all the world? Explain your answer step by step.",
    "thanks, bye",
)


@pytest.mark.rest
async def test_ordinary_questions_get_an_answer_each_that_ends_and_does_not_repeat_itself(data_dir: Path) -> None:
    page: list[Message] = []
    async with AsyncExitStack() as stack:
        chain, _ = await open_chains(Settings(_env_file=None, data_dir=data_dir), stack)
        link = chain.first
        limits = await link.model.limits(link.name)
        for question in ORDINARY:
            page.append(Message(role="user", content=question))
            reply = await link.model.ask(Head(link.name, limits.answer, link.prompt), page, who="terminal-me")
            answer = text_of(reply.blocks).strip()
            assert answer
            assert begins_again(answer + "\n") is None, answer
            page.append(Message(role="assistant", content=[text_block(answer)]))
