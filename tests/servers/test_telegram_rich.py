"""Rich messages on the Bot API server."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramNotFound
from aiogram.types import InputRichMessage

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.rich import read_rich
from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]

SOURCE = """\
# Plan

Some **bold** and `code`,
a [link](https://example.org).

1. first
2. second
   - inner

> quoted

| a | b |
|---|--:|
| 1 | *2* |

---

```python
print()
```
"""
SHOWN = """\
Plan

Some bold and code,
a link.

1. first
2. second
  • inner

quoted

a | b
1 | 2

———

print()"""


async def test_a_rich_message_keeps_its_source_and_shows_what_people_see(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    sent = await bot.send_rich_message(ada.chat_id, InputRichMessage(markdown=SOURCE))
    assert sent.rich_message is not None
    assert [block.type for block in sent.rich_message.blocks] == [
        *("heading", "paragraph", "list", "blockquote", "table", "divider", "pre")
    ]
    (message,) = telegram.messages(ada.chat_id)
    assert (message.source, message.text) == (SOURCE, SHOWN)


async def test_a_message_becomes_rich_and_plain_again_by_edits(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message(ada.chat_id, "one")
    rich = InputRichMessage(markdown="*two*")
    edited = await bot.edit_message_text(chat_id=ada.chat_id, message_id=1, rich_message=rich)
    assert not isinstance(edited, bool)
    assert edited.rich_message is not None
    with pytest.raises(TelegramBadRequest, match="message is not modified"):
        await bot.edit_message_text(chat_id=ada.chat_id, message_id=1, rich_message=rich)
    await bot.edit_message_text("three", chat_id=ada.chat_id, message_id=1)
    (message,) = telegram.messages(ada.chat_id)
    assert (message.text, message.edits, message.rich) == ("three", ["two", "three"], None)


async def test_html_and_blocks_are_shown_too(telegram: BotApiServer, raw: RawCalls, ada: Person) -> None:
    await raw("sendRichMessage", chat_id=1001, rich_message={"html": "<h1>A &amp; B</h1><p>c <b>d</b></p>"})
    blocks = [{"type": "paragraph", "text": ["e ", {"type": "bold", "text": "f"}]}]
    await raw("sendRichMessage", chat_id=1001, rich_message={"blocks": blocks})
    assert telegram.texts(1001) == ["A & B\n\nc d", "e f"]


async def test_wrong_rich_messages_are_refused(raw: RawCalls, ada: Person) -> None:
    async def refusal(**rich: object) -> str:
        return await raw.refusal("sendRichMessage", chat_id=1001, rich_message=rich)

    assert "exactly one of the fields" in await refusal()
    assert "exactly one of the fields" in await refusal(markdown="a", html="a")
    assert await refusal(markdown="a" * 32_769) == "Bad Request: message is too long"
    assert await refusal(markdown=" ") == "Bad Request: message text is empty"
    assert "too many blocks" in await refusal(markdown="a\n\n" * 501)
    assert "nested too deeply" in await refusal(markdown=">" * 17 + "a")
    row = "|a" * 21 + "|\n"
    assert "too many columns" in await refusal(markdown=row + "|-" * 21 + "|\n" + row)
    assert "only in drafts" in await refusal(blocks=[{"type": "thinking", "text": "…"}])
    assert not await refusal(markdown="a" * 32_768)


async def test_an_old_server_knows_no_rich_messages(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    telegram.knows_rich = False
    rich = InputRichMessage(markdown="a")
    with pytest.raises(TelegramNotFound):
        await bot.send_rich_message(ada.chat_id, rich)
    with pytest.raises(TelegramNotFound):
        await bot.send_rich_message_draft(ada.chat_id, 5, rich)
    await bot.send_message(ada.chat_id, "one")
    with pytest.raises(TelegramBadRequest, match="message text is empty"):
        await bot.edit_message_text(chat_id=ada.chat_id, message_id=1, rich_message=rich)
    assert telegram.unknown_calls == []


def test_markup_that_is_not_closed_is_shown_as_it_is() -> None:
    source, shown, _ = read_rich({"markdown": "a **b\n\n```\nc"})
    assert (source, shown) == ("a **b\n\n```\nc", "a **b\n\nc")
