"""What Discord refuses, and what it says then."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.servers.discord.client import Raw, library_at
from tests.servers.discord.server import DiscordServer, Person


@pytest_asyncio.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        with library_at(server):
            yield server
        assert server.unknown_calls == []


@pytest.fixture
def ada(server: DiscordServer) -> Person:
    return server.person(id=1001, name="Ada")


@pytest_asyncio.fixture
async def raw(server: DiscordServer) -> AsyncIterator[Raw]:
    async with aiohttp.ClientSession() as session:
        yield Raw(server, session)


def row(*buttons: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(buttons)}


def button(label: str = "Undo", custom_id: str = "undo") -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": label, "custom_id": custom_id}


async def test_a_body_that_breaks_a_rule_is_refused_where_it_does(server: DiscordServer, raw: Raw, ada: Person) -> None:
    path = f"channels/{ada.channel_id}/messages"
    assert await raw.error("POST", path, {"content": "x" * 2001}, "content") == "BASE_TYPE_MAX_LENGTH"
    assert await raw.error("POST", path, {"content": "x", "nonce": "n" * 26}, "nonce") == "BASE_TYPE_MAX_LENGTH"
    reply = {"content": "x", "message_reference": {"message_id": "5"}}
    assert await raw.error("POST", path, reply, "message_reference") == "REPLIES_UNKNOWN_MESSAGE"
    mentions = {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}
    assert await raw.error("POST", path, mentions, "allowed_mentions") == "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"
    assert await raw.refusal("POST", path, {"content": " \n"}) == (400, 50006)
    assert await raw.refusal("POST", path, {}) == (400, 50006)
    assert server.messages(ada.channel_id) == []
    reply["message_reference"] = {"message_id": "5", "fail_if_not_exists": False}
    assert (await raw.ask("POST", path, reply))[0] == 200
    assert server.messages(ada.channel_id)[0].reply_to is None


@pytest.mark.parametrize(
    ("rows", "place", "code"),
    [
        ([row(button())] * 6, [], "BASE_TYPE_BAD_LENGTH"),
        ([row(*[button(custom_id=str(n)) for n in range(6)])], ["0", "components"], "BASE_TYPE_BAD_LENGTH"),
        ([row()], ["0", "components"], "BASE_TYPE_BAD_LENGTH"),
        ([button()], ["0", "type"], "UNION_TYPE_CHOICES"),
        ([row(button("x" * 81))], ["0", "components", "0", "label"], "BASE_TYPE_MAX_LENGTH"),
        ([row(button(custom_id="x" * 101))], ["0", "components", "0", "custom_id"], "BASE_TYPE_BAD_LENGTH"),
        ([row(button(), button())], ["0", "components", "1", "custom_id"], "COMPONENT_CUSTOM_ID_DUPLICATED"),
    ],
)
async def test_buttons_that_break_a_rule_are_refused(
    raw: Raw, ada: Person, rows: list[Any], place: list[str], code: str
) -> None:
    body = {"content": "x", "components": rows}
    assert await raw.error("POST", f"channels/{ada.channel_id}/messages", body, "components", *place) == code


async def test_what_is_not_there_or_not_the_bots_is_refused(server: DiscordServer, raw: Raw, ada: Person) -> None:
    said = await ada.says("hello")
    general = server.channel()
    await ada.says("hello", general)
    messages = f"channels/{ada.channel_id}/messages"
    assert await raw.refusal("GET", "channels/5") == (404, 10003)
    assert await raw.refusal("PATCH", f"{messages}/5", {"content": "x"}) == (404, 10008)
    assert await raw.refusal("PATCH", f"{messages}/{said}", {"content": "x"}) == (403, 50005)
    assert await raw.refusal("DELETE", f"{messages}/{said}") == (403, 50003)
    assert await raw.refusal("PUT", f"{messages}/{said}/reactions/eyes/@me") == (400, 10014)
    assert await raw.refusal("GET", "users/5") == (404, 10013)
    assert await raw.refusal("POST", "users/@me/channels", {"recipient_id": "5"}) == (400, 50033)
    server.blocks(ada)
    assert await raw.refusal("POST", messages, {"content": "x"}) == (403, 50007)
    server.deny(general.id, "permissions")
    assert await raw.refusal("POST", f"channels/{general.id}/messages", {"content": "x"}) == (403, 50013)
    server.deny(general.id)
    assert await raw.refusal("GET", f"channels/{general.id}/messages") == (403, 50001)
    server.allow(general.id)
    assert (await raw.ask("POST", f"channels/{general.id}/messages", {"content": "x"}))[0] == 200
    assert await Raw(server, raw.session, "another").refusal("GET", "users/@me") == (401, 0)


async def test_history_comes_newest_first_from_where_one_asks(server: DiscordServer, raw: Raw, ada: Person) -> None:
    numbers = [await ada.says(str(count)) for count in range(6)]
    path = f"channels/{ada.channel_id}/messages"

    async def page(query: str) -> list[str]:
        return [message["content"] for message in (await raw.ask("GET", f"{path}?{query}"))[1]]

    assert await page("limit=2") == ["5", "4"]
    assert await page(f"after={numbers[1]}&limit=2") == ["3", "2"]
    assert await page(f"before={numbers[4]}&limit=2") == ["3", "2"]
    assert await raw.error("GET", f"{path}?limit=101", None, "limit") == "NUMBER_TYPE_MAX"


@pytest.mark.parametrize(
    ("command", "place", "code"),
    [
        ({"name": "Compact", "description": "x"}, "name", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "a b", "description": "x"}, "name", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "compact", "description": ""}, "description", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "compact", "description": "x" * 101}, "description", "BASE_TYPE_BAD_LENGTH"),
        ({"name": "compact"}, "description", "BASE_TYPE_REQUIRED"),
    ],
)
async def test_commands_that_break_a_rule_are_refused(
    server: DiscordServer, raw: Raw, command: Any, place: str, code: str
) -> None:
    path = f"applications/{server.world.bot.id}/commands"
    assert await raw.error("PUT", path, [command], "0", place) == code
    assert await raw.ask("GET", path) == (200, [])


async def test_the_application_says_whether_it_may_read_contents(server: DiscordServer, raw: Raw) -> None:
    assert (await raw.ask("GET", "oauth2/applications/@me"))[1]["flags"] == 1 << 19
    server.message_content_allowed = False
    assert (await raw.ask("GET", "applications/@me"))[1]["flags"] == 0
    assert (await raw.ask("GET", "gateway/bot"))[1]["url"] == server.gateway


async def test_what_is_unknown_is_kept_for_the_test_to_see(server: DiscordServer, raw: Raw) -> None:
    assert await raw.ask("GET", "pigeons") == (404, {"message": "404: Not Found", "code": 0})
    assert await raw.refusal("PUT", "users/@me") == (404, 0)
    assert [call.path for call in server.unknown_calls] == ["/pigeons", "/users/@me"]
    server.unknown_calls.clear()
