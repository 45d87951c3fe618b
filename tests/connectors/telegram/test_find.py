"""Finding what went out to Telegram just before a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.errors import DeliveryDelayed
from bot.messages import OutFile
from connectors.telegram import Telegram
from connectors.telegram.writer import PROBES
from tests.connectors.telegram.case import GROUP, LONG, TABLE, UNDO, MakeTelegram, edit, say
from tests.servers.telegram.server import BotApiServer, Person


async def test_a_lost_message_is_found_and_no_other_touched(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    (before,) = await telegram.deliver(say("Before"))
    ada.says("a question")
    (known,) = await telegram.deliver(say("A notice", token="notice"))
    (lost,) = await telegram.deliver(say("The reply", token="lost", buttons=UNDO))
    await telegram.deliver(say("Later", token="later"))

    found = await telegram.find(say("The reply", token="lost", buttons=UNDO), before, frozenset({known}))

    assert found == (lost,)
    assert server.texts(1001) == ["Before", "A notice", "The reply", "Later"]
    assert not [message for message in server.messages(1001) if message.edits]


async def test_a_partial_reply_that_went_on_meanwhile_is_found(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    ada.says("a question")
    (lost,) = await telegram.deliver(say("The rep"))

    assert await telegram.find(say("The reply"), "1", frozenset()) == (lost,)
    assert server.texts(1001) == ["The reply"]


async def test_a_message_that_never_went_out_is_not_found_within_so_many_probes(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    for number in range(PROBES + 8):
        ada.says(f"message {number}")

    assert await telegram.find(say("never sent"), "1", frozenset({"4"})) is None
    assert [call.params["message_id"] for call in server.calls_of("editMessageText")] == [
        *range(2, 4),
        *range(5, 3 + PROBES),
    ]
    assert server.messages(1001) == []


@pytest.mark.parametrize(
    ("chat", "other", "shared"),
    [
        ("1", "2", True),
        ("1", "1", True),
        ("-5", "-5", True),
        ("-5", "-6", True),
        ("1", "-5", True),
        ("-100123456", "1", True),
        ("-4999999999", "-5", True),
        ("-1001234567890", "-1001234567890", True),
        ("-1001234567890", "-1001234567891", False),
        ("-1001234567890", "1", False),
        ("-5", "-1001234567890", False),
        ("-1000000000001", "1", False),
    ],
)
def test_private_chats_and_basic_groups_have_one_counter_and_each_supergroup_its_own(
    telegram: Telegram, chat: str, other: str, *, shared: bool
) -> None:
    assert telegram.counts_with(chat, other) is shared


async def test_of_a_long_text_the_missing_parts_are_sent(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram
) -> None:
    ada.says("a question")
    server.flood_limit(1, seconds=3600)
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say(LONG))
    server.clear_faults()

    found = await make_telegram().find(say(LONG), "1", frozenset())

    assert found == tuple(str(message.message_id) for message in server.messages(1001))
    assert "\n\n".join(server.texts(1001)) == LONG


async def test_probing_stops_at_a_flood_limit(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.limit("editMessageText", retry_after=4)

    with pytest.raises(DeliveryDelayed):
        await telegram.find(say("lost"), "1", frozenset())

    assert len(server.calls_of("editMessageText")) == 1


async def test_without_a_place_to_begin_nothing_is_probed(server: BotApiServer, telegram: Telegram) -> None:
    assert await telegram.find(say("lost"), None, frozenset()) is None
    assert await telegram.find(edit(("5",), "lost"), "1", frozenset()) is None
    assert server.calls == []


async def test_a_formatted_reply_is_found(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram
) -> None:
    ada.says("a question")
    (lost,) = await telegram.deliver(say("The **reply**"))

    assert await make_telegram().find(say("The **reply**"), "1", frozenset()) == (lost,)
    assert [call.status for call in server.calls_of("editMessageText")] == [400]
    assert [entity["type"] for entity in server.messages(1001)[0].entities] == ["bold"]


@pytest.mark.parametrize("knows_rich", [True, False])
async def test_a_reply_with_a_table_is_found(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram, knows_rich: bool
) -> None:
    server.knows_rich = knows_rich
    ada.says("a question")
    (lost,) = await telegram.deliver(say(TABLE))

    assert await make_telegram().find(say(TABLE), "1", frozenset()) == (lost,)
    (message,) = server.messages(1001)
    assert bool(message.rich) is knows_rich
    assert message.edits == []


async def test_a_reply_in_a_supergroup_is_found(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram
) -> None:
    group = server.group()
    ada.says("@palimpsest_test_bot a question", chat=group)
    (lost,) = await telegram.deliver(say("The reply", address=GROUP, answers="1"))

    assert await make_telegram().find(say("The reply", address=GROUP, answers="1"), "1", frozenset()) == (lost,)


async def test_a_file_among_the_messages_is_passed_over_and_none_is_looked_for(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    ada.says("a question")
    path = tmp_path / "a.txt"
    path.write_text("a")
    with_file = say("", token="file", file=OutFile(str(path), "a.txt"))
    await telegram.deliver(with_file)
    (lost,) = await telegram.deliver(say("The reply"))

    assert await telegram.find(with_file, "1", frozenset()) is None
    assert await telegram.find(say("The reply"), "1", frozenset()) == (lost,)
