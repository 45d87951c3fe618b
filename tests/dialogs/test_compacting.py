"""A conversation that becomes too long: what people see of its compaction, and how they have it their way."""

from __future__ import annotations

from tests.dialogs.behind import asked, goes_on, heard, holds, hung_up, thinks
from tests.dialogs.conftest import Play
from tests.dialogs.stages import everywhere
from tests.dialogs.table import ada, bot, bot_changes, buttons, no_typing, typing
from tests.servers.messages.server import Brain, MessagesRequest, Reply, remembering_brain

STORY = "And then the weather in the town was mild, and nothing else happened at all. " * 30
TALK = (ada("My dog is Rex."), bot("Noted*"), ada(STORY), bot("Noted*"))


def summarises(said: str) -> Brain:
    """A model that answers, but has only this as a summary."""

    def brain(request: MessagesRequest) -> Reply:
        return Reply(said) if request.is_summary else remembering_brain(request)

    return brain


@everywhere()
async def test_it_compacts_by_itself_says_so_and_then_answers(play: Play) -> None:
    await play(
        *TALK,
        holds(summaries=True),
        ada(f"My cat is Tom. {STORY}"),
        bot("🗜 Compacting this conversation: * of * tokens (*%). /abort stops it…"),
        buttons("Stop compacting"),
        typing(),
        goes_on(),
        bot_changes("🗜 Compacted: * → * tokens (*% freed), * message* (*% fewer). /undo takes it back."),
        bot("Noted*"),
        no_typing(),
        heard("Session context compacted.", "The dog is Rex", "My cat is Tom."),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )


@everywhere()
async def test_a_rule_is_pinned_by_the_buttons_below_a_compaction(play: Play) -> None:
    await play(
        ada("Never call me before ten."),
        bot("Noted*"),
        *TALK,
        ada("/compact"),
        bot("🗜 Compact*"),
        bot_changes("🗜 Compacted: *"),
        ada.presses("📌 Rules"),
        bot("No rule is pinned here.*1.*Never call me before ten.*/rules forget N lets one go."),
        buttons("📌 1"),
        ada.presses("📌 1"),
        bot("📌 Pinned as rule 1: Never call me before ten.*"),
        ada("/rules"),
        bot("Pinned rules (1 of 20 at most):*1.*📌 Never call me before ten.*"),
        ada("/rules forget 1"),
        bot("Forgotten: 1.*Never call me before ten.*"),
    )


@everywhere()
async def test_it_compacts_when_asked_to_and_undo_takes_it_back(play: Play) -> None:
    await play(
        *TALK,
        holds(summaries=True),
        ada("/compact"),
        bot("🗜 Compacting*"),
        buttons("Stop compacting"),
        typing(),
        goes_on(),
        bot_changes("🗜 Compacted: * → * tokens*"),
        buttons("Undo", "📌 Rules"),
        no_typing(),
        ada("/context"),
        bot("Context: *Last compaction: done (manual, reset), * → * tokens*/compact now: *"),
        ada("/undo"),
        bot_changes("🗜 Compacted: * It was taken back."),
        bot("Took the last compaction back: * → * tokens*"),
        ada("/context"),
        bot("Context: *paused by /undo*Last compaction: done and taken back (manual, reset), * → * tokens*"),
        ada("What is my dog?"),
        bot("The dog is Rex."),
        heard(STORY.strip()),
    )


@everywhere()
async def test_the_button_takes_a_compaction_back_once(play: Play) -> None:
    await play(
        *TALK,
        ada("/compact"),
        bot("🗜 Compact*"),
        bot_changes("🗜 Compacted: *"),
        ada.presses("Undo"),
        bot_changes("🗜 Compacted: * It was taken back."),
        buttons(),
        bot("Took the last compaction back: * → * tokens*"),
        ada("/undo"),
        bot("There is nothing to undo."),
        ada("What is my dog?"),
        bot("The dog is Rex."),
        heard(STORY.strip()),
    )


@everywhere()
async def test_what_to_keep_reaches_the_summary(play: Play) -> None:
    await play(
        *TALK,
        ada("/compact keep the API decisions"),
        bot("🗜 Compact*"),
        bot_changes("🗜 Compacted: *"),
        heard("keep the API decisions", summary=True),
        ada("Please compact this conversation."),
        bot("There is nothing to compact yet."),
    )


@everywhere()
async def test_without_a_summary_nothing_changes_and_that_is_said(play: Play) -> None:
    await play(
        *TALK,
        thinks(summarises("")),
        ada("/compact"),
        bot("🗜 *"),
        bot_changes("🗜 Nothing was compacted: *. The conversation is unchanged."),
        buttons(),
        thinks(summarises("No summary.")),
        ada("/compact"),
        bot("🗜 *"),
        bot_changes("🗜 Nothing was compacted: *. The conversation is unchanged."),
        ada("What is my dog?"),
        bot("The dog is Rex."),
        heard(STORY.strip(), but_not=("Session context compacted.",)),
    )


@everywhere()
async def test_a_compaction_is_stopped_by_a_command_and_changes_nothing(play: Play) -> None:
    await play(
        *TALK,
        holds(summaries=True),
        ada("/compact"),
        bot("🗜 Compacting*"),
        asked(),
        ada("/compact"),
        bot("Busy: a compaction is under way.*"),
        ada("/status"),
        bot("Model: *Now: compacting"),
        ada("/abort"),
        bot_changes("🗜 Compaction aborted: nothing was changed."),
        hung_up(),
        goes_on(),
        no_typing(),
        ada("What is my dog?"),
        bot("The dog is Rex."),
        heard(STORY.strip(), but_not=("Session context compacted.",)),
    )


@everywhere()
async def test_a_compaction_is_stopped_by_its_button(play: Play) -> None:
    await play(
        *TALK,
        holds(summaries=True),
        ada("/compact"),
        bot("🗜 Compacting*"),
        asked(),
        ada.presses("Stop compacting"),
        bot_changes("🗜 Compaction aborted: nothing was changed."),
        hung_up(),
        goes_on(),
    )


_ON_ALL = "🗜 Compaction aborted: nothing was changed. Your message is answered on the whole conversation…"


@everywhere()
async def test_who_stops_the_compaction_before_an_answer_gets_it_from_the_whole_conversation(play: Play) -> None:
    await play(
        *TALK,
        holds(),
        ada(f"My cat is Tom. {STORY}"),
        bot("🗜 Compacting*"),
        asked(),
        ada.presses("Stop compacting"),
        bot_changes(_ON_ALL),
        buttons("Stop the answer"),
        hung_up(),
        asked(),
        goes_on(),
        bot("Noted*"),
        bot_changes("🗜 Compaction aborted: nothing was changed. Your message was answered on the whole conversation."),
        buttons(),
        no_typing(),
        heard("My cat is Tom.", STORY.strip(), but_not=("Session context compacted.",)),
    )


@everywhere()
async def test_who_stops_the_answer_after_its_compaction_finds_the_message_kept(play: Play) -> None:
    await play(
        *TALK,
        holds(),
        ada(f"My cat is Tom. {STORY}"),
        bot("🗜 Compacting*"),
        asked(),
        ada("/abort"),
        bot_changes(_ON_ALL),
        hung_up(),
        asked(),
        ada.presses("Stop the answer"),
        bot_changes("🗜 Compaction aborted: nothing was changed. Your message stays in the conversation."),
        hung_up(2),
        buttons(),
        goes_on(),
        no_typing(),
        ada("What is my cat?"),
        bot("The cat is Tom."),
    )


@everywhere()
async def test_it_compacts_again_and_again_and_forgets_nothing(play: Play) -> None:
    rounds = [
        step
        for _ in range(3)
        for step in (ada(STORY), bot("Noted*"), ada("/compact"), bot("🗜 *"), bot_changes("🗜 Compacted: *"))
    ]
    await play(
        ada("My dog is Rex."),
        bot("Noted*"),
        *rounds,
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )


@everywhere()
async def test_the_button_of_an_earlier_compaction_takes_back_nothing(play: Play) -> None:
    compacting = (ada(STORY), bot("Noted*"), ada("/compact"), bot("🗜 *"), bot_changes("🗜 Compacted: *"))
    await play(
        *TALK,
        ada("/compact"),
        bot("🗜 *"),
        bot_changes("🗜 Compacted: *"),
        *compacting,
        ada.presses("Undo", earliest=True),
        bot("That is not the last compaction any more.*"),
        ada.presses("Undo"),
        bot_changes("🗜 Compacted: * It was taken back."),
        bot("Took the last compaction back*"),
    )
