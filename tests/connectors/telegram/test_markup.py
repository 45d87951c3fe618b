"""A model's Markdown in Telegram: marks, rich messages and drafts, and what happens where a server refuses them."""

from __future__ import annotations

import pytest

from bot.errors import ChatClosed, DeliveryDelayed
from bot.messages import Address
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from connectors.telegram.looks import LONGEST_TEXT
from connectors.text import utf16_length
from tests.connectors.telegram.case import GROUP, HERE, LONG, TABLE, UNDO, edit, running, say
from tests.servers.telegram.server import BotApiServer, Person

MARKED = "Read **this** and `that`, or [the page](https://example.org/a)."
SHOWN = "Read this and that, or the page."


async def test_markdown_becomes_marks_and_links_have_no_preview(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    await telegram.deliver(say(MARKED))

    (message,) = server.messages(1001)
    assert message.text == SHOWN
    assert [entity["type"] for entity in message.entities] == ["bold", "code", "text_link"]
    (call,) = server.calls_of("sendMessage")
    assert call.params["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in call.params


async def test_a_notice_is_plain_text(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    await telegram.deliver(say(f"{MARKED}\n\n{TABLE}", notice=True))

    (message,) = server.messages(1001)
    assert message.text == f"{MARKED}\n\n{TABLE}"
    assert message.entities == []


async def test_marks_that_telegram_refuses_are_left_out(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.fail("sendMessage", 400, "Bad Request: can't parse entities: wrong url")
    refs = await telegram.deliver(say(MARKED))
    assert server.messages(1001)[0].entities == []

    server.fail("editMessageText", 400, "Bad Request: ENTITY_BOUNDS_INVALID")
    assert await telegram.deliver(edit(refs, MARKED + " **Now.**")) == refs

    (message,) = server.messages(1001)
    assert (message.text, message.entities) == (SHOWN + " Now.", [])


async def test_a_refusal_that_is_not_about_marks_is_a_refusal(server: BotApiServer, telegram: Telegram) -> None:
    with pytest.raises(ChatClosed):
        await telegram.deliver(say(MARKED))


# Rich messages


async def test_a_table_is_a_rich_message_with_its_buttons_and_its_reply(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    ada.says("/context", chat=server.group())
    (ref,) = await telegram.deliver(say(TABLE, address=GROUP, answers="1", buttons=UNDO))

    (message,) = server.messages(-100200)
    assert message.text == "item | price\nrope | 3 €\nsail | 40 €"
    assert message.rich
    assert (message.reply_to, len(message.buttons)) == (1, 1)
    assert await telegram.deliver(edit((ref,), TABLE, address=GROUP, buttons=UNDO)) == (ref,)
    assert server.calls_of("editMessageText") == []


async def test_a_reply_becomes_rich_when_its_table_is_whole_and_plain_again(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.group()
    refs = await telegram.deliver(say("| item | pr", address=GROUP, partial=True))
    refs = await telegram.deliver(edit(refs, TABLE, address=GROUP))
    (message,) = server.messages(-100200)
    assert message.rich

    assert await telegram.deliver(edit(refs, "Nothing", address=GROUP)) == refs
    (message,) = server.messages(-100200)
    assert (message.text, message.rich) == ("Nothing", None)


async def test_a_server_without_rich_messages_is_asked_once(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.knows_rich = False
    (ref,) = await telegram.deliver(say(TABLE))
    await telegram.deliver(edit((ref,), f"{TABLE}\n| mast | 9 € |"))
    await telegram.deliver(say(TABLE, token="2"))

    assert len(server.calls_of("sendRichMessage")) == 1
    assert [("rope" in text, "sail" in text) for text in server.texts(1001)] == [(True, True)] * 2
    assert all(message.rich is None for message in server.messages(1001))


@pytest.mark.parametrize("method", ["sendRichMessage", "editMessageText"])
async def test_a_rich_message_that_is_refused_goes_with_marks_and_the_next_one_is_rich_again(
    server: BotApiServer, ada: Person, telegram: Telegram, method: str
) -> None:
    refs = await telegram.deliver(say("One moment", token="2")) if method == "editMessageText" else ()
    server.fail(method, 400, "Bad Request: RICH_MESSAGE_INVALID")
    done = await telegram.deliver(edit(refs, TABLE) if refs else say(TABLE))
    (message,) = server.messages(1001)
    assert done == (str(message.message_id),)
    assert message.rich is None
    assert "rope" in message.text

    await telegram.deliver(say(TABLE, token="3"))
    assert server.messages(1001)[-1].rich


async def test_a_rich_message_in_place_of_several_takes_the_others_away(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(say(LONG))

    assert await telegram.deliver(edit(refs, TABLE)) == refs[:1]
    assert len(server.messages(1001)) == 1


async def test_a_rich_message_that_is_gone_is_said_anew(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    (ref,) = await telegram.deliver(edit(("77",), TABLE))

    assert [str(message.message_id) for message in server.messages(1001)] == [ref]
    assert server.messages(1001)[0].rich


async def test_a_flood_limit_on_a_rich_message_delays(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.limit("sendRichMessage", retry_after=8)

    with pytest.raises(DeliveryDelayed) as delayed:
        await telegram.deliver(say(TABLE))

    assert delayed.value.retry_after == 8
    assert server.messages(1001) == []


# Drafts


async def test_a_growing_reply_is_a_draft_in_a_private_chat_until_it_is_said(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    assert telegram.drafts(HERE)
    for text in ("", "It is a", "It is **a ship**"):
        assert await telegram.deliver(say(text, token="17", partial=True)) == ()
    (draft,) = server.drafts(1001)
    assert draft.history == ["", "It is a", "It is a ship"]
    assert (draft.can_stop, draft.keep_on_stop) == (True, False)
    assert server.messages(1001) == []

    await telegram.deliver(say("It is **a ship**.", token="17"))
    assert server.texts(1001) == ["It is a ship."]
    assert server.drafts(1001) == []


async def test_a_draft_is_shown_in_its_topic(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    topic = server.topic(ada, "Ships")
    await telegram.deliver(say("It", address=Address("telegram", "1001", str(topic)), partial=True))

    assert [draft.thread_id for draft in server.drafts(1001)] == [topic]


async def test_a_long_draft_shows_only_its_beginning(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    for text in (LONG, LONG * 20):
        await telegram.deliver(say(text, partial=True))

        shown = server.drafts(1001)[0].text
        assert shown.endswith("…")
        assert LONG.startswith(shown.removesuffix("…").rstrip())
        assert utf16_length(shown) <= LONGEST_TEXT


async def test_a_server_without_drafts_is_asked_once_and_then_messages_are_edited(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.knows_drafts = False
    assert await telegram.deliver(say("It", partial=True)) == ()
    assert not telegram.drafts(HERE)

    refs = await telegram.deliver(say("It is", partial=True))
    assert await telegram.deliver(edit(refs, "It is a ship")) == refs
    assert server.texts(1001) == ["It is a ship"]
    assert len(server.calls_of("sendMessageDraft")) == 1


async def test_marks_that_a_draft_may_not_have_are_left_out(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.fail("sendMessageDraft", 400, "Bad Request: can't parse entities")
    await telegram.deliver(say(MARKED, partial=True))

    assert server.drafts(1001)[0].text == SHOWN


@pytest.mark.parametrize("in_topic", [False, True])
async def test_the_stop_button_of_a_draft_stops_the_answer(
    server: BotApiServer, ada: Person, telegram: Telegram, in_topic: bool
) -> None:
    topic = server.topic(ada, "Ships") if in_topic else None
    here = Address("telegram", "1001", str(topic or ""))
    intake = MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.polls)
        await telegram.deliver(say("It is", address=here, partial=True))
        update = await ada.stops(thread=topic)
        await intake.until(lambda: intake.inbounds)

    (press,) = intake.inbounds
    assert (press.kind, press.text, press.address, press.person) == ("press", "/abort answer", here, "1001")
    assert (press.order, press.ref, str(update) in press.key) == (update, "", True)
