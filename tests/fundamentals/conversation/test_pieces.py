"""What a platform brings in pieces is answered as a whole: a long text, what is forwarded with a comment, an album."""

from __future__ import annotations

from sqlalchemy import text

from bot.messages import Quote
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest

SOON = 0.5
NEVER = 60.0


def said(request: MessagesRequest) -> list[str]:
    """What the model was told last."""
    return request.last_user_words


async def test_a_text_that_was_cut_is_answered_when_its_end_has_come(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.asks("warm")
        await room.says("The beginning", expects=NEVER)
        await room.asks("hello", chat="2")  # takes longer than to ask about the beginning would
        await room.says(" and the middle", expects=NEVER)
        await room.says(" and the end.")
        await room.until(lambda: len(room.replies()) == 2)
    assert len(model.requests) == 3
    assert said(model.requests[-1].request)[-3:] == ["The beginning", " and the middle", " and the end."]


async def test_what_has_no_visible_end_is_answered_when_nothing_more_comes(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.says("forwarded one", expects=SOON)
        await room.says("forwarded two", expects=SOON)
        await room.until(room.replies)
    assert [said(record.request) for record in model.requests] == [["forwarded one", "forwarded two"]]


async def test_a_comment_is_answered_together_with_what_is_forwarded_after_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house() as opened:
        now = opened.resources.database.clock()
        opened.resources.database.clock = lambda: now  # all of it comes in one moment, however slow this machine is
        await room.says("What do you think of these?")
        await model.wait_for(lambda server: server.running == 1)
        await room.says("forwarded one", expects=SOON, ref="one")
        await room.says("forwarded two", expects=SOON)
        await room.until(room.replies)
        assert "one" not in room.reactions
    last = [said(record.request) for record in model.requests][-1]
    assert last == ["What do you think of these?", "forwarded one", "forwarded two"]
    assert len(room.replies()) == 1
    assert len(model.requests) == 2
    assert model.hangups == 1


async def test_what_comes_when_the_answer_is_seen_already_waits_for_its_end(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1, after=2)
    async with house():
        await room.says("What do you think of this long story that goes on and on?")
        await room.until(lambda: any(message.partial for message in room.shown.get("1", {}).values()))
        await room.says("forwarded", expects=0.01, ref="late")
        await room.until(lambda: room.reactions.get("late") == ["👀"])
        model.release()
        await room.until(lambda: len(room.replies()) == 2)
    assert model.hangups == 0


async def test_commands_wait_for_nothing_and_end_the_waiting(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.says("The beginning", expects=NEVER)
        assert "Now" in await room.commands("/status")
        await room.until(room.replies)
        model.hang(times=1)
        await room.says("Another beginning", expects=NEVER)
        await room.says("/abort")
        await room.until(lambda: any("Stopped" in notice for notice in room.notices()))
        model.release()
    assert len(room.replies()) == 1


async def test_a_program_that_ends_while_it_waits_answers_when_it_is_back(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as opened:
        await room.says("The beginning", expects=NEVER)
        async with opened.resources.database.read() as tx:
            assert (await tx.execute(text("SELECT count(*) FROM inbox WHERE state = 'waiting'"))).scalar_one() == 1
    assert not model.requests
    async with house():
        await room.says(" and the end.")
        await room.until(room.replies)
    assert said(model.requests[-1].request) == ["The beginning", " and the end."]


async def test_what_is_whole_is_asked_at_once(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    """It costs ordinary messages nothing: the piece of another person keeps nobody waiting for a minute either."""
    async with house():
        await room.says("hello")
        await room.until(room.replies)
        await room.says("A beginning", chat="2", person="bob", expects=NEVER)
        await room.says("hello", chat="1")
        await room.until(lambda: len(room.replies()) == 2)
        assert not room.replies("2")


async def test_a_quotation_stands_before_the_words_and_says_whose_it_is(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.says("one", ref="0")
        await room.until(room.replies)
        await room.says("and this one?", quote=Quote("> Palimpsest: Noted.", "0"), ref="9", speaker="Ada")
        await room.until(lambda: len(room.replies()) == 2)
    assert "\n\n".join(said(model.requests[-1].request)) == "> Palimpsest: Noted.\n\nAda: and this one?"
