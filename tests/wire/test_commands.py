"""The commands, as a person in Telegram meets them."""

from __future__ import annotations

import pytest

from tests.servers.messages.server import MessagesServer
from tests.wire.conftest import Served
from tests.wire.program import Programs
from tests.wire.talk import Talk, conversation, goes_on, said

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("summary", ["", "No summary."], ids=["empty", "says that there is none"])
async def test_a_summary_that_is_none_changes_nothing_and_says_so(served: Served, ada: Talk, summary: str) -> None:
    served.brain.summaries[ada.name] = summary
    await ada.asks("The harbour code is 771-Q.")
    await ada.says_much(600, lines=2)
    before = ada.turns[-1]
    ada.says("/compact")
    await ada.reads("The conversation is unchanged.")
    (status,) = ada.statuses
    assert status.text.startswith("🗜 Nothing was compacted")
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
    assert goes_on(ada.turns[-1], before, f"What is the harbour code? ({ada.name})")


async def test_compacting_twice_at_once_says_busy(served: Served, ada: Talk) -> None:
    await ada.asks("Hello.")
    await ada.says_much(600, lines=2)
    served.model.hang(ada.is_my_summary)
    ada.says("/compact")
    await served.model.wait_for(lambda _: ada.summaries)
    await ada.told("/compact", "Busy: a compaction is under way.")
    await ada.told("/status", "Now: compacting")
    served.model.release()
    await ada.reads("🗜 Compacted: ")


async def test_what_to_keep_is_put_into_the_request_for_the_summary(served: Served, ada: Talk) -> None:
    await ada.asks("The harbour code is 771-Q.")
    await ada.says_much(600, lines=2)
    ada.says("/compact keep the API decisions")
    status = await ada.reads("🗜 Compacted: ")
    assert " → " in status
    assert "keep the API decisions" in ada.summaries[0].request.last_user_text
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
    sent = conversation(ada.turns[-1])
    assert sent[0][0] == "user"
    assert sent[0][1].startswith("Session context compacted.")
    assert "The harbour code is 771-Q." in sent[0][1]
    assert served.telegram.typing(ada.number)


@pytest.mark.parametrize(
    "words", ["/summarize", "Please compact this conversation", "please compact this conversation."]
)
async def test_there_are_three_ways_to_ask_for_a_compaction(served: Served, ada: Talk, words: str) -> None:
    await ada.asks("Hello.")
    await ada.says_much(600, lines=2)
    served.telegram.person(ada.number).says(words)
    await ada.reads("🗜 Compacted: ")
    assert len(ada.turns) == 3


async def test_there_may_be_nothing_to_compact_undo_or_stop(served: Served, ada: Talk) -> None:
    await ada.told("/compact", "There is nothing to compact yet.")
    await ada.told("/compact strategy=monologue", "There is nothing to compact yet by monologue.")
    await ada.told("/undo", "There is nothing to undo.")
    await ada.told("/new", "This is a fresh conversation already.")
    await ada.told("/abort", "There is nothing to stop.")
    assert ada.turns == []


async def test_the_program_introduces_itself_and_says_how_full_it_is_and_what_it_runs_on(
    served: Served, ada: Talk
) -> None:
    await ada.told("/start", "/help lists all commands.")
    listed = await ada.told("/help", "/compact: ")
    for name in ("abort", "context", "undo", "new", "status", "summarize", "stop"):
        assert f"/{name}: " in listed
    await ada.asks("Hello.")
    context = await ada.told("/context", "Context: ")
    assert " of 2,160 tokens" in context
    assert "Source: counted by the provider" in context
    assert "Last compaction: none yet" in context
    status = await ada.told("/status", "Strategy: reset")
    assert "Model: claude-sonnet-5" in status
    assert f"Conversation: {ada.agent_id}" in status
    await ada.told("/frobnicate", "I do not know /frobnicate.")
    assert len(ada.turns) == 1


async def test_a_fresh_start_forgets_and_its_undo_remembers(served: Served, ada: Talk) -> None:
    await ada.asks("The harbour code is 771-Q.")
    before = ada.turns[-1]
    assert before.reply
    await ada.told("/new", "A fresh start")
    assert await ada.asks("What is the harbour code?") == "I do not know the harbour code."
    assert said(ada.turns[-1]) == [f"What is the harbour code? ({ada.name})"]
    await ada.told("/undo", "The earlier conversation is back")
    assert (await ada.asks("What is the harbour code?")).endswith("The harbour code is 771-Q.")
    assert conversation(ada.turns[-1])[:2] == [*conversation(before), ("assistant", before.reply.text)]


async def test_the_button_under_a_finished_compaction_takes_it_back(served: Served, ada: Talk) -> None:
    await ada.asks("Hello.")
    await ada.says_much(600, lines=2)
    before = ada.turns[-1]
    ada.says("/compact")
    await ada.reads("🗜 Compacted: ")
    ada.presses(ada.statuses[0], "/undo")
    await ada.reads("Took the last compaction back")
    await ada.asks("Are you there?")
    assert conversation(ada.turns[-1])[: len(before.request.messages)] == conversation(before)


@pytest.mark.asyncio(loop_scope="function")
async def test_an_undo_after_a_restart_gives_back_the_exact_page_and_nothing_compacts_before_it_is_critical(
    programs: Programs, model: MessagesServer
) -> None:
    filler = "This line only fills the page with words that nobody needs. " * 8
    first = await programs.chat("The harbour code is 771-Q.", filler, filler, filler, "/compact")
    assert "🗜 Compacted" in first.err[-1]
    before = model.requests[3]
    chat = await programs.start("chat")
    await chat.says("/undo")
    await chat.wait_for(lambda program: program.logged("Took the last compaction back"))
    asked = len(model.requests)
    assert await chat.asks("What is the harbour code?") == "The harbour code is 771-Q."
    assert goes_on(model.requests[asked], before, "What is the harbour code?")
    while not (compactions := [record for record in model.requests[asked:] if record.request.is_summary]):
        await chat.asks(filler)
    await chat.ends()
    shares = [line for line in chat.err if line.startswith("🗜 Compacting")]
    share = int(shares[0].split("(")[1].split("%")[0])
    assert share >= 90
    assert compactions[0].error is None


async def test_flags_of_the_program_say_how_it_compacts_in_place_of_what_is_set(programs: Programs) -> None:
    flags = ["--strategy", "two_phase", "--limit", "5000", "--no-compact", "--option", "preserve_recent_messages=4"]
    chat = await programs.start("chat", "--agent", "me", *flags, AGENTS__STRATEGY="segmented")
    await chat.says("/strategy", "/context")
    assert await chat.ends(60) == 0, chat.describe()
    told = "\n".join(chat.err)
    assert "I compact this conversation by: two_phase." in told
    assert "of 5,000 tokens" in told
    assert "Automatic compaction: off" in told
