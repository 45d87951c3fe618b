"""A model that is away: the next one of the chain answers, and where none does, the answer waits and is tried again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.agent.turns import patience
from bot.agent.turns.ending import TRIED_AGAIN
from bot.agent.turns.patience import in_words
from bot.errors import Cause, ModelError, ModelRefused, ModelUnavailable
from bot.model import Limits, Link
from bot.model.provider_errors import TryAgain
from bot.model.scripted import Answer, Asked, Line, ScriptedModel
from bot.runtime.settings import Settings
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall
from tests.until import until

WIDE, NARROW = Limits(200_000, 8_000, known=True), Limits(8_000, 1_000, known=True)
SUMMARY = "Ada counts the days; she has come to day 7, and the weather was mild on each of them."
FILLER = "This was another day, and the weather in town was mild. " * 40


def settings_of(data_dir: Path, **more: Any) -> Settings:
    values: dict[str, Any] = {"agents": {"compact_ahead": False}, "model": "first-model", "model_patience": 30.0}
    key = SecretStr("test-key")
    return Settings(_env_file=None, data_dir=data_dir, access="open", anthropic_api_key=key, **{**values, **more})


def fails(error: ModelError) -> Line:
    return error


def spare(*script: object, limits: Limits = WIDE) -> Link:
    return Link(ScriptedModel(*script, limits=limits), "second-model", "Spare")  # type: ignore[arg-type]


def asked_of(link: Link) -> list[Asked]:
    assert isinstance(link.model, ScriptedModel)
    return link.model.asked


OUTAGES = [
    ModelUnavailable("Overloaded", cause=Cause.BUSY),
    ModelUnavailable("Internal server error"),
    ModelUnavailable("The model's server cannot be reached."),
    ModelRefused("Nothing is left to pay with.", cause=Cause.CREDIT),
    ModelRefused("It does not accept our key.", cause=Cause.KEY),
]


@pytest.mark.parametrize("error", OUTAGES, ids=str)
async def test_the_next_model_answers_within_the_same_turn_and_people_are_told_once(
    data_dir: Path, error: ModelError
) -> None:
    first, second = ScriptedModel(lambda _: error), spare("One.", "Two.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]) as house:
        assert await room.asks("Count.") == "One.\n\n(Answering with Spare: first-model is down.)"
        assert await room.asks("Go on.") == "Two."
        assert (await house.history()).view()[-1]["content"][0]["text"] == "Two."  # type: ignore[index]
    assert len(first.asked) == 1, "it is known to be down"


async def test_the_first_is_asked_again_by_itself_and_people_are_told_that_it_is_back(data_dir: Path) -> None:
    first, second = ScriptedModel(fails(OUTAGES[0]), "Back."), spare("One.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]) as house:
        await room.asks("Count.")
        let_pass(house, 60.0)
        assert await room.asks("Go on.") == "Back.\n\n(first-model answers again.)"


async def test_who_answers_now_and_who_stands_in_is_told_when_somebody_asks(data_dir: Path) -> None:
    first, second = ScriptedModel(fails(OUTAGES[0]), fails(OUTAGES[0]), "Back."), spare("One.", fails(OUTAGES[0]))
    room = Room()
    own = "first-model (at an endpoint of its own)"

    async def told() -> list[str]:
        lines = (await room.commands("/status")).splitlines()
        return [line for line in lines if line.startswith(("Model: ", "Where it is down: ", "Summaries by: "))]

    async with open_house(settings_of(data_dir, model_patience=0.0), room, model=first, fallback=[second]) as house:
        stands_in, writes = "Where it is down: Spare", f"Summaries by: {own}"
        assert await told() == [f"Model: {own}", stands_in, writes]
        await room.asks("Count.")
        assert await told() == [f"Model: {own}, which is down: Spare answers", stands_in, f"{writes} (down)"]
        let_pass(house, 60.0)
        await room.asks("Go on.")
        away = [f"Model: {own}, which does not answer just now", f"{stands_in} (down)", f"{writes} (down)"]
        assert await told() == away
        let_pass(house, 600.0)
        await room.asks("And now?")
        assert await told() == [f"Model: {own}", f"{stands_in} (down)", writes]


async def test_admins_are_told_which_model_took_over_and_when_that_is_over(data_dir: Path) -> None:
    first, second = ScriptedModel("Hello.", fails(OUTAGES[3]), "Back."), spare("One.", "Two.")
    room = Room()
    settings = settings_of(data_dir, admins={"room:ada"})
    began = "⚠️ first-model is down: Nothing is left to pay with. Spare answers in its place."

    async def asks(person: str) -> None:
        before = len(room.replies(person))
        await room.says("Count.", chat=person, person=person)
        await room.until(lambda: len(room.replies(person)) > before)

    async with open_house(settings, room, model=first, fallback=[second]) as house:
        await asks("ada")
        await asks("bob")
        await asks("bob")
        await room.until(lambda: room.notices("ada") == [f"{began} I tell you when it is back."])
        let_pass(house, 60.0)
        await asks("bob")
        await room.until(lambda: room.notices("ada")[1:] == ["first-model answers again."])
    assert not room.notices("bob")


def let_pass(house: House, seconds: float) -> None:
    """The chain's clock goes on."""
    chain = house.resources.chain
    clock = chain.clock
    chain.clock = lambda: clock() + seconds


@pytest.mark.parametrize("error", [ModelRefused("bad request"), ModelRefused("no such picture", of_content=True)])
async def test_what_is_refused_for_what_it_is_is_asked_of_nobody_else(data_dir: Path, error: ModelError) -> None:
    first, second = ScriptedModel(lambda _: error), spare("One.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]):
        assert "⚠️" in await room.asks("Count.")
    assert not asked_of(second)


async def test_a_refusal_of_its_content_is_the_answer(data_dir: Path) -> None:
    first, second = ScriptedModel(Answer("I would rather not.", stop_reason="refusal")), spare("One.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]):
        assert "declined" in await room.asks("Count.")
    assert not asked_of(second)


async def test_a_long_conversation_is_compacted_for_a_smaller_window_before_it_is_asked(data_dir: Path) -> None:
    is_down = False

    def says(asked: Asked) -> Line:
        if is_down:
            return OUTAGES[1]
        return "Noted." if asked.who else SUMMARY

    second = spare(lambda asked: "Noted." if asked.who else SUMMARY, limits=NARROW)
    first = ScriptedModel(says, limits=WIDE)
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]) as house:
        for _ in range(25):
            await room.asks(FILLER)
        assert not [notice for notice in room.notices() if "Compacted" in notice]
        is_down = True
        assert (await room.asks("And now?")).startswith("Noted.")
        assert [notice for notice in room.notices() if "Compacted" in notice]
        assert SUMMARY in str((await house.history()).view())
    sizes = [asked for asked in asked_of(second) if asked.who]
    assert len(sizes) == 1, "it was never asked what does not fit"


async def test_the_next_model_goes_on_with_the_tools_of_the_one_before(data_dir: Path) -> None:
    first = ScriptedModel(
        Answer("I write.", calls=[("write_file", {"path": "note.txt", "content": "blue"})]), fails(OUTAGES[0])
    )
    second = spare("Written.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first, fallback=[second]) as house:
        assert "Written." in await room.asks("Write it down.")
        assert (house.folder() / "note.txt").read_text(encoding="utf-8") == "blue"
    assert "tool_result" in str(asked_of(second)[0].messages[-1])


async def test_what_was_seen_of_an_answer_that_broke_off_is_replaced(data_dir: Path) -> None:
    again = TryAgain("broke off", status="stream")
    first, second = ScriptedModel(again, again, again, again), spare("The whole answer.")
    room = Room()
    async with open_house(settings_of(data_dir, model_patience=0.0), room, model=first, fallback=[second]):
        assert (await room.asks("Tell me.")).startswith("The whole answer.")
    assert len(room.replies()) == 1


async def test_the_answer_waits_for_a_model_that_is_overloaded_and_the_person_does_nothing(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "TELL_SECONDS", 0.1)
    until_told = asyncio.Event()
    first = ScriptedModel(lambda _: "Here it is." if until_told.is_set() else OUTAGES[0])
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first):
        await room.says("Tell me.")
        await room.until(lambda: any(patience.BUSY in said for said in shown(room)))
        assert room.is_typing()
        until_told.set()
        await room.until(lambda: room.replies() == ["Here it is."])
    assert shown(room) == ["Here it is."], "the line is edited away"


def shown(room: Room) -> list[str]:
    return [message.text for message in room.shown.get("1", {}).values()]


async def test_the_waiting_ends_at_once_by_an_abort(data_dir: Path) -> None:
    first = ScriptedModel(lambda _: OUTAGES[0])
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first):
        await room.says("Tell me.")
        await first.until_asked()
        assert "Stopped" in await room.commands("/abort")


async def test_a_wait_that_is_longer_than_anybodys_patience_is_told_at_once_with_its_length(data_dir: Path) -> None:
    first = ScriptedModel(lambda _: ModelUnavailable("Come back later", cause=Cause.BUSY, wait=3_600.0))
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first):
        assert "Try again in an hour" in await room.asks("Tell me.")
    assert len(first.asked) == 1


async def test_a_button_tries_again_what_failed_and_nothing_twice(data_dir: Path) -> None:
    first = ScriptedModel(fails(OUTAGES[4]), "Seven.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first) as house:
        assert "⚠️" in await room.asks("What is three and four?")
        [failed] = room.shown["1"].values()
        [press] = failed.commands
        await room.says(press)
        await room.until(lambda: "Seven." in room.replies())
        assert shown(room) == [TRIED_AGAIN, "Seven."]
        await room.says(press)
        await room.until(lambda: any("nothing to try again" in notice for notice in room.notices()))
        assert [message["role"] for message in (await house.history()).view()] == ["user", "assistant"]
    assert len(first.asked) == 2


async def test_what_failed_is_tried_again_after_more_was_said_and_the_model_is_told_what_is_meant(
    data_dir: Path,
) -> None:
    first = ScriptedModel(fails(OUTAGES[4]), "Hello.", "Seven.")
    room = Room()
    async with open_house(settings_of(data_dir), room, model=first):
        await room.asks("What is three and four?")
        assert await room.asks("Hello?") == "Hello."
        await room.says("/retry")
        await room.until(lambda: "Seven." in room.replies())
    assert "> What is three and four?" in first.asked[-1].text


async def test_a_turn_that_waits_goes_on_in_the_next_process(data_dir: Path) -> None:
    room, settings = Room(), settings_of(data_dir)
    down = ScriptedModel(lambda _: OUTAGES[0])
    async with open_house(settings, room, model=down) as house:
        await room.says("Tell me.")
        await down.until_asked(2)
        await house.end()
    async with open_house(settings, room, model=ScriptedModel("Here it is.")):
        await room.until(lambda: room.replies() == ["Here it is."])


async def test_a_summary_is_written_by_the_next_model_of_its_chain(data_dir: Path) -> None:
    def says(asked: Asked) -> Line:
        return "Noted." if asked.who else OUTAGES[1]

    second = spare(lambda asked: "Noted." if asked.who else SUMMARY)
    room = Room()
    first = ScriptedModel(says, limits=Limits(4_000, 500, known=True))
    async with open_house(settings_of(data_dir, compaction_model="small-model"), room, model=first, fallback=[second]):
        while not any("Compacted:" in notice for notice in room.notices()):
            assert len(first.asked) < 60, "it never compacts"
            await room.asks("This was another day, and the weather in town was mild. " * 8)
    summaries = [asked.head.model for asked in first.asked if not asked.who]
    assert summaries == ["small-model", "first-model"]
    [written] = [asked for asked in asked_of(second) if not asked.who]
    assert "You write summaries" in written.head.system, "it holds no conversation"
    await until(lambda: SUMMARY in str(first.asked[-1].messages))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3_600.0, "in an hour"), (7_000.0, "in 2 hours"), (90.0, "in 2 minutes"), (40.0, "in a moment")],
)
def test_a_wait_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


async def test_a_fallback_of_the_settings_goes_on_over_the_other_wire_in_the_middle_of_a_tool_round(
    data_dir: Path,
) -> None:
    def writes(_: MessagesRequest) -> Reply:
        return Reply("I write.", [ToolCall("write_file", {"path": "note.txt", "content": "blue"})])

    async with (
        MessagesServer(brain=writes) as first,
        MessagesServer(window=8_000, brain=lambda _: Reply("Written.")) as second,
    ):
        first.fail(529, "overloaded_error", "Overloaded", times=None, when=lambda one: "tool_result" in str(one.body))
        there = {"openai": {"base_url": second.chat_url, "key": "test-key"}}
        settings = settings_for(first, data_dir, model_fallback=("openai/gpt-6-sol",), providers=there)
        room = Room()
        async with open_house(settings, room) as house:
            assert "Written." in await room.asks("Write it down.")
            assert (house.folder() / "note.txt").read_text(encoding="utf-8") == "blue"
    assert [(record.outcome, record.request.wire) for record in second.requests] == [("completed", "chat")]
