"""What no compaction can help with is named, once, and the conversation goes on. FEATURES P6."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bot.messages import Address
from bot.store import runs
from tests.conftest import MakeSettings, OpenHouse
from tests.house import Room, open_house
from tests.servers.chat.manners import MANNERS
from tests.servers.messages.server import MessagesServer

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."


async def test_a_system_prompt_that_fills_the_window_is_named_with_the_setting_to_change(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(system_prompt="Be careful. " * 2_000):
        told = await room.asks("Hello.")
        assert "The system prompt and the tools alone take about " in told
        assert "SYSTEM_PROMPT" in told
        assert "AGENTS__EMERGENCY_CONTEXT_LIMIT" in told
    assert model.requests == [], "it is not even tried"
    async with house():
        assert (await room.asks("Are you there?")).startswith("Noted (")


@pytest.mark.parametrize("text", ["word " * 4_000, "字" * 4_000, "🙂" * 4_000], ids=["English", "Chinese", "emoji"])
async def test_a_message_that_fills_the_window_is_named_and_the_next_one_is_answered(
    house: OpenHouse, room: Room, model: MessagesServer, text: str
) -> None:
    async with house():
        await room.asks(LINE.format(1))
        assert "Your message alone is too large for the model: about " in await room.asks(text)
        assert (await room.asks(LINE.format(2))).startswith("Noted (")
    assert len(model.requests) <= 4, "no loop"
    assert model.refused == []


# --- a limit above the window ---

ABOVE = {"emergency_context_limit": 16_000, "compact_ahead": False}


async def test_the_window_that_a_refusal_states_bounds_the_limit_from_then_on(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    learned = "Limit: the model's server takes no more than 3,000 tokens, as it said when it refused more; "
    async with house(agents=ABOVE):
        await room.asks(LINE.format(1))
        assert "of 16,000 tokens" in await room.commands("/context")
        told = await room.asks("word " * 4_000)
        assert "Your message alone is too large for the model: about " in told
        size, fits = (
            int(number.replace(",", "")) for number in re.findall(r"about ([\d,]+) tokens, and ([\d,]+) fit", told)[0]
        )
        assert fits < 3_000 < size
        assert f"{learned}AGENTS__EMERGENCY_CONTEXT_LIMIT=16000 is above that" in await room.commands("/context")
        assert learned in await room.commands("/status")
        refused = len(model.refused)
        assert "Your message alone is too large" in await room.asks("word " * 4_000)
        assert len(model.refused) == refused, "it is not tried again"
        assert (await room.asks(LINE.format(2))).startswith("Noted (")
    async with house(agents=ABOVE):
        assert learned in await room.commands("/context"), "it is known after a restart"
        await room.asks("Hello.", chat="2")
        assert learned in await room.commands("/context", chat="2"), "and to everybody"
    async with house(agents=ABOVE, model="claude-opus-5"):
        assert "of 16,000 tokens" in await room.commands("/context"), "of another model it says nothing"


@pytest.mark.one_wire  # only there the longest answer counts, and the window may be nobody's to tell
async def test_where_only_the_answer_would_have_no_room_it_is_asked_again_with_less(
    settings: MakeSettings, room: Room, model: MessagesServer
) -> None:
    providers = {"vllm": {"key": "test-key", "base_url": model.chat_url}}
    made = settings(model="vllm/some-alias", providers=providers, anthropic_api_key=None, anthropic_base_url=None)
    model.manner = replace(MANNERS["vllm"], windows="")
    async with open_house(made, room):
        assert (await room.asks(LINE.format(1))).startswith("Noted (")
        assert [text for text in room.notices() if "compact" in text.casefold()] == []
    assert len(model.refused) == 1, "the refusal said how much it takes"
    assert model.requests[-1].request.body["max_tokens"] < 3_000


async def test_a_head_above_the_window_is_named_also_after_a_new_session(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=ABOVE, system_prompt="Be careful. " * 1_500):
        for line in ("Hello.", "Are you there?"):
            told = await room.asks(line)
            assert "The system prompt and the tools alone take about " in told
            assert "take a model with a larger window" in told
            await room.commands("/new")
    assert len(model.refused) == 1


async def test_a_refusal_without_a_number_ends_where_nothing_can_be_made_smaller_and_leaves_a_run(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.window, model.known_models = 200_000, frozenset({"none"})
    async with house(agents=ABOVE) as running:
        model.known_models = None
        model.fail(400, "invalid_request_error", "context_length_exceeded", times=None)
        told = await room.asks("Hello.")
        assert "says that this is too long, and nothing is left that could be made smaller" in told
        assert "The largest part is the system prompt and the tools, about " in told
        assert "shorten SYSTEM_PROMPT, offer fewer tools" in told
        assert len(model.requests) == 1, "the same page is not sent again"
        await room.until(lambda: any("nothing is left that could be made smaller" in text for text in room.notices()))
        async with running.resources.database.read() as tx:
            run = await runs.latest(tx, Address("room", "1").agent_id)
        assert run
        assert (run.trigger, run.state.value) == ("recovery", "empty")
