"""How a conversation is summarised that fits into no request: without tool results, and in chunks."""

from __future__ import annotations

from bot.history import Entry
from tests.servers.messages.server import MessagesServer, Reply
from tests.unit.entries import replied, returned, said
from tests.unit.summary_run import GOOD, modes, planned, says
from workers.desk import Desk
from workers.summary import write_summary


def much_looking(rounds: int, words: int) -> list[Entry]:
    entries = [said(1, "Look around, and keep KEY-4711.")]
    for at in range(rounds):
        entries.append(replied(2 + 2 * at, f"I look ({at}).", f"call-{at}"))
        entries.append(returned(3 + 2 * at, f"call-{at}", f"view {at}: " + "tree " * words))
    return [*entries, said(2 + 2 * rounds, "So?")]


async def test_tool_results_go_until_the_transcript_fits(desk: Desk, server: MessagesServer) -> None:
    server.window = 4_000
    server.brain = says(GOOD)
    result = await write_summary(desk, await planned(desk, much_looking(20, 100), limit=3_000, trigger="recovery"))
    assert (result.outcome, set(modes(result)), server.refused) == ("summary", {"transcript"}, [])
    text = server.completed[0].request.all_text
    assert "left out: the conversation was too long" in text
    assert "view 0: tree" in text, "they go from the middle outward"
    assert "I look (10)." in text


async def test_a_server_that_counts_more_than_we_do_gets_less(desk: Desk, server: MessagesServer) -> None:
    server.brain = says(GOOD)
    server.fail(400, "invalid_request_error", "prompt is too long", times=2)
    result = await write_summary(desk, await planned(desk, much_looking(10, 20), trigger="recovery"))
    assert (result.outcome, set(modes(result))) == ("summary", {"transcript"})
    sizes = [record.request.tokens for record in server.requests[:3]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


async def test_what_is_still_too_long_is_summarised_in_chunks_and_then_as_one(
    desk: Desk, server: MessagesServer
) -> None:
    server.window = 2_000
    server.brain = lambda request: Reply(GOOD if "PART" in request.all_text else "PART: they talked, see 17.")
    talk = [said(1, "begin"), *(replied(at, f"sentence {at}. " * 30) for at in range(2, 30)), said(30, "So?")]
    result = await write_summary(desk, await planned(desk, talk, limit=1_000, trigger="recovery"))
    assert (result.outcome, server.refused) == ("summary", [])
    assert result.summary.startswith(GOOD)
    assert len(result.inference) > 3
    assert result.inference[-1].mode == "summary of the chunks"
    asked = "\n".join(record.request.all_text for record in server.completed)
    assert all(f"sentence {at}." in asked for at in range(2, 30)), "nothing was left out"
    assert "This is part 1 of" in asked
    assert result.usage
    assert result.usage.output == sum(record.usage.output_tokens for record in server.completed)


async def test_chunks_get_smaller_while_they_do_not_fit(desk: Desk, server: MessagesServer) -> None:
    server.window = 2_000
    server.brain = lambda request: Reply(GOOD if "PART" in request.all_text else "PART: they talked, see 17.")
    server.fail(400, "invalid_request_error", "prompt is too long", times=1)
    talk = [said(1, "begin"), *(replied(at, f"sentence {at}. " * 30) for at in range(2, 20)), said(30, "So?")]
    result = await write_summary(desk, await planned(desk, talk, limit=1_000, trigger="recovery"))
    assert result.outcome == "summary"
    parts = {text.split("This is part 1 of ")[1].split(";")[0] for text in all_texts(server) if "part 1 of" in text}
    assert len(parts) == 2


def all_texts(server: MessagesServer) -> list[str]:
    return [record.request.all_text for record in server.requests]


async def test_what_cannot_be_summarised_even_in_parts_fails_in_a_sentence(desk: Desk, server: MessagesServer) -> None:
    server.window = 1_000
    talk = [said(1, "begin"), replied(2, "word " * 60_000), said(3, "So?")]
    result = await write_summary(desk, await planned(desk, talk, limit=500, trigger="recovery"))
    assert result.outcome == "failed"
    assert result.reason == "The conversation is too large to be summarised, even in parts."


async def test_a_server_that_takes_no_part_however_small_ends_it(desk: Desk, server: MessagesServer) -> None:
    server.fail(400, "invalid_request_error", "prompt is too long", times=None)
    result = await write_summary(desk, await planned(desk))
    assert result.outcome == "failed"
    assert result.reason == "Even small parts of the conversation do not fit into the model."
    assert len(server.requests) < 20
