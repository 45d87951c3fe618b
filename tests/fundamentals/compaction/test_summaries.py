"""What a summary is made of and what becomes of it, in the running program. FEATURES B4, B8, E4, E7."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.compaction.strategies.two_phase import ASKS
from bot.messages import text_of
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply
from tests.servers.messages.wire import MARK

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
CAREFUL = {"compact_ahead": False}
VAGUE = "They spoke of the weather, and of nothing else, for a while."


def summaries(model: MessagesServer) -> list[MessagesRequest]:
    """Requests for one."""
    return [record.request for record in model.requests if record.request.is_summary]


def forgets(model: MessagesServer, *, until: str = "never") -> None:
    """The model's summaries say next to nothing, until it is told this detail."""
    brain = model.brain

    def forgetting(request: MessagesRequest) -> Reply:
        if not request.is_summary:
            return brain(request)  # type: ignore[return-value]  # it does not wait
        told = until in request.last_user_text and request.last_user_text.startswith("The summary lacks")
        return Reply(f"{VAGUE} Also: {until}." if told else VAGUE)

    model.brain = forgetting


async def talk(room: Room, *first: str) -> None:
    for text in (*first, *(LINE.format(number) for number in "abcdefghij")):
        await room.asks(text)


async def compacted(room: Room, command: str = "/compact") -> None:
    before = sum("Compacted:" in notice for notice in room.notices())
    await room.commands(command)
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) > before)


async def test_a_summary_that_lacks_what_was_demanded_is_corrected_before_it_commits(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    forgets(model, until="ZEBRA-4417")
    async with house(agents=CAREFUL, compaction={"must_keep": (r"ZEBRA-\d+",)}):
        await talk(room, "The launch code is ZEBRA-4417.")
        await compacted(room)
        assert len(summaries(model)) == 2
        assert "- ZEBRA-4417" in summaries(model)[1].last_user_text
        await room.asks("And now?")
        assert f"{VAGUE} Also: ZEBRA-4417." in model.requests[-1].request.all_text


async def test_what_a_model_will_not_keep_is_added_word_for_word(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    forgets(model)
    async with house(agents=CAREFUL):
        await talk(room, "The launch code is ZEBRA-4417.")
        await compacted(room)
        assert len(summaries(model)) == 1, "nobody demanded it, so nothing more is asked for"
        await room.asks("And now?")
        read = model.requests[-1].request.all_text
        assert VAGUE in read
        assert "The launch code is ZEBRA-4417." in read.partition("## Exact details")[2]


async def test_ten_compactions_take_ten_requests_and_no_word_of_the_program_becomes_somebodys(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    forgets(model)
    async with house(agents=CAREFUL):
        await talk(room, "The launch code is ZEBRA-4417. Please never phone before 9:30.")
        for number in range(1, 11):
            await room.asks(f"Line {number} of our talk in Porto is dull. The reserve code is Porto-99{number}.")
            await compacted(room)
            assert len(summaries(model)) == number
        await room.asks("And now?")
        details = model.requests[-1].request.all_text.partition("## Exact details")[2].partition("\n\n")[0]
        assert details.count("9:30") == 1
        assert "carry them out" not in details
        assert "Out of view" not in details
        assert VAGUE not in details


@pytest.mark.parametrize("rules", [(r"blauer \w+",), ()])
async def test_what_the_operators_rules_match_is_in_every_summary(
    house: OpenHouse, room: Room, model: MessagesServer, rules: tuple[str, ...]
) -> None:
    forgets(model)
    async with house(agents=CAREFUL, compaction={"must_keep": rules}):
        await talk(room, "I saw a blauer wal today.")
        await compacted(room)
        assert [request.last_user_text.endswith("\n- blauer wal") for request in summaries(model)] == [
            False,
            *(True for _ in rules),
        ]
        await room.asks("And now?")
        assert "blauer wal" in model.requests[-1].request.all_text


async def test_another_model_writes_the_summaries_if_one_is_named(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=CAREFUL, compaction_model="claude-small"):
        await talk(room)
        await compacted(room)
        assert {request.body["model"] for request in summaries(model)} == {"claude-small"}
        turns = [record.request for record in model.requests if not record.request.is_summary]
        assert {request.body["model"] for request in turns} == {"claude-sonnet-5"}


async def test_a_small_model_at_an_endpoint_of_its_own_writes_the_summaries_and_gets_no_other_key(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with MessagesServer(window=2_000, max_tokens=400, key="key-of-the-small-one") as small:
        own = {"base_url": small.url, "api_key": "key-of-the-small-one"}
        async with house(agents=CAREFUL, compaction_model="llama3.2:3b", compaction=own):
            await talk(room, "The launch code is ZEBRA-4417.")
            await compacted(room)
            assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."
            assert "Summaries by: llama3.2:3b (at an endpoint of its own)" in await room.commands("/status")
        assert summaries(model) == []
        assert summaries(small)
        assert {request.body["model"] for request in summaries(small)} == {"llama3.2:3b"}
        assert max(request.body["max_tokens"] for request in summaries(small)) <= 400
        assert small.refused == model.refused == []


async def test_when_the_endpoint_of_the_summaries_refuses_the_model_that_talks_writes_them(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with MessagesServer(key="another-key") as small:
        own = {"base_url": small.url}
        async with house(agents=CAREFUL, compaction_model="llama3.2:3b", compaction=own):
            await talk(room, "The launch code is ZEBRA-4417.")
            await compacted(room)
            assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."
    [refused] = small.requests
    assert refused.outcome == "refused"
    assert len(summaries(model)) == 1


async def test_a_summary_is_still_there_after_a_restart_and_the_next_one_is_made_of_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=CAREFUL):
        await talk(room, "The launch code is ZEBRA-4417.")
        await compacted(room)
    async with house(agents=CAREFUL):
        assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."
        await talk(room)
        before = len(summaries(model))
        await compacted(room)
        again = summaries(model)[before]
        assert "The launch code is ZEBRA-4417." in again.all_text
        assert "Update it" in again.last_user_text
        assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."


async def test_a_compaction_that_a_restart_cuts_off_is_seen_through_by_the_next_process(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=CAREFUL):
        await talk(room, "The launch code is ZEBRA-4417.")
        model.hang(lambda request: request.is_summary)
        await room.commands("/compact")
        await model.wait_for(lambda server: server.running)
    model.clear_faults()
    async with house(agents=CAREFUL) as again:
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        assert len(room.notices()) == 1, "the status message from before is edited"
        assert len((await again.history()).layers) == 1
        assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."


async def test_a_worker_that_is_told_twice_to_end_gives_its_run_back_all_the_same(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    with capture_logs() as logs:
        async with house(agents=CAREFUL) as opened:
            await talk(room)
            model.hang(lambda request: request.is_summary)
            await room.says("/compact")
            await model.wait_for(lambda _: summaries(model))
            [worker] = [task for task in opened.tasks if getattr(task.get_coro(), "__name__", "") == "_worker"]
            worker.cancel()
            await asyncio.sleep(0)  # it stops what takes jobs
            worker.cancel()
            await asyncio.wait({worker})
            assert [line["event"] for line in logs if line["event"].startswith("summary_")] == ["summary_given_back"]


async def test_two_phase_asks_for_a_checkpoint_and_gives_it_back_as_one_that_another_model_wrote(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={**CAREFUL, "strategy": "two_phase"}):
        await talk(room, "The launch code is ZEBRA-4417.")
        await compacted(room)
        assert ASKS in summaries(model)[0].last_user_text
        await room.asks("And now?")
        page = "\n\n".join(text_of([block]) for block in model.requests[-1].request.messages[0]["content"])
        first, asked, newest = page.partition("\n\nPlease continue with the task.\n\n")
        assert first.startswith("## Continuing from compressed context")
        assert "another model wrote of a longer conversation" in first
        assert "ZEBRA-4417" in first
        assert asked
        assert MARK.sub("", newest).strip() == LINE.format("f"), "the newest messages stand below it"
