"""What a person stops, stops at once: a summary, an answer, before its first word or in the middle."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Served
from tests.wire.talk import Talk, conversation, goes_on

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOON = 2.0
"""Seconds. Half a second is the aim on a machine that does nothing else."""


def _seconds_until(served: Served, ada: Talk, text: str) -> float:
    """From the last message of a person to the program's answer."""
    (answer,) = (message for message in served.telegram.messages(ada.number) if text in message.text)
    at = max([answer.at, *answer.edited_at])
    calls = [call for call in served.telegram.calls_of("getUpdates") if call.at < at]
    return at - calls[-1].at


async def _fill_to_the_warning(ada: Talk) -> None:
    """Until one more message must be compacted for: 1,620 of 2,160 tokens."""
    await ada.asks("The harbour code is 771-Q.")
    await ada.says_much(646, lines=4)


async def test_a_manual_compaction_whose_summary_hangs_is_aborted_at_once_and_changes_nothing(
    served: Served, ada: Talk
) -> None:
    await ada.asks("The harbour code is 771-Q.")
    await ada.says_much(600, lines=2)
    served.model.hang(ada.is_my_summary)
    before = ada.turns[-1]
    ada.says("/compact")
    await served.model.wait_for(lambda model: ada.summaries and ada.summaries[0].outcome == "running")
    ada.says("/abort")
    await ada.reads("🗜 Compaction aborted")
    assert _seconds_until(served, ada, "🗜 Compaction aborted") < SOON
    await served.model.wait_for(lambda _: ada.summaries[0].outcome == "hung_up")
    await ada.sees(lambda: [status.text for status in ada.statuses] == ["🗜 Compaction aborted: nothing was changed."])
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
    assert goes_on(ada.turns[-1], before, f"What is the harbour code? ({ada.name})")
    assert len(ada.summaries) == 1


async def test_an_automatic_compaction_whose_summary_hangs_is_aborted_and_the_message_answered_on_the_full_context(
    served: Served, ada: Talk
) -> None:
    await _fill_to_the_warning(ada)
    served.model.hang(ada.is_my_summary)
    before = ada.turns[-1]
    ada.says("What is the harbour code?")
    await served.model.wait_for(lambda model: ada.summaries and ada.summaries[0].outcome == "running")
    await ada.reads("🗜 Compacting this conversation")
    ada.says("/abort")
    await ada.reads("🗜 Compaction aborted: nothing was changed.")
    assert _seconds_until(served, ada, "🗜 Compaction aborted") < SOON
    await served.model.wait_for(lambda _: ada.summaries[0].outcome == "hung_up")
    await ada.reads("The harbour code is 771-Q.")
    assert goes_on(ada.turns[-1], before, f"What is the harbour code? ({ada.name})")
    said = "🗜 Compaction aborted: nothing was changed. Your message was answered on the whole conversation."
    await ada.sees(lambda: [status.text for status in ada.statuses] == [said])
    assert len(ada.summaries) == 1


async def test_the_button_under_the_status_aborts_too(served: Served, ada: Talk) -> None:
    await ada.asks("Hello.")
    await ada.says_much(600, lines=2)
    served.model.hang(ada.is_my_summary)
    ada.says("/compact")
    await served.model.wait_for(lambda _: ada.summaries)
    await ada.reads("🗜 Compacting this conversation")
    ada.presses(ada.statuses[0], "/abort compaction")
    await ada.reads("🗜 Compaction aborted")
    await served.model.wait_for(lambda _: ada.summaries[0].outcome == "hung_up")


@pytest.mark.parametrize("deltas", [None, 2], ids=["before its first word", "in the middle"])
async def test_an_answer_that_hangs_is_stopped_and_what_was_asked_stays(
    served: Served, ada: Talk, deltas: int | None
) -> None:
    await ada.asks("The harbour code is 771-Q.")
    served.model.hang(ada.is_my_turn, after=deltas)
    ada.says("Tell me a story.")
    await served.model.wait_for(lambda _: len(ada.turns) == 2 and ada.turns[1].deltas == (deltas or 0))
    if deltas:
        await ada.sees(lambda: any(draft.text for draft in served.telegram.drafts(ada.number)))
    ada.says("/stop")
    stopped = await ada.reads("(stopped)" if deltas else "Your message stays in the conversation.")
    assert _seconds_until(served, ada, stopped) < SOON
    await served.model.wait_for(lambda _: ada.turns[1].outcome == "hung_up")
    served.model.clear_faults()
    assert await ada.asks("What is the harbour code?") == "The harbour code is 771-Q."
    asked = [text for role, text in conversation(ada.turns[-1]) if role == "user"]
    assert f"Tell me a story. ({ada.name})" in "\n".join(asked)
    if deltas:
        assert stopped.endswith("…\n\n(stopped)")
        said = [text for role, text in conversation(ada.turns[-1]) if role == "assistant"]
        assert said[-1].endswith("\n[interrupted]")


async def test_commands_are_answered_while_an_answer_is_awaited(served: Served, ada: Talk) -> None:
    await ada.asks("Hello.")
    served.model.hang(ada.is_my_turn)
    ada.says("Tell me a story.")
    await served.model.wait_for(lambda _: len(ada.turns) == 2)
    await ada.told("/context", "Context: ")
    await ada.told("/status", "Now: answering")
    await ada.told("/help", "/compact: ")
    await ada.told("/compact", "Busy: I am still answering.")
    await ada.told("/undo", "Busy")
    await ada.told("/new", "Busy")
    served.model.release()
    await ada.reads(f"Noted ({ada.turns[-1].request.index})")
    assert await ada.told("/abort", "There is nothing to stop.")
