"""The Telegram connector, over HTTP against a strict Bot API server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from bot.connector import Connector
from bot.errors import (
    ConfigurationError,
    DeliveryDelayed,
    DeliveryError,
    DeliveryRefused,
    DeliveryUncertain,
    StoreUnavailable,
)
from bot.messages import Address, Button, Edit, Inbound, React, Say, Status, Typing
from connectors.telegram import EMPTY_REPLY, LONGEST_TEXT, ONLY_TEXT, PROBES, Telegram
from connectors.text import utf16_length
from tests.servers.telegram import BotApiServer, Person
from tests.servers.watched import Watched

HERE = Address("telegram", "1001")
LONG = "\n\n".join(f"Paragraph {number} 👍🏽 {'with some words ' * 40}".strip() for number in range(12))
UNDO = (Button("Undo", "/undo"),)


class FakeIntake(Watched):
    """Keeps what is stored; while ``broken`` is positive, storing fails and takes one off."""

    def __init__(self, *, cursor: str | None = None, broken: int = 0) -> None:
        super().__init__()
        self.inbounds: list[Inbound] = []
        self.refused: list[Inbound] = []
        self.saved_cursor = cursor
        self.broken = broken

    @property
    def keys(self) -> list[str]:
        return [inbound.key for inbound in self.inbounds]

    @property
    def texts(self) -> list[str]:
        return [inbound.text for inbound in self.inbounds]

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        if self.broken:
            self.broken -= 1
            self.refused.extend(inbounds)
            raise StoreUnavailable("the database is away")
        self.inbounds.extend(inbounds)
        self.saved_cursor = cursor
        self.changed()
        return len(inbounds)

    async def cursor(self) -> str | None:
        return self.saved_cursor

    async def settled(self, address: Address) -> None: ...


class Pauses(Watched):
    """Stands for ``asyncio.sleep``: notes how long, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.changed()
        await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def ada(server: BotApiServer) -> Person:
    return server.person(1001, "Ada")


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def telegram(server: BotApiServer, pauses: Pauses) -> AsyncIterator[Telegram]:
    telegram = Telegram(server.token, api_base=server.url, commands={"compact": "Make room"}, sleep=pauses)
    yield telegram
    await telegram.close()


def running(telegram: Connector, intake: FakeIntake) -> AbstractAsyncContextManager[None]:
    @asynccontextmanager
    async def run() -> AsyncIterator[None]:
        task = asyncio.create_task(telegram.run(intake))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return run()


def say(text: str, *, token: str = "1", partial: bool = False, buttons: tuple[Button, ...] = ()) -> Say:
    return Say(HERE, text, token, partial=partial, buttons=buttons)


def edit(refs: tuple[str, ...], text: str) -> Edit:
    return Edit(HERE, refs, text, "2")


# Receiving


async def test_a_batch_is_stored_in_order_and_then_confirmed(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = FakeIntake()
    first, second = ada.says("one"), ada.says("two")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == second + 1)

    assert [(i.kind, i.key, i.order, i.text) for i in intake.inbounds] == [
        ("message", "message:1001:1", first, "one"),
        ("message", "message:1001:2", second, "two"),
    ]
    assert intake.saved_cursor == str(second + 1)
    assert (intake.inbounds[0].address, intake.inbounds[0].person_name) == (HERE, "Ada")
    assert intake.inbounds[0].sent_at is not None


async def test_what_could_not_be_stored_is_not_confirmed_and_comes_again(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses
) -> None:
    intake = FakeIntake(broken=2)
    ada.says("do not lose me")
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)
        asked = [call.params.get("offset", 0) for call in server.calls_of("getUpdates")]

    assert [inbound.key for inbound in intake.refused] == intake.keys * 2
    assert set(asked) == {0}
    assert len(pauses.seconds) == 2


async def test_receiving_goes_on_at_the_stored_cursor(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    known, new = ada.says("known"), ada.says("new")
    intake = FakeIntake(cursor=str(known + 1))
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == new + 1)

    assert intake.texts == ["new"]


async def test_a_redelivery_has_the_same_key(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    intake = FakeIntake()
    ada.says("once")
    (raw,) = server.pending
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: len(intake.inbounds) == 1)
        server.update(raw)
        await intake.wait_for(lambda intake: len(intake.inbounds) == 2)

    assert intake.inbounds[0] == intake.inbounds[1]


async def test_an_update_that_cannot_be_read_does_not_hold_up_the_others(
    server: BotApiServer, ada: Person, telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    intake = FakeIntake()
    ada.says("before")
    server.update({"message": {"message_id": "of a kind that is not known yet"}})
    last = ada.says("after")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == last + 1)

    assert intake.texts == ["before", "after"]
    assert f"update {last - 1} cannot be read" in caplog.text


async def test_groups_edits_and_other_content_are_not_stored(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = FakeIntake()
    ada.says("in a group", chat=server.group())
    ada.sends_file("a.txt", b"a")
    ada.sends_file("b.txt", b"b")
    ada.says("mine")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.texts(1001))
        ada.edits(4, "mine, edited")
        ada.says("another")
        await intake.wait_for(lambda intake: len(intake.inbounds) > 1)

    assert intake.texts == ["mine", "another"]
    assert server.texts(1001) == [ONLY_TEXT]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("/compact@palimpsest_test_bot keep the names", "/compact keep the names"),
        ("/compact@Palimpsest_Test_Bot", "/compact"),
        ("/compact@another_bot now", "/compact@another_bot now"),
        ("write to /me@palimpsest_test_bot", "write to /me@palimpsest_test_bot"),
    ],
)
async def test_a_command_that_names_this_bot_loses_the_name(
    ada: Person, telegram: Telegram, said: str, stored: str
) -> None:
    intake = FakeIntake()
    ada.says(said)
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert intake.texts == [stored]


async def test_a_topic_is_a_thread_of_its_own(ada: Person, telegram: Telegram) -> None:
    intake = FakeIntake()
    ada.says("in a topic", thread=7)
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert intake.inbounds[0].address == Address("telegram", "1001", "7")


async def test_a_press_is_answered_and_stored_with_its_command(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("Compacted.", buttons=UNDO))
    intake = FakeIntake()
    order = ada.presses(int(ref), "/undo")
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert [call.status for call in server.calls_of("answerCallbackQuery")] == [200]
    (press,) = intake.inbounds
    assert (press.kind, press.text, press.order, press.address) == ("press", "/undo", order, HERE)
    assert press.key.startswith("press:")


async def test_commands_are_offered_and_a_webhook_is_removed_without_losing_updates(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = FakeIntake()
    ada.says("waiting")
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert [list(commands) for commands in server.methods.commands.values()] == [
        [{"command": "compact", "description": "Make room"}]
    ]
    assert [call.status for call in server.calls_of("deleteWebhook")] == [200]


# Receiving when something is wrong


async def test_a_conflict_is_waited_out_for_5_s_and_not_logged(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    intake = FakeIntake()
    server.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=2)
    ada.says("hello")
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert pauses.seconds == [5, 5]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_flood_limit_on_receiving_is_waited_out(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses
) -> None:
    intake = FakeIntake()
    server.limit("getUpdates", retry_after=17)
    ada.says("hello")
    async with running(telegram, intake):
        await intake.wait_for(lambda intake: intake.inbounds)

    assert pauses.seconds == [17]


async def test_a_server_that_is_not_there_yet_is_waited_for(pauses: Pauses) -> None:
    server = BotApiServer()
    async with server:
        pass
    telegram = Telegram(server.token, api_base=server.url, commands={}, sleep=pauses)
    intake = FakeIntake()
    async with running(telegram, intake):
        await pauses.wait_for(lambda pauses: len(pauses.seconds) >= 8)
        async with server:
            server.person().says("at last")
            await intake.wait_for(lambda intake: intake.inbounds)
    await telegram.close()

    assert all(2**n / 2 <= seconds <= 2**n for n, seconds in enumerate(pauses.seconds[:5]))
    assert all(15 <= seconds <= 30 for seconds in pauses.seconds[5:])


@pytest.mark.parametrize("token", ["4200:wrong", "no token at all"])
async def test_a_wrong_token_is_a_configuration_error(server: BotApiServer, token: str) -> None:
    async def run() -> None:
        telegram = Telegram(token, api_base=server.url, commands={})
        try:
            await telegram.run(FakeIntake())
        finally:
            await telegram.close()

    with pytest.raises(ConfigurationError, match="TELEGRAM_TOKEN"):
        await run()


async def test_a_token_that_was_taken_back_ends_receiving(server: BotApiServer, telegram: Telegram) -> None:
    server.fail("getUpdates", 401, "Unauthorized")

    with pytest.raises(ConfigurationError, match="TELEGRAM_TOKEN"):
        await telegram.run(FakeIntake())


# Delivering


async def test_a_message_is_said_once_and_its_id_returned(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(say("*plain* <text>", buttons=UNDO))

    (message,) = server.messages(1001)
    assert refs == (str(message.message_id),)
    assert message.text == "*plain* <text>"
    assert [button["callback_data"] for button in message.buttons] == ["/undo"]


async def test_a_long_text_with_emoji_is_said_in_parts(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    refs = await telegram.deliver(say(LONG, buttons=UNDO))

    messages = server.messages(1001)
    assert refs == tuple(str(message.message_id) for message in messages)
    assert len(messages) > 1
    assert "\n\n".join(message.text for message in messages) == LONG
    assert [len(message.buttons) for message in messages] == [0] * (len(messages) - 1) + [1]


async def test_a_partial_reply_shows_only_its_beginning(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    await telegram.deliver(say(LONG, partial=True))

    (message,) = server.messages(1001)
    assert message.text.endswith("…")
    assert LONG.startswith(message.text.removesuffix("…").rstrip())
    assert utf16_length(message.text) <= LONGEST_TEXT


@pytest.mark.parametrize("partial", [False, True])
async def test_an_empty_reply_is_made_visible(
    server: BotApiServer, ada: Person, telegram: Telegram, partial: bool
) -> None:
    await telegram.deliver(say(" \n", partial=partial))

    assert server.texts(1001) == [EMPTY_REPLY]


async def test_half_of_a_surrogate_pair_does_not_break_a_message(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    await telegram.deliver(say("cut \ud83d off"))

    assert server.texts(1001) == ["cut \ufffd off"]


async def test_an_edit_that_outgrows_its_message_goes_on_in_new_ones_and_shrinks_again(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    first = await telegram.deliver(say("Begun", partial=True))
    grown = await telegram.deliver(edit(first, LONG))
    assert grown[:1] == first
    assert "\n\n".join(server.texts(1001)) == LONG

    assert await telegram.deliver(edit(grown, "Short")) == first
    assert server.texts(1001) == ["Short"]


async def test_an_edit_that_changes_nothing_is_done(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    refs = await telegram.deliver(say("Same"))

    assert await telegram.deliver(edit(refs, "Same")) == refs


async def test_an_edit_of_a_message_that_is_gone_says_it_anew(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(edit(("77",), "Anew"))

    assert server.texts(1001) == ["Anew"]
    assert refs == (str(server.messages(1001)[0].message_id),)


async def test_typing_is_shown_in_its_thread(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    thread = Address("telegram", "1001", "7")

    assert await telegram.deliver(Typing(thread)) == ()
    assert await telegram.deliver(Typing(thread, on=False)) == ()
    assert await telegram.deliver(Status(thread, {"percent": 7})) == ()
    assert [call.params["message_thread_id"] for call in server.calls_of("sendChatAction")] == [7]
    assert len(server.typing(1001)) == 1


async def test_a_mark_that_cannot_be_set_is_no_error(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    ada.says("hello")
    await telegram.deliver(React(HERE, "1", "👀"))
    await telegram.deliver(React(HERE, "99", "👀"))

    assert server.reactions(1001, 1) == ["👀"]


# Delivering when something is wrong


async def test_a_flood_limit_delays_by_what_telegram_says(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.limit("sendMessage", retry_after=9)

    with pytest.raises(DeliveryDelayed) as delayed:
        await telegram.deliver(say("hello"))

    assert delayed.value.retry_after == 9


async def test_a_long_text_that_was_delayed_goes_on_where_it_stopped(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.flood_limit(1, seconds=3600)
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say(LONG))
    assert len(server.messages(1001)) == 1

    server.clear_faults()
    refs = await telegram.deliver(say(LONG))

    assert refs == tuple(str(message.message_id) for message in server.messages(1001))
    assert "\n\n".join(server.texts(1001)) == LONG


@pytest.mark.parametrize(
    ("code", "description", "error"),
    [
        (400, "Bad Request: chat not found", DeliveryRefused),
        (400, "Bad Request: message thread not found", DeliveryRefused),
        (403, "Forbidden: bot was blocked by the user", DeliveryRefused),
        (401, "Unauthorized", DeliveryDelayed),
        (500, "Internal Server Error", DeliveryUncertain),
        (502, "Bad Gateway", DeliveryUncertain),
    ],
)
async def test_telegrams_answers_become_delivery_errors(
    server: BotApiServer, telegram: Telegram, code: int, description: str, error: type[DeliveryError]
) -> None:
    server.fail("sendMessage", code, description)

    with pytest.raises(error, match=description):
        await telegram.deliver(say("hello"))


async def test_a_lost_answer_leaves_it_uncertain(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.lose_answer("sendMessage")

    with pytest.raises(DeliveryUncertain):
        await telegram.deliver(say("hello"))


async def test_a_server_that_cannot_be_reached_delays() -> None:
    server = BotApiServer()
    async with server:
        pass
    telegram = Telegram(server.token, api_base=server.url, commands={})

    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say("hello"))
    await telegram.close()


# Finding what went out before a crash


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
    (lost,) = await telegram.deliver(say("The rep", partial=True))

    assert await telegram.find(say("The reply"), "1", frozenset()) == (lost,)
    assert server.texts(1001) == ["The reply"]


async def test_a_message_that_never_went_out_is_not_found_within_12_probes(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    for number in range(20):
        ada.says(f"message {number}")

    assert await telegram.find(say("never sent"), "1", frozenset({"4"})) is None
    assert [call.params["message_id"] for call in server.calls_of("editMessageText")] == [
        *range(2, 4),
        *range(5, 2 + PROBES),
    ]
    assert server.messages(1001) == []


async def test_of_a_long_text_the_missing_parts_are_sent(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses
) -> None:
    ada.says("a question")
    server.flood_limit(1, seconds=3600)
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say(LONG))
    server.clear_faults()
    restarted = Telegram(server.token, api_base=server.url, commands={}, sleep=pauses)

    found = await restarted.find(say(LONG), "1", frozenset())
    await restarted.close()

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
