"""Slash commands and buttons of Discord, and their answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.errors import DeliveryUncertain
from bot.messages import Address, Button, Edit, OutFile, Say
from tests.connectors.discord.rig import COMMANDS, Rig
from tests.servers.discord.server import Ack, Interaction

LONG = "\n\n".join(f"Paragraph {number} {'with some words ' * 40}".strip() for number in range(8))


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


async def acknowledged(rig: Rig, interaction: Interaction) -> None:
    await rig.server.wait_for(lambda _: interaction.acked is not None)


# What is offered


async def test_commands_are_offered_once_and_where_they_have_changed(rig: Rig) -> None:
    async with rig.running():
        pass
    await rig.restart()
    async with rig.running():
        pass
    assert len(rig.server.calls_of("put_commands")) == 1
    assert {command["name"]: command["description"] for command in rig.server.commands} == COMMANDS

    await rig.restart(commands={"help": "What else I can do"})
    async with rig.running():
        pass
    assert [command["description"] for command in rig.server.commands] == ["What else I can do"]


async def test_commands_that_cannot_be_offered_do_not_hold_up_the_talk(rig: Rig) -> None:
    rig.server.fail("put_commands", 400, "Invalid Form Body", code=50035)
    async with rig.running():
        await rig.ada.says("hello")
        await rig.stored(1)


@pytest.mark.parametrize(
    ("name", "field", "given"),
    [("recall", "what", "12-40"), ("memory", "what", "pin 3"), ("strategy", "name", "monologue")],
)
async def test_what_stands_behind_a_command_is_a_field_of_it(rig: Rig, name: str, field: str, given: str) -> None:
    await rig.restart(commands={name: "Do it"})
    async with rig.running():
        await acknowledged(rig, await rig.ada.slash(name))
        assert rig.intake.last.text == f"/{name}"
        await acknowledged(rig, await rig.ada.slash(name, {field: given}))
        assert rig.intake.last.text == f"/{name} {given}"


async def test_a_compaction_takes_its_strategy_its_options_and_its_focus_in_the_order_of_the_command(rig: Rig) -> None:
    async with rig.running():
        fields = {"focus": "the recipes", "options": "keep=2", "strategy": "monologue"}
        await acknowledged(rig, await rig.ada.slash("compact", fields))
        assert rig.intake.last.text == "/compact strategy=monologue keep=2 the recipes"
        await acknowledged(rig, await rig.ada.slash("compact", {"focus": "x=5 is the answer"}))
        assert rig.intake.last.text == "/compact -- x=5 is the answer"


# What is stored


async def test_a_command_is_stored_and_then_acknowledged(rig: Rig) -> None:
    async with rig.running():
        rig.intake.open.clear()
        interaction = await rig.ada.slash("compact", {"focus": "the recipes"})
        assert not rig.server.calls_of("callback")
        rig.intake.open.set()
        await acknowledged(rig, interaction)

    inbound = rig.intake.last
    assert interaction.acked is Ack.DEFERRED_MESSAGE
    assert (inbound.kind, inbound.text, inbound.order) == ("message", "/compact the recipes", interaction.id)
    assert inbound.key == f"interaction:{interaction.id}"
    assert inbound.ref == f"interaction:{interaction.id}:{interaction.token}"
    assert inbound.address == rig.here
    assert (inbound.person, inbound.speaker) == ("1001", "")


async def test_a_command_in_a_channel_belongs_to_its_conversation(rig: Rig) -> None:
    general = rig.server.channel("general")
    async with rig.running():
        thread = await rig.server.thread(general, "cats")
        await rig.ada.slash("help", channel=general)
        await rig.ada.slash("undo", channel=thread)
        await rig.stored(2)

    help_, undo = rig.intake.inbounds
    assert (help_.text, help_.address) == ("/help", Address("discord", str(general.id)))
    assert (undo.text, undo.address) == ("/undo", Address("discord", str(general.id), str(thread.id)))
    assert help_.speaker == "Ada (@ada)"


async def test_a_press_is_stored_and_acknowledged_without_a_word(rig: Rig) -> None:
    async with rig.running():
        (ref,) = await rig.discord.deliver(Say(rig.here, "done", "1", (Button("Undo", "/undo 7"),)))
        interaction = await rig.ada.presses(int(ref), "Undo")
        await rig.stored(1)
        await acknowledged(rig, interaction)

    inbound = rig.intake.last
    assert interaction.acked is Ack.DEFERRED_UPDATE
    assert (inbound.kind, inbound.text, inbound.ref) == ("press", "/undo 7", "")
    assert rig.server.texts(rig.ada.channel_id) == ["done"]


async def test_a_database_that_is_slow_does_not_let_a_command_fail(rig: Rig) -> None:
    rig.discord._interactions.storing_seconds = 0.01
    async with rig.running():
        rig.intake.open.clear()
        interaction = await rig.ada.slash("help")
        await acknowledged(rig, interaction)
        assert not rig.intake.inbounds
        rig.intake.open.set()
        await rig.stored(1)


async def test_a_command_that_is_brought_again_is_acknowledged_once(rig: Rig) -> None:
    async with rig.running():
        interaction = await rig.ada.slash("help")
        await acknowledged(rig, interaction)
        session = rig.server.sockets.connected[0].session
        assert session
        session.payloads.append({**session.payloads[-2], "s": len(session.payloads) + 1})
        await rig.ada.says("and now?")
        await rig.stored(2)

    assert len(rig.server.calls_of("callback")) == 1


# What is answered


async def test_the_answer_stands_where_discord_said_that_we_think(rig: Rig) -> None:
    async with rig.running():
        interaction = await rig.ada.slash("help")
        await rig.stored(1)
        refs = await rig.discord.deliver(Say(rig.here, "I can help.", "1", answers=rig.intake.last.ref))

        assert refs == (str(interaction.original_id),)
        await rig.discord.deliver(Edit(rig.here, refs, "I can help you.", "1", answers=rig.intake.last.ref))

    assert rig.server.texts(rig.ada.channel_id) == ["I can help you."]
    assert len(rig.server.messages(rig.ada.channel_id)) == 1


async def test_further_parts_and_further_answers_are_messages(rig: Rig) -> None:
    async with rig.running():
        await rig.ada.slash("compact")
        await rig.stored(1)
        ref = rig.intake.last.ref
        await rig.discord.deliver(Say(rig.here, LONG, "1", answers=ref))
        parts = len(rig.server.messages(rig.ada.channel_id))
        await rig.discord.deliver(Say(rig.here, "and another thing", "2", answers=ref))

    assert parts > 1
    assert len(rig.server.messages(rig.ada.channel_id)) == parts + 1
    assert rig.server.texts(rig.ada.channel_id)[-1] == "and another thing"


async def test_after_a_restart_what_stands_is_not_overwritten(rig: Rig) -> None:
    async with rig.running():
        await rig.ada.slash("compact")
        await rig.ada.slash("help")
        await rig.stored(2)
        compact, help_ = rig.intake.inbounds
        await rig.discord.deliver(Say(rig.here, "compacting", "1", answers=compact.ref))
    await rig.restart()
    await rig.discord.deliver(Say(rig.here, "something else", "2", answers=compact.ref))
    await rig.discord.deliver(Say(rig.here, "this is how", "3", answers=help_.ref))

    assert sorted(rig.server.texts(rig.ada.channel_id)) == ["compacting", "something else", "this is how"]
    assert len(rig.server.messages(rig.ada.channel_id)) == 3


@pytest.mark.parametrize("restart", [False, True])
async def test_after_its_time_a_command_is_answered_with_a_message(rig: Rig, *, restart: bool) -> None:
    async with rig.running():
        interaction = await rig.ada.slash("help")
        await acknowledged(rig, interaction)
        rig.server.expire_tokens()
    if restart:
        await rig.restart()
    (ref,) = await rig.discord.deliver(Say(rig.here, "late", "1", answers=rig.intake.last.ref))

    assert rig.server.message(int(ref)).text == "late"
    assert ref != str(interaction.original_id)


async def test_an_interaction_that_could_not_be_acknowledged_is_answered_with_a_message(rig: Rig) -> None:
    rig.server.interaction_deadline = 0.0
    async with rig.running():
        await rig.ada.slash("help")
        await rig.stored(1)
        await rig.discord.deliver(Say(rig.here, "late", "1", answers=rig.intake.last.ref))

    assert rig.server.texts(rig.ada.channel_id) == ["late"]


async def test_an_answer_that_may_have_come_is_given_again_in_its_place(rig: Rig) -> None:
    async with rig.running():
        await rig.ada.slash("help")
        await rig.stored(1)
        say = Say(rig.here, "help", "1", answers=rig.intake.last.ref)
        rig.server.lose_answer("edit_response")
        with pytest.raises(DeliveryUncertain) as caught:
            await rig.discord.deliver(say)
        refs = await rig.discord.deliver(say)

    assert rig.intake.last.ref.split(":")[2] not in str(caught.value)
    assert rig.server.texts(rig.ada.channel_id) == ["help"]
    assert len(refs) == 1


async def test_an_answer_may_be_a_file(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    async with rig.running():
        await rig.ada.slash("help")
        await rig.stored(1)
        file = OutFile(str(path), "help.txt")
        await rig.discord.deliver(Say(rig.here, "see", "1", answers=rig.intake.last.ref, file=file))

    (message,) = rig.server.messages(rig.ada.channel_id)
    assert (message.text, [one.filename for one in message.files]) == ("see", ["help.txt"])


async def test_where_only_the_command_lets_us_speak_we_speak_through_it(rig: Rig) -> None:
    general = rig.server.channel("general")
    here = Address("discord", str(general.id))
    async with rig.running():
        await rig.ada.slash("help", channel=general)
        await rig.stored(1)
        rig.server.deny(general.id)
        ref = rig.intake.last.ref
        refs = await rig.discord.deliver(Say(here, LONG, "1", answers=ref))
        await rig.discord.deliver(Edit(here, refs, LONG.replace("Paragraph", "Chapter"), "1", answers=ref))

    texts = rig.server.texts(general.id)
    assert len(texts) == len(refs) > 1
    assert "Paragraph" not in "".join(texts)
