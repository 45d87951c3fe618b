"""Which texts and entities the Bot API server takes."""

from typing import Any

import pytest
from aiogram import Bot
from aiogram.types import MessageEntity

from tests.servers.telegram.entities import special_parts
from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person, utf16_units

pytest_plugins = ["tests.servers.telegram.fixtures"]


def entity(type: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": type, "offset": offset, "length": length, **more}


async def test_entities_are_kept_the_outer_before_the_inner(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    inner, outer = MessageEntity(type="italic", offset=3, length=2), MessageEntity(type="bold", offset=0, length=5)
    sent = await bot.send_message(ada.chat_id, "👍 abc", entities=[inner, outer])
    assert [e.type for e in sent.entities or []] == ["bold", "italic"]
    assert telegram.messages(ada.chat_id)[0].entities == [entity("bold", 0, 5), entity("italic", 3, 2)]


async def test_a_text_is_trimmed_and_its_entities_move_along(
    telegram: BotApiServer, raw: RawCalls, ada: Person
) -> None:
    await raw("sendMessage", chat_id=1001, text=" \n one two \n", entities=[entity("bold", 7, 5)])
    (message,) = telegram.messages(ada.chat_id)
    assert (message.text, message.entities) == ("one two", [entity("bold", 4, 3)])


async def test_white_space_in_an_entity_at_the_beginning_stays(
    telegram: BotApiServer, raw: RawCalls, ada: Person
) -> None:
    await raw("sendMessage", chat_id=1001, text="\n  if x:\n    y", entities=[entity("pre", 1, 13, language="python")])
    assert telegram.texts(ada.chat_id) == ["  if x:\n    y"]


@pytest.mark.parametrize(
    ("text", "entities", "reason"),
    [
        ("abc", [entity("bold", 0, 0)], "entity of length 0"),
        ("abc", [entity("bold", 1, 3)], "entity beyond the text"),
        ("abc", [entity("bold", -1, 2)], "entity beyond the text"),
        ("👍", [entity("bold", 0, 1)], "cuts a surrogate pair"),
        ("👍a", [entity("bold", 1, 2)], "cuts a surrogate pair"),
        ("abcd", [entity("bold", 0, 3), entity("italic", 2, 2)], "entities overlap"),
        ("abcd", [entity("bold", 0, 3), entity("code", 1, 1)], "in or around code or pre"),
        ("abcd", [entity("pre", 0, 3), entity("text_link", 1, 1, url="https://a.b")], "in or around code or pre"),
        ("abcd", [entity("bold", 0, 4), entity("code", 0, 4)], "in or around code or pre"),
        ("abcd", [entity("blockquote", 0, 4), entity("blockquote", 1, 2)], "nested blockquote"),
        ("abc", [entity("text_link", 0, 3)], 'Can\'t find field "url"'),
        ("abc", [entity("text_link", 0, 3, url="javascript:alert(1)")], "Unsupported URL protocol"),
        ("abc", [entity("text_link", 0, 3, url="mailto:a@b.c")], "Unsupported URL protocol"),
        ("abc", [entity("text_link", 0, 3, url="./file.md")], "Wrong HTTP URL"),
        ("abc", [entity("text_link", 0, 3, url="https://a.b/c d")], "Wrong HTTP URL"),
        ("abc", [entity("text_link", 0, 3, url="http://localhost:8080/")], "Wrong HTTP URL"),
        ("abc", [entity("heading", 0, 3)], "Unsupported type specified"),
        ("abc", [entity("bold", 0, 3)] * 101, "ENTITIES_TOO_LONG"),
        ("abc", ["bold"], "expected an Object"),
        ("abc", [{"type": "bold", "offset": "0", "length": 1}], 'Field "offset" must be of type Number'),
    ],
)
async def test_a_bad_entity_is_refused(raw: RawCalls, ada: Person, text: str, entities: Any, reason: str) -> None:
    body = await raw("sendMessage", chat_id=1001, text=text, entities=entities)
    assert body["error_code"] == 400
    assert reason in body["description"]


async def test_a_quotation_may_hold_code_and_styles_may_hold_links(raw: RawCalls, ada: Person) -> None:
    entities = [
        entity("blockquote", 0, 6),
        entity("code", 0, 2),
        entity("bold", 2, 4),
        entity("text_link", 3, 2, url="https://example.org"),
    ]
    assert not await raw.refusal("sendMessage", chat_id=1001, text="abcdef", entities=entities)


async def test_an_edit_is_held_to_the_same_rules(raw: RawCalls, ada: Person) -> None:
    await raw("sendMessage", chat_id=1001, text="abc")
    wrong = [entity("bold", 0, 9)]
    refusal = await raw.refusal("editMessageText", chat_id=1001, message_id=1, text="abc", entities=wrong)
    assert "entity beyond the text" in refusal
    right = [entity("bold", 0, 3)]
    assert not await raw.refusal("editMessageText", chat_id=1001, message_id=1, text="abc", entities=right)
    refusal = await raw.refusal("editMessageText", chat_id=1001, message_id=1, text="abc", entities=right)
    assert "message is not modified" in refusal


async def test_a_text_has_4096_utf16_units_after_trimming(raw: RawCalls, ada: Person) -> None:
    assert not await raw.refusal("sendMessage", chat_id=1001, text="\n" + "👍" * 2048 + " ")
    assert await raw.refusal("sendMessage", chat_id=1001, text="👍" * 2049) == "Bad Request: message is too long"
    assert await raw.refusal("sendMessage", chat_id=1001, text=" \n\t") == "Bad Request: message text is empty"
    assert await raw.refusal("sendMessage", chat_id=1001, text="a" * 40_000) == "Bad Request: text is too long"


def test_telegram_finds_commands_mentions_and_addresses() -> None:
    text = "👍 /go@some_bot to @ada, see https://example.org/a."
    found = [(e["type"], e["offset"], e["length"]) for e in special_parts(text)]
    assert found == [
        ("bot_command", 3, utf16_units("/go@some_bot")),
        ("mention", 19, 4),
        ("url", 29, utf16_units("https://example.org/a")),
    ]
