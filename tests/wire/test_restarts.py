"""Programs that are told to end while people talk: nobody sees it."""

from __future__ import annotations

import asyncio
import signal

import pytest

from bot.store.traces.requests import CUT_OFF
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import PATIENCE, Program, Programs
from tests.wire.talk import Talk


async def _waits_for_the_model(model: MessagesServer, ada: Talk) -> None:
    """Ada asks something, and the answer does not come yet."""
    before = len(ada.turns)
    model.hang(ada.is_my_turn)
    ada.says("What is the colour?")
    await model.wait_for(lambda _: len(ada.turns) > before, PATIENCE)


async def _leaves(program: Program) -> None:
    program.tell(signal.SIGTERM)
    await program.wait_for(lambda it: it.logged("agents_leave"), PATIENCE)


async def test_an_answer_under_way_is_brought_to_its_end_before_the_only_program_ends(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve()
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    await _waits_for_the_model(model, ada)
    await _leaves(served)
    model.release()
    await ada.reads("The colour is blue.", after=1)
    assert await served.ends() == 0
    assert len(ada.turns) == 2, "nothing was asked twice"
    assert not telegram_programs.has_valkey()


async def test_an_answer_that_waits_for_a_model_is_waited_for_by_the_next_program_after_a_kill(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve(MODEL_PATIENCE="120")
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    model.fail(529, "overloaded_error", "Overloaded", retry_after=0.01, times=None)
    ada.says("What is the colour?")
    await served.wait_for(lambda it: it.logged("model_down"), PATIENCE)
    await served.kill()
    again = await telegram_programs.serve(MODEL_PATIENCE="120")
    await again.wait_for(lambda it: it.logged("model_down"), PATIENCE)
    model.clear_faults()
    await ada.reads("The colour is blue.", after=1)
    assert ada.texts.count("The colour is blue.") == 1, "and answered once"


@pytest.mark.long
async def test_what_is_said_while_one_of_two_programs_ends_is_answered_by_the_other_at_once(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    first = await telegram_programs.serve()
    ada, bob = Talk(telegram, model, 1001), Talk(telegram, model, 1002)
    await ada.asks("The colour is blue.")
    second = await telegram_programs.serve()
    await _waits_for_the_model(model, ada)
    await _leaves(first)
    assert await bob.asks("What is the colour?") == "I do not know the colour."
    assert first.process.returncode is None, "it still waits for ada's answer"
    model.release()
    await ada.reads("The colour is blue.", after=1)
    assert await first.ends() == 0
    assert len(ada.turns) == 2, "nothing was asked twice"
    assert second.logged("gateway_started")
    assert not second.logged("turn_resumed")
    assert not [call for call in telegram.calls if call.status == 409]


@pytest.mark.long
async def test_an_answer_that_takes_longer_than_the_deadline_is_gone_on_with_by_another_program(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    first = await telegram_programs.serve("agents", SHUTDOWN_SECONDS="0.2")
    await telegram_programs.serve("gateway", "worker")
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    second = await telegram_programs.serve("agents")
    await _waits_for_the_model(model, ada)
    assert await first.stop() == 0
    assert first.logged("agents_handed_over")
    await second.wait_for(lambda it: it.logged("turn_resumed"), PATIENCE)
    model.release()
    await ada.reads("The colour is blue.", after=1)
    assert len(ada.texts) == 2


@pytest.mark.long
async def test_a_second_signal_ends_it_without_waiting(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    served = await telegram_programs.serve(SHUTDOWN_SECONDS="600")
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    await _waits_for_the_model(model, ada)
    await _leaves(served)
    assert await served.stop() == 0


async def waits_for_a_summary(telegram: BotApiServer, model: MessagesServer) -> Talk:
    """Somebody who asked for a compaction, and whose summary the model is just asked for and does not write."""
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    await ada.says_much(600, lines=3)
    model.hang(ada.is_my_summary)
    ada.says("/compact")
    await model.wait_for(lambda _: ada.summaries, PATIENCE)
    return ada


@pytest.mark.long
async def test_a_summary_under_way_is_finished_by_the_worker_that_ends(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    worker, *_ = await asyncio.gather(telegram_programs.serve("worker"), telegram_programs.serve("gateway", "agents"))
    ada = await waits_for_a_summary(telegram, model)
    worker.tell(signal.SIGTERM)
    await worker.wait_for(lambda it: it.logged("worker_finishes"), PATIENCE)
    model.release()
    await ada.reads("🗜 Compacted: ")
    assert await worker.ends() == 0
    assert len(ada.summaries) == 1


@pytest.mark.long
async def test_a_summary_that_a_worker_cannot_finish_goes_to_another_one_at_once(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    worker, *_ = await asyncio.gather(
        telegram_programs.serve("worker", SHUTDOWN_SECONDS="0.2"), telegram_programs.serve("gateway", "agents")
    )
    ada = await waits_for_a_summary(telegram, model)
    await telegram_programs.serve("worker")
    assert await worker.stop() == 0
    assert worker.logged("summary_given_back")
    await model.wait_for(lambda _: len(ada.summaries) == 2, PATIENCE)
    model.release()
    await ada.reads("🗜 Compacted: ")


@pytest.mark.long
async def test_the_request_of_a_worker_that_was_killed_in_the_midst_of_it_stands_in_the_trace(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    worker, *_ = await asyncio.gather(telegram_programs.serve("worker"), telegram_programs.serve("gateway", "agents"))
    ada = await waits_for_a_summary(telegram, model)
    await worker.kill()
    await telegram_programs.serve("worker")
    await model.wait_for(lambda _: len(ada.summaries) == 2, PATIENCE)
    ada.says("/abort")
    await ada.reads("🗜 Compaction aborted")
    await ada.asks("Thank you.")
    text = telegram_programs.trace(ada.agent_id).read_text()
    assert (text.count("### Request "), text.count(CUT_OFF)) == (2, 2)
    assert all("The colour is blue." in request for request in text.split("### Request ")[1:])


@pytest.mark.long
async def test_an_answer_of_a_host_that_was_killed_is_gone_on_with_by_another_one(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    first = await telegram_programs.serve("agents")
    await telegram_programs.serve("gateway", "worker")
    ada = Talk(telegram, model, 1001)
    await ada.asks("The colour is blue.")
    second = await telegram_programs.serve("agents")
    await _waits_for_the_model(model, ada)
    await first.kill()
    await second.wait_for(lambda it: it.logged("turn_resumed"), PATIENCE)
    model.release()
    await ada.reads("The colour is blue.", after=1)
    assert len(ada.texts) == 2


async def test_an_answer_that_was_cut_off_is_seen_through_by_a_chat_that_is_told_nothing(
    programs: Programs, model: MessagesServer
) -> None:
    model.hang()
    first = await programs.start("chat", "--agent", "me")
    await first.says("The colour is blue.")
    await model.wait_for(lambda it: it.requests, PATIENCE)
    await first.kill()
    model.release()
    again = await programs.chat(agent="me")
    assert [line[:7] for line in again.out] == ["Noted ("]
    assert (await programs.chat("What is the colour?", agent="me")).out == ["The colour is blue."]
