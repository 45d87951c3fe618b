"""What people see of what the Discord connector delivers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.errors import DeliveryError, DeliverySuperseded, DeliveryUncertain
from bot.messages import Address, Button, Edit, OutFile, React, Say, Status, Typing
from connectors.discord.writer import EMPTY_REPLY, LONGEST_TEXT
from tests.connectors.discord.rig import Rig

LONG = "\n\n".join(f"Paragraph {number} {'with some words ' * 40}".strip() for number in range(8))
UNDO = (Button("Undo", "/undo"),)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
def channel(rig: Rig) -> int:
    return rig.ada.channel_id


def place(rig: Rig, name: str = "general") -> Address:
    return Address("discord", str(rig.server.channel(name).id))


# Saying


async def test_a_message_is_said_once_and_its_id_returned(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, "**bold** and `code`", "1", UNDO))

    (message,) = rig.server.messages(channel)
    assert refs == (str(message.id),)
    assert message.text == "**bold** and `code`"
    assert [(button["label"], button["custom_id"]) for button in message.buttons] == [("Undo", "/undo")]


async def test_a_long_text_is_said_in_parts_with_its_buttons_under_the_last(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, LONG, "1", UNDO))

    messages = rig.server.messages(channel)
    assert refs == tuple(str(message.id) for message in messages)
    assert len(messages) > 1
    assert all(len(message.text) <= LONGEST_TEXT for message in messages)
    assert [message.labels for message in messages] == [*([] for _ in messages[1:]), ["Undo"]]
    assert all(f"Paragraph {number} " in "\n".join(rig.server.texts(channel)) for number in range(8))


async def test_a_gateway_that_was_followed_between_two_parts_sends_no_more_of_them(rig: Rig, channel: int) -> None:
    asked = 0

    async def guard() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise DeliverySuperseded("another gateway delivers now")

    rig.discord.guard = guard
    with pytest.raises(DeliverySuperseded):
        await rig.discord.deliver(Say(rig.here, LONG, "1"))
    assert len(rig.server.texts(channel)) == 1


async def test_what_is_still_being_written_is_one_message(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, LONG, "1", partial=True))

    (text,) = rig.server.texts(channel)
    assert len(refs) == 1
    assert text.startswith("Paragraph 0")
    assert text.endswith("…")


async def test_a_notice_shows_its_text_as_it_is(rig: Rig, channel: int) -> None:
    await rig.discord.deliver(Say(rig.here, "Kept *2* of `x_y`:\n\n- one\n  - two", "1", notice=True))

    assert rig.server.texts(channel) == ["Kept \\*2\\* of `x_y`:\n\n\\- one\n  \\- two"]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_reply_is_said_as_such(rig: Rig, channel: int, text: str) -> None:
    await rig.discord.deliver(Say(rig.here, text, "1"))

    assert rig.server.texts(channel) == [EMPTY_REPLY]


async def test_half_a_character_does_not_stop_a_reply(rig: Rig, channel: int) -> None:
    await rig.discord.deliver(Say(rig.here, "broken \ud83d end", "1", notice=True))

    assert rig.server.texts(channel) == ["broken \ufffd end"]


async def test_nobody_is_notified(rig: Rig) -> None:
    bob = rig.server.person(1002, "Bob")
    general = rig.server.channel("general")
    question = await rig.ada.says("who?", general)
    await rig.discord.deliver(Say(place(rig), f"@everyone and <@{bob.id}>", "1", answers=str(question)))

    (message,) = rig.server.messages(general.id)
    assert not message.pinged


async def test_in_a_channel_the_first_part_refers_to_what_it_answers(rig: Rig) -> None:
    general = rig.server.channel("general")
    question = await rig.ada.says("tell me more", general)
    await rig.discord.deliver(Say(place(rig), LONG, "1", answers=str(question)))

    messages = rig.server.messages(general.id)
    assert [message.reply_to for message in messages] == [question, *(None for _ in messages[1:])]


async def test_what_it_answers_may_be_gone(rig: Rig) -> None:
    general = rig.server.channel("general")
    question = await rig.ada.says("never mind", general)
    await rig.ada.deletes(question)
    await rig.discord.deliver(Say(place(rig), "too late", "1", answers=str(question)))

    assert rig.server.texts(general.id) == ["too late"]


async def test_in_a_direct_channel_nothing_is_referred_to(rig: Rig, channel: int) -> None:
    question = await rig.ada.says("hello")
    await rig.discord.deliver(Say(rig.here, "hello", "1", answers=str(question)))

    (message,) = rig.server.messages(channel)
    assert message.reply_to is None


async def test_a_thread_is_spoken_to_in_the_thread(rig: Rig) -> None:
    general = rig.server.channel("general")
    thread = await rig.server.thread(general, "cats")
    await rig.discord.deliver(Say(Address("discord", str(general.id), str(thread.id)), "meow", "1"))

    assert rig.server.texts(thread.id) == ["meow"]
    assert rig.server.texts(general.id) == []


# Saying once


async def test_a_message_whose_answer_was_lost_is_not_sent_twice(rig: Rig, channel: int) -> None:
    say = Say(rig.here, "once", "1")
    rig.server.lose_answer("create_message")
    with pytest.raises(DeliveryUncertain):
        await rig.discord.deliver(say)

    await rig.restart()
    refs = await rig.discord.deliver(say)

    (message,) = rig.server.messages(channel)
    assert refs == (str(message.id),)


@pytest.mark.parametrize("before", ["The answer", "The answer is 42."])
async def test_what_grew_before_the_second_try_is_shown_in_full(rig: Rig, channel: int, before: str) -> None:
    rig.server.lose_answer("create_message")
    with pytest.raises(DeliveryUncertain):
        await rig.discord.deliver(Say(rig.here, before, "1", partial=True))
    await rig.discord.deliver(Say(rig.here, "The answer is 42.", "1", UNDO))

    (message,) = rig.server.messages(channel)
    assert (message.text, message.labels) == ("The answer is 42.", ["Undo"])


async def test_a_long_text_goes_on_where_it_stopped(rig: Rig, channel: int) -> None:
    say = Say(rig.here, LONG, "1")
    rig.server.fail("create_message", 503, "later", times=1, channel=channel)
    rig.server._errors[-1].times = 0
    await rig.discord.deliver(Say(rig.here, "first", "0"))
    fault = rig.server._errors[-1]
    refs = []

    async def second_call_fails() -> None:
        await rig.server.wait_for(lambda server: len(server.calls_of("create_message")) == 2)
        fault.times = 1

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(second_call_fails())
        with pytest.raises(DeliveryError):
            await rig.discord.deliver(say)
    refs = list(await rig.discord.deliver(say))

    texts = rig.server.texts(channel)[1:]
    assert len(refs) == len(texts) == len(set(texts))


# Editing


async def test_an_edit_changes_each_part_and_adds_and_removes_parts(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, "short", "1"))
    longer = await rig.discord.deliver(Edit(rig.here, refs, LONG, "1"))
    assert longer[: len(refs)] == refs
    assert len(rig.server.texts(channel)) == len(longer) > 1

    again = await rig.discord.deliver(Edit(rig.here, longer, "short again", "1"))
    assert again == refs
    assert rig.server.texts(channel) == ["short again"]

    last = await rig.discord.deliver(Edit(rig.here, again, LONG, "1"))
    assert [str(message.id) for message in rig.server.messages(channel)] == list(last)


async def test_an_edit_that_changes_nothing_is_not_sent(rig: Rig) -> None:
    refs = await rig.discord.deliver(Say(rig.here, "as it was", "1", UNDO))
    await rig.discord.deliver(Edit(rig.here, refs, "as it was", "1", UNDO))
    assert not rig.server.calls_of("edit_message")

    await rig.discord.deliver(Edit(rig.here, refs, "as it was", "1"))
    assert len(rig.server.calls_of("edit_message")) == 1
    assert rig.server.message(int(refs[0])).buttons == []


async def test_a_message_that_people_deleted_is_sent_anew(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, "started", "1"))
    rig.server.message(int(refs[0])).deleted = True
    new = await rig.discord.deliver(Edit(rig.here, refs, "finished", "1"))

    assert rig.server.texts(channel) == ["finished"]
    assert new != refs


async def test_a_part_that_people_deleted_is_not_missed(rig: Rig, channel: int) -> None:
    refs = await rig.discord.deliver(Say(rig.here, LONG, "1"))
    rig.server.message(int(refs[-1])).deleted = True
    await rig.discord.deliver(Edit(rig.here, refs, "short", "1"))

    assert rig.server.texts(channel) == ["short"]


# Files


async def test_a_file_is_sent_with_its_text(rig: Rig, channel: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a,b\n1,2\n")
    await rig.discord.deliver(Say(rig.here, "the table", "1", file=OutFile(str(path), "table.csv")))

    (message,) = rig.server.messages(channel)
    assert message.text == "the table"
    assert [(file.filename, file.content) for file in message.files] == [("table.csv", b"a,b\n1,2\n")]


async def test_a_file_may_go_without_words(rig: Rig, channel: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    await rig.discord.deliver(Say(rig.here, "", "1", file=OutFile(str(path), "x.bin")))

    (message,) = rig.server.messages(channel)
    assert (message.text, len(message.files)) == ("", 1)


async def test_a_file_that_is_too_large_is_named_in_its_place(rig: Rig, tmp_path: Path) -> None:
    rig.server.largest_file = 10
    path = tmp_path / "x"
    path.write_bytes(b"x" * 11)
    refs = await rig.discord.deliver(Say(place(rig), "the table", "1", file=OutFile(str(path), "table.csv")))

    message = rig.server.message(int(refs[0]))
    assert message.text == "the table\n\n(table.csv is too large for Discord.)"
    assert not message.files


async def test_a_file_that_is_gone_is_named_in_its_place(rig: Rig, tmp_path: Path) -> None:
    missing = OutFile(str(tmp_path / "gone"), "table.csv")
    refs = await rig.discord.deliver(Say(rig.here, "", "1", file=missing))

    assert rig.server.message(int(refs[0])).text == "(table.csv is not there any more.)"


# Signals


async def test_typing_is_shown_at_most_every_8_seconds(rig: Rig, channel: int) -> None:
    for on in (True, True, False, True):
        await rig.discord.deliver(Typing(rig.here, on))

    assert len(rig.server.typing(channel)) == 1


async def test_a_mark_is_put_and_taken_away(rig: Rig) -> None:
    message = await rig.ada.says("hello")
    await rig.discord.deliver(React(rig.here, str(message), "⏳"))
    assert rig.server.reactions(message) == ["⏳"]

    await rig.discord.deliver(React(rig.here, str(message), "👀"))
    assert rig.server.reactions(message) == ["👀"]

    await rig.restart()
    await rig.discord.deliver(React(rig.here, str(message), ""))
    assert rig.server.reactions(message) == []


async def test_a_mark_that_cannot_be_put_is_no_failure(rig: Rig) -> None:
    await rig.discord.deliver(React(rig.here, "1234", "👀"))
    await rig.discord.deliver(React(rig.here, "interaction:1:token", "👀"))
    await rig.discord.deliver(React(rig.here, "", "👀"))


async def test_a_status_is_shown_nowhere(rig: Rig) -> None:
    assert await rig.discord.deliver(Status(rig.here, {"used": 1})) == ()
    assert not rig.server.calls


# Failures


# Pace


# After a crash


async def test_a_message_that_went_out_before_a_crash_is_found(rig: Rig, channel: int) -> None:
    earlier = await rig.discord.deliver(Say(rig.here, "the same", "1"))
    say = Say(rig.here, "the same", "2")
    refs = await rig.discord.deliver(say)
    await rig.restart()

    assert await rig.discord.find(say, None, frozenset(earlier)) == refs
    assert await rig.discord.find(say, earlier[0], frozenset()) == refs
    assert await rig.discord.find(Say(rig.here, "another", "3"), None, frozenset()) is None
    assert await rig.discord.find(Edit(rig.here, refs, "the same", "2"), None, frozenset()) is None
    assert len(rig.server.messages(channel)) == 2


async def test_the_missing_parts_of_a_message_that_was_cut_off_are_sent(rig: Rig, channel: int) -> None:
    say = Say(rig.here, LONG, "1")
    refs = await rig.discord.deliver(say)
    rig.server.message(int(refs[-1])).deleted = True
    rig.server.message(int(refs[-1])).nonce = None
    await rig.restart()

    found = await rig.discord.find(say, None, frozenset())
    assert found
    assert found[:-1] == refs[:-1]
    assert len(rig.server.messages(channel)) == len(refs)


async def test_what_people_said_in_the_same_words_is_not_ours(rig: Rig) -> None:
    await rig.ada.says("hello")

    assert await rig.discord.find(Say(rig.here, "hello", "1"), None, frozenset()) is None
