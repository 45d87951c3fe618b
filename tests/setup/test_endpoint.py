"""A server of the OpenAI API at an address of one's own, in a terminal: found, corrected, refused and changed."""

from __future__ import annotations

import pytest

from tests.servers.chat.manners import MANNERS
from tests.servers.messages.server import MessagesServer
from tests.setup.conftest import CTRL_C, KEY, Desk
from tests.setup.test_terminal import lines_of

WRONG = "sk-wrong-key-0000-1111"
ABOUT = "any server of the OpenAI API (Chat Completions) at an address of yours"


@pytest.fixture
def endpoint(model: MessagesServer, environment: dict[str, str]) -> MessagesServer:
    """One that wants a key, and nothing is set."""
    del environment["ANTHROPIC_BASE_URL"]
    model.manner = MANNERS["openai"]
    return model


def near(server: MessagesServer) -> str:
    """Its address as one writes it in a hurry."""
    return server.chat_url.removeprefix("http://").removesuffix("/v1")


@pytest.mark.parametrize("name", ["custom", "endpoint", "openai-compatible", "Your endpoint"])
async def test_it_is_found_by_what_people_call_it(desk: Desk, endpoint: MessagesServer, name: str) -> None:
    await desk.begins("setup", "model")
    assert ABOUT in await desk.asks("Number or name")
    desk.type(f"{name}\r")
    await desk.asks("Its address (CUSTOM_BASE_URL)")
    desk.type(CTRL_C)
    await desk.asks("Nothing was kept. `palimpsest setup` begins again.")


async def test_a_typed_address_is_taken_and_a_wrong_key_is_said_before_a_model_is_asked_for(
    desk: Desk, endpoint: MessagesServer
) -> None:
    await desk.begins("setup", "model")
    await desk.answers("Number or name", near(endpoint))
    await desk.asks(f"Your endpoint at http://{near(endpoint)}")
    await desk.answers("Key, which is not shown; Enter for none", WRONG)
    told = await desk.asks("Key, which is not shown; Enter goes back")
    assert "does not accept the key in CUSTOM_API_KEY" in told
    assert "Type another key." in told
    assert not any(word in told for word in ("Model", "Make a new one", "Its address"))
    desk.type(f"{KEY}\r")
    await desk.answers("Model; Tab lists them", endpoint.manner.model)
    await desk.answers("How many tokens may a conversation fill? Enter: 200,000", "many")
    await desk.asks("Type a number of tokens from 4,000")
    await desk.answers("How many tokens may a conversation fill? Enter: 200,000", "32k")
    await desk.asks("That is all.")
    assert await desk.ends() == 0
    assert lines_of(desk.file) == [
        f"CUSTOM_API_KEY={KEY}",
        f"CUSTOM_BASE_URL={endpoint.chat_url}",
        "AGENTS__EMERGENCY_CONTEXT_LIMIT=32000",
        f"MODEL=custom/{endpoint.manner.model}",
    ]
    assert WRONG not in desk.text


async def test_a_key_that_is_set_and_refused_is_not_offered_again(desk: Desk, endpoint: MessagesServer) -> None:
    before = f"CUSTOM_API_KEY={WRONG}\nCUSTOM_BASE_URL={endpoint.chat_url}\nMODEL=custom/{endpoint.manner.model}\n"
    desk.file.write_text(before, encoding="utf-8")
    await desk.begins("setup", "model")
    await desk.answers("Number or name", "custom")
    await desk.answers(f"Enter keeps {endpoint.chat_url}, - goes back")
    await desk.answers("Key, which is not shown; Enter keeps sk-…1111")
    await desk.asks("does not accept the key")
    await desk.answers("Key, which is not shown; Enter goes back")
    await desk.asks("Back to the list; nothing of this is kept.")
    await desk.answers("Number or name")
    assert await desk.ends() == 0
    assert desk.file.read_text(encoding="utf-8") == before


async def test_enter_keeps_the_address_that_is_set_and_a_dash_goes_back(desk: Desk, endpoint: MessagesServer) -> None:
    before = (
        f"CUSTOM_API_KEY={KEY}\nCUSTOM_BASE_URL={endpoint.chat_url}\nMODEL=custom/{endpoint.manner.model}\n"
        "AGENTS__EMERGENCY_CONTEXT_LIMIT=64000\n"
    )
    desk.file.write_text(before, encoding="utf-8")
    await desk.begins("setup", "model")
    await desk.answers("Number or name", "endpoint")
    await desk.answers(f"Its address (CUSTOM_BASE_URL); Enter keeps {endpoint.chat_url}, - goes back", "-")
    await desk.asks("Back to the list; nothing of this is kept.")
    await desk.answers("Number or name", "endpoint")
    await desk.answers(f"Enter keeps {endpoint.chat_url}, - goes back")
    await desk.answers("Key, which is not shown; Enter keeps sk-…1c09")
    await desk.answers(f"Model; Tab lists them [{endpoint.manner.model}]")
    await desk.asks("That is all.")
    assert await desk.ends() == 0
    assert desk.file.read_text(encoding="utf-8") == before
    assert "How many tokens" not in desk.text, "it is set"
    assert "  AGENTS__EMERGENCY_CONTEXT_LIMIT=64000" in desk.text, "set by now"


async def test_after_a_name_that_the_endpoint_does_not_have_one_that_it_lists_is_offered(
    desk: Desk, endpoint: MessagesServer
) -> None:
    desk.file.write_text("AGENTS__EMERGENCY_CONTEXT_LIMIT=64000\n", encoding="utf-8")
    await desk.begins("setup", "model")
    await desk.answers("Number or name", endpoint.chat_url)
    await desk.answers("Key, which is not shown", KEY)
    await desk.answers("Model; Tab lists them", "no-such-model")
    await desk.asks("has no model no-such-model")
    await desk.answers(f"Model; Tab lists them [{endpoint.manner.model}]")
    await desk.asks("That is all. `palimpsest` starts it.")
    assert await desk.ends() == 0
    assert f"MODEL=custom/{endpoint.manner.model}" in lines_of(desk.file)


@pytest.mark.parametrize("is_said", [True, False])
async def test_how_large_a_conversation_may_be_is_asked_where_nobody_says_it(
    desk: Desk, endpoint: MessagesServer, is_said: bool
) -> None:
    endpoint.manner = MANNERS["vllm"] if is_said else MANNERS["openai"]
    await desk.begins("setup", "model")
    await desk.answers("Number or name", endpoint.chat_url)
    await desk.answers("Key, which is not shown", KEY)
    await desk.answers("Model; Tab lists them", endpoint.manner.model)
    if not is_said:
        told = await desk.asks("How many tokens may a conversation fill? Enter: 200,000")
        assert "nobody says how large its window is" in told
        assert "AGENTS__EMERGENCY_CONTEXT_LIMIT" not in told, "it is asked"
        desk.type("\r")
    await desk.asks("That is all.")
    assert await desk.ends() == 0
    assert ("AGENTS__EMERGENCY_CONTEXT_LIMIT=200000" in lines_of(desk.file)) is not is_said
    assert ("How many tokens" in desk.text) is not is_said


async def test_a_short_key_is_said_to_be_set_without_a_part_of_it(desk: Desk, endpoint: MessagesServer) -> None:
    desk.file.write_text("CUSTOM_API_KEY=short\n", encoding="utf-8")
    await desk.begins("setup", "model")
    listed = " ".join((await desk.asks("Number or name")).split())
    assert f"{ABOUT}; the key is set" in listed
    assert "the key is set:" not in listed
