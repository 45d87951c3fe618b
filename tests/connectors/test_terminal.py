from __future__ import annotations

import asyncio
import base64
import json
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from typing_extensions import override

from bot.agent.commands.table import completions
from bot.connector import OfferedCommand
from bot.errors import DeliveryDelayed
from bot.messages import ABORT_COMPACTION, Address, Button, Edit, Inbound, Outbound, Say, Status, Typing, Withdraw
from connectors.memory import MemoryIntake
from connectors.terminal.connector import Terminal
from connectors.terminal.prompt import _Steady
from connectors.terminal.typeset import clean, finished, meter_line, typeset, wrapped
from tests.connectors.screen import Screen
from tests.until import until

HERE = Address("terminal", "me")
COMMANDS = (OfferedCommand("help", "what there is"), OfferedCommand("compact", "make room"))
CTRL_C, CTRL_D, ENTER, ALT_ENTER = "\x03", "\x04", "\r", "\x1b\r"
REPLY = "# Title\n\nSome **bold** text.\n\n- one\n- two\n\n```python\nprint(1)\n```\n\nThe end."


class Desk:
    """A person at a terminal: keys, screen, and what was stored."""

    def __init__(self, keys: PipeInput, file: Path, intake: MemoryIntake | None = None) -> None:
        self.now = 0.0
        self.keys = keys
        self.screen = Screen()
        self.intake = intake or MemoryIntake()
        self.terminal = Terminal(
            HERE,
            history_file=file,
            unsent_file=file.with_name(".unsent"),
            commands=COMMANDS,
            continues=completions,
            banner="Welcome",
            input=keys,
            output=self.screen,
            clock=lambda: self.now,
        )
        self.running = asyncio.create_task(self.terminal.run(self.intake))

    async def type(self, text: str) -> None:
        self.keys.send_text(text)

    async def shows(self, text: str, times: int = 1) -> None:
        await until(lambda: self.screen.text.count(text) == times, lambda: self.screen.text)

    async def stored(self, *texts: str) -> None:
        await until(lambda: self.intake.texts == [*texts], lambda: self.intake.texts)

    async def deliver(self, *outbounds: Outbound) -> None:
        for outbound in outbounds:
            await self.terminal.deliver(outbound)

    async def stream(self, text: str, token: str = "t", step: int = 3) -> None:
        await self.deliver(Say(HERE, text[:step], token, partial=True))
        for end in range(step, len(text), step):
            await self.deliver(Edit(HERE, (token,), text[:end], token, partial=True))

    async def leaves(self) -> str:
        async with asyncio.timeout(5):
            await self.running
        return self.screen.text


@pytest.fixture
def history_file(tmp_path: Path) -> Path:
    return tmp_path / "not" / "there" / "history"


@asynccontextmanager
async def sitting_at(file: Path) -> AsyncIterator[Desk]:
    with create_pipe_input() as keys:
        desk = Desk(keys, file)
        await desk.shows("\n>")
        yield desk
        await desk.terminal.close()
        await desk.leaves()


@pytest.fixture
async def desk(history_file: Path) -> AsyncIterator[Desk]:
    async with sitting_at(history_file) as desk:
        yield desk


async def test_a_line_is_stored_as_a_message_of_this_conversation(desk: Desk) -> None:
    await desk.type("hello" + ENTER)
    await desk.type("again" + ENTER)
    await desk.stored("hello", "again")
    first, second = desk.intake.inbounds
    assert (first.address, first.kind, first.person) == (HERE, "message", "me")
    assert first.key != second.key
    assert first.order < second.order
    await desk.shows("> hello\n")


async def test_an_empty_line_is_no_message(desk: Desk) -> None:
    await desk.type(ENTER + "  " + ENTER + "x" + ENTER)
    await desk.stored("x")


async def test_alt_enter_and_a_paste_make_one_message_of_several_lines(desk: Desk) -> None:
    await desk.type("one" + ALT_ENTER + "two" + ENTER)
    await desk.type("\x1b[200~three\nfour\x1b[201~" + ENTER)
    await desk.stored("one\ntwo", "three\nfour")


async def test_a_command_is_completed_and_other_text_is_not(desk: Desk) -> None:
    await desk.type("/co")
    await desk.shows("make room")
    await desk.type("\t" + ENTER + "co\t" + ENTER)
    await desk.stored("/compact", "co")


async def test_the_options_of_a_command_are_completed_word_by_word(desk: Desk) -> None:
    await desk.type("/compact strategy=mono")
    await desk.shows("questions and answers stay")
    await desk.type("\t min")
    await desk.shows("an option of monologue")
    await desk.type("\t2 the prices" + ENTER)
    await desk.stored("/compact strategy=monologue min_segments_to_keep=2 the prices")


async def test_a_line_that_cannot_be_stored_is_in_the_prompt_again(desk: Desk) -> None:
    desk.intake.refusals = 1
    await desk.type("precious" + ENTER)
    await desk.shows("Not stored: the database is locked.")
    await desk.type("!" + ENTER)
    await desk.stored("precious!")


class NotYet(MemoryIntake):
    """The rest of the program is not there yet."""

    @override
    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        await asyncio.Event().wait()
        return await super().store(inbounds, cursor=cursor)


async def test_what_was_said_before_it_could_be_stored_is_sent_at_the_next_start(history_file: Path) -> None:
    unsent = history_file.with_name(".unsent")
    with create_pipe_input() as keys:
        desk = Desk(keys, history_file, NotYet())
        await desk.shows("\n>")
        await desk.type("hello" + ENTER + "/help" + ENTER + "and more 🙂" + ENTER)
        await desk.shows("> hello\n")
        await until(lambda: "more" in unsent.read_text(), unsent.read_text)
        desk.running.cancel()
        await asyncio.wait([desk.running])
    assert stat.S_IMODE(unsent.stat().st_mode) == 0o600
    refs = list(json.loads(unsent.read_text()))
    async with sitting_at(history_file) as again:
        await again.shows("It is sent now.")
        await again.type("last" + ENTER)
        await again.stored("hello", "and more 🙂", "last")
        assert [inbound.ref for inbound in again.intake.inbounds[:2]] == refs
        await until(lambda: not unsent.exists())
    async with sitting_at(history_file) as third:
        await third.type("new" + ENTER)
        await third.stored("new")


@pytest.mark.parametrize("found", [b"", b"[1]", b'{"a": 1}', b"\xff\xfe", b'{"a"'])
async def test_a_file_of_unsent_lines_that_is_none_disturbs_nobody(history_file: Path, found: bytes) -> None:
    history_file.parent.mkdir(parents=True)
    history_file.with_name(".unsent").write_bytes(found)
    async with sitting_at(history_file) as desk:
        await desk.type("hello" + ENTER)
        await desk.stored("hello")


async def test_lines_are_remembered_in_a_file_that_only_the_owner_can_read(desk: Desk, history_file: Path) -> None:
    await desk.type("remember me" + ENTER)
    await desk.stored("remember me")
    await desk.type("\x1b[A" + ENTER)
    await desk.stored("remember me", "remember me")
    assert stat.S_IMODE(history_file.stat().st_mode) == 0o600
    assert "remember me" in history_file.read_text()


async def test_a_terminal_works_where_no_history_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with sitting_at(tmp_path / "file" / "history") as desk:
        await desk.type("hello" + ENTER)
        await desk.stored("hello")


async def test_a_streamed_reply_stands_in_the_scrollback_as_markdown_once(desk: Desk) -> None:
    await desk.stream(REPLY)
    await desk.shows("print(1)")
    await desk.deliver(Edit(HERE, ("t",), REPLY, "t"), Edit(HERE, ("t",), REPLY, "t"))
    await desk.type("/quit" + ENTER)
    whole = "Welcome\n\nTitle\n\nSome bold text.\n\n • one\n • two\n\n print(1)\n\nThe end."
    assert await desk.leaves() == whole


async def test_a_reply_is_never_seen_twice_while_it_streams(desk: Desk) -> None:
    await desk.stream(REPLY, step=1)
    await desk.deliver(Edit(HERE, ("t",), REPLY, "t"))
    for part in ("Title", "Some bold", "• one", "print(1)", "The end."):
        assert max(text.count(part) for text in desk.screen.seen) == 1


async def test_the_block_in_progress_is_shown_before_it_is_complete(desk: Desk) -> None:
    await desk.stream("Some **bold** te")
    await desk.shows("Some bold")


async def test_the_live_part_stays_within_the_terminal(desk: Desk) -> None:
    await desk.stream("```\n" + "".join(f"line {n}\n" for n in range(200)), step=50)
    await desk.shows("line 194\n")
    assert "line 100\n" not in desk.screen.text


async def test_an_edit_of_a_message_from_before_a_restart_is_printed_whole(desk: Desk) -> None:
    await desk.deliver(Edit(HERE, ("old",), "All *of* it.", "new"))
    await desk.shows("All of it.")


async def test_a_reply_that_starts_over_says_so(desk: Desk) -> None:
    await desk.stream("First try.\n\nMore of it.\n\nAnd")
    await desk.deliver(Edit(HERE, ("t",), "Second try.", "t"))
    await desk.shows("(The reply starts over.)\n\nSecond try.")


async def test_what_tools_do_is_shown_until_the_reply_goes_on_and_leaves_nothing(desk: Desk) -> None:
    await desk.deliver(Say(HERE, "I look into it.", "t", partial=True))
    await desk.deliver(Edit(HERE, ("t",), "I look into it.\n🔧 read_file `notes.txt`", "t", partial=True))
    await desk.shows("🔧 read_file notes.txt")
    await desk.deliver(Edit(HERE, ("t",), "It says milk.\n\nAnd", "t", partial=True))
    await desk.deliver(Edit(HERE, ("t",), "It says milk.\n\nAnd bread.", "t"))
    await desk.shows("And bread.")
    assert "🔧" not in desk.screen.text
    assert "starts over" not in desk.screen.text


async def test_a_status_message_changes_in_one_place_and_is_printed_when_final(desk: Desk) -> None:
    await desk.deliver(Say(HERE, "Compacting (76 %)…", "s", notice=True, buttons=(Button("Stop", "/abort"),)))
    await desk.shows("Compacting (76 %)…\n[Stop: /abort]")
    await desk.deliver(Edit(HERE, ("s",), "Compacting (90 %)…", "s2", notice=True))
    await desk.shows("Compacting (90 %)…")
    await desk.deliver(Edit(HERE, ("s",), "Compacted: 2,100 → 480 tokens", "s3", notice=True))
    await desk.shows("Compacted: 2,100 → 480 tokens")
    await desk.deliver(Edit(HERE, ("s",), "Compacted: 2,100 → 480 tokens", "s3", notice=True))
    assert "Compacting" not in desk.screen.text
    assert desk.screen.text.count("Compacted") == 1


async def test_what_is_said_by_itself_stands_apart_and_what_answers_a_line_right_below_it(desk: Desk) -> None:
    await desk.type("/rules" + ENTER)
    await desk.stored("/rules")
    await desk.deliver(Say(HERE, "Rules: 1", "r", notice=True, buttons=(Button("📌 1", "/rules pin 1"),)))
    await desk.shows("> /rules\nRules: 1\n[📌 1: /rules pin 1]")
    await desk.deliver(Say(HERE, "⏰ water the plants", "w", notice=True))
    await desk.shows("[📌 1: /rules pin 1]\n\n⏰ water the plants")
    await desk.deliver(Say(HERE, "Well.", "t"), Say(HERE, "⏰ call Ana", "c", notice=True))
    await desk.shows("⏰ water the plants\n\nWell.\n\n⏰ call Ana")


async def test_a_number_alone_chooses_right_behind_what_asked_and_is_a_message_later(desk: Desk) -> None:
    choices = (Button("1. 05:00", "/remind take 2 1"), Button("2. 17:00", "/remind take 2 2"))
    await desk.deliver(Say(HERE, "Which of these?\n1. at 5\n2. at 17", "w", notice=True, buttons=choices))
    await desk.type("2" + ENTER)
    await desk.stored("/remind take 2 2")
    await desk.shows("> /remind take 2 2")
    await desk.type("2" + ENTER)
    await desk.stored("/remind take 2 2", "2")


async def test_model_output_cannot_give_orders_to_the_terminal(desk: Desk) -> None:
    await desk.deliver(Say(HERE, "a\x1b[2Jb \x1b]0;title\x07c \x9b31md&#27;[1m &#13;", "t"))
    await desk.shows("ab c 31md")


async def test_typing_is_shown_until_it_is_off_or_six_seconds_passed(desk: Desk) -> None:
    await desk.deliver(Typing(HERE))
    await desk.shows("⠋ …")
    await desk.deliver(Typing(HERE, on=False))
    await desk.shows("⠋ …", times=0)
    await desk.deliver(Typing(HERE))
    await desk.shows("⠋ …")
    desk.now = 6.0
    await desk.shows("…", times=0)


async def test_the_bottom_line_shows_the_meter(desk: Desk) -> None:
    sizes = {"total": 1234, "limit": 8000, "share": 0.154}
    await desk.deliver(Status(HERE, {**sizes, "level": "ok", "model": "claude"}))
    await desk.shows("▓▓░░░░░░░░ 1,234 / 8,000 tokens (15 %) · claude · ok")


async def test_ctrl_c_aborts_what_runs_and_leaves_when_pressed_again(desk: Desk) -> None:
    await desk.type("hello" + ENTER)
    await desk.stored("hello")
    await desk.type(CTRL_C)
    await desk.shows("Stopping… (Ctrl-C again to leave)")
    await desk.stored("hello", "/abort")
    await desk.type(CTRL_C)
    await desk.leaves()


async def test_ctrl_c_stops_the_compaction_that_an_answer_waits_for_then_the_answer_and_then_leaves(desk: Desk) -> None:
    await desk.type("hello" + ENTER)
    await desk.stored("hello")
    stop = Button("Stop compacting", ABORT_COMPACTION)
    await desk.deliver(Say(HERE, "Compacting…", "s", notice=True, buttons=(stop,)))
    await desk.type(CTRL_C)
    await desk.shows("Stopping the compaction… (Ctrl-C again stops the answer)")
    await desk.type(CTRL_C)
    await desk.shows("Stopping… (Ctrl-C again to leave)")
    await desk.stored("hello", "/abort", "/abort")
    await desk.type(CTRL_C)
    await desk.leaves()


async def test_ctrl_c_aborts_again_when_three_seconds_have_passed(desk: Desk) -> None:
    await desk.deliver(Say(HERE, "Compacting…", "s", notice=True))
    await desk.type(CTRL_C)
    await desk.stored("/abort")
    desk.now = 3.0
    await desk.shows("Stopping…", times=0)
    await desk.type(CTRL_C)
    await desk.stored("/abort", "/abort")


async def test_ctrl_c_for_one_answer_and_soon_after_for_another_stops_both_and_leaves_neither_time(desk: Desk) -> None:
    await desk.type("one" + ENTER + CTRL_C)
    await desk.stored("one", "/abort")
    await desk.deliver(Say(HERE, "(stopped)", "t1"))
    await desk.type("two" + ENTER)
    await desk.stored("one", "/abort", "two")
    await desk.shows("Ctrl-C again to leave", times=0)
    await desk.type(CTRL_C)
    await desk.stored("one", "/abort", "two", "/abort")
    await desk.shows("Stopping… (Ctrl-C again to leave)")
    await desk.type(CTRL_C)
    await desk.leaves()


async def test_ctrl_c_behind_a_message_stops_its_answer_although_the_end_of_the_one_before_comes_only_then(
    desk: Desk,
) -> None:
    await desk.type("one" + ENTER)
    await desk.stored("one")
    [one] = desk.intake.inbounds
    await desk.deliver(Typing(HERE))
    await desk.stream("Half of a sen")
    await desk.type("two" + ENTER)
    await desk.stored("one", "two")
    await desk.deliver(Edit(HERE, ("t",), "Half of a sentence.", "t", answers=one.ref), Typing(HERE, on=False))
    await desk.type(CTRL_C)
    await desk.stored("one", "two", "/abort")
    await desk.shows("Stopping… (Ctrl-C again to leave)")


@pytest.mark.parametrize("how", ["an answer to the last", "one that a message joined", "no answer", "withdrawn"])
async def test_ctrl_c_asks_before_it_leaves_when_nothing_waits_for_an_answer_any_more(desk: Desk, how: str) -> None:
    await desk.type("one" + ENTER + "two" + ENTER)
    await desk.stored("one", "two")
    one, two = desk.intake.inbounds
    await desk.deliver(Typing(HERE))
    if how == "an answer to the last":
        await desk.deliver(Say(HERE, "Here.", "t", answers=two.ref))
    elif how == "one that a message joined":
        await desk.deliver(Status(HERE, {"total": 1, "limit": 9, "level": "ok", "answers": 2}))
        await desk.deliver(Say(HERE, "Here.", "t", answers=one.ref))
    elif how == "withdrawn":
        await desk.deliver(Withdraw(HERE, (), two.ref))
    else:
        await desk.deliver(Typing(HERE, on=False))
    await desk.type(CTRL_C)
    await desk.shows("Press Ctrl-C again to leave.")
    await desk.stored("one", "two")


@pytest.mark.parametrize(
    "next_thing",
    [Typing(HERE), Say(HERE, "And now", "t2", partial=True), Say(HERE, "Compacting (76 %)…", "s", notice=True)],
    ids=["a turn", "an answer", "a compaction"],
)
async def test_what_begins_by_itself_after_a_stop_is_stopped_by_a_ctrl_c_of_its_own(
    desk: Desk, next_thing: Outbound
) -> None:
    await desk.stream("Half of a sen")
    await desk.type(CTRL_C)
    await desk.stored("/abort")
    await desk.deliver(Edit(HERE, ("t",), "Half (stopped)", "t"))
    await desk.shows("Half (stopped)")
    await desk.deliver(next_thing)
    await desk.type(CTRL_C)
    await desk.stored("/abort", "/abort")


async def test_ctrl_c_on_words_that_were_typed_since_the_last_one_drops_the_words_and_stays(desk: Desk) -> None:
    await desk.type(CTRL_C)
    await desk.shows("Press Ctrl-C again to leave.")
    await desk.type("half a line")
    await desk.shows("Press Ctrl-C again to leave.", times=0)
    await desk.type(CTRL_C)
    await desk.shows("Press Ctrl-C again to leave.")
    await desk.type("x" + ENTER)
    await desk.stored("x")


async def test_ctrl_r_shows_what_it_finds_while_it_is_typed(desk: Desk) -> None:
    await desk.type("the harbour code" + ENTER + "another line" + ENTER)
    await desk.stored("the harbour code", "another line")
    await desk.type("\x12harb")
    await desk.shows("\n> the harbour code\nI-search backward: harb")
    await desk.type(ENTER + ENTER)
    await desk.stored("the harbour code", "another line", "the harbour code")


async def test_lines_of_a_reply_stay_lines(desk: Desk) -> None:
    haiku = "An old silent pond\nA frog jumps into the pond\nSplash! Silence again."
    await desk.deliver(Say(HERE, f"{haiku}\n\n- one\n  two\n\n> said\n> twice", "t"))
    await desk.shows(haiku + "\n\n • one\n   two\n\n▌ said\n▌ twice")


async def test_what_the_program_says_is_broken_between_words(desk: Desk) -> None:
    desk.screen.size = Size(rows=40, columns=20)
    say = "Compacted: 2,100 → 480 tokens. /undo takes it back.\n日本語の文は幅が広い"
    rows = "Compacted: 2,100 →\n480 tokens. /undo\ntakes it back.\n日本語の文は幅が広い"
    await desk.deliver(Say(HERE, f"{say}…", "s", notice=True))
    await desk.shows(f"{rows}\n…")
    await desk.deliver(Edit(HERE, ("s",), say, "s2", notice=True))
    await desk.shows(rows)
    await desk.type("a line that is longer than the window" + ENTER)
    await desk.shows("> a line that is\n  longer than the\n  window\n")


async def test_ctrl_c_asks_before_it_leaves_when_nothing_runs(desk: Desk) -> None:
    await desk.type("hello" + ENTER)
    await desk.stored("hello")
    await desk.deliver(Say(HERE, "Hi.", "t"))
    await desk.type("half a line" + CTRL_C)
    await desk.shows("Press Ctrl-C again to leave.")
    await desk.type(CTRL_C)
    await desk.leaves()
    assert desk.intake.texts == ["hello"]


@pytest.mark.parametrize("keys", [CTRL_D, "/quit" + ENTER, "/exit" + ENTER])
async def test_a_person_can_leave(desk: Desk, keys: str) -> None:
    await desk.type(keys)
    await desk.leaves()
    assert desk.intake.texts == []


@pytest.mark.parametrize("word", ["exit", "quit"])
async def test_the_word_alone_leaves_and_in_a_sentence_it_is_a_word(desk: Desk, word: str) -> None:
    await desk.type(f"how do I {word}?" + ENTER + word + ENTER)
    await desk.leaves()
    assert desk.intake.texts == [f"how do I {word}?"]


async def test_a_conversation_that_is_gone_on_with_shows_where_it_stood_cut(desk: Desk) -> None:
    desk.screen.size = Size(rows=40, columns=30)
    answer = "\n".join(f"line {number}" for number in range(20))
    await desk.terminal.show_before(
        "Going on from yesterday; /new starts afresh.", "What is it, in twenty lines?", answer
    )
    shown = "\n".join(f"  line {number}" for number in range(8))
    await desk.shows(f"starts afresh.\n> What is it, in twenty lines?\n{shown}\n  …\n")
    await desk.type("/copy" + ENTER)
    await desk.shows(f"{len(answer)} characters")


async def test_what_was_answered_before_is_set_as_it_was_when_it_came(desk: Desk) -> None:
    await desk.terminal.show_before("Going on.", "How **many**?", "It has **two** paragraphs.\n\n- one\n- `two`")
    await desk.shows("> How **many**?\n  It has two paragraphs.\n\n   • one\n   • two\n")


async def test_who_was_faster_is_not_shown_where_it_stood(desk: Desk) -> None:
    await desk.type("hello" + ENTER)
    await desk.stored("hello")
    await desk.terminal.show_before("Going on from yesterday.", "What?", "That.")
    await desk.type("again" + ENTER)
    await desk.stored("hello", "again")
    assert "Going on" not in desk.screen.text


async def test_a_file_that_a_message_names_goes_along_and_is_said(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    line = f"what does @{tmp_path}/plan.txt say to @nobody?"
    await desk.type(line + ENTER)
    await desk.stored(line)
    await desk.shows("📎 plan.txt")
    (file,) = desk.intake.inbounds[0].attachments
    assert (file.name, file.ref) == ("plan.txt", str(tmp_path / "plan.txt"))
    await desk.type(f"/abort @{tmp_path}/plan.txt" + ENTER)
    await desk.stored(line, f"/abort @{tmp_path}/plan.txt")
    assert not desk.intake.inbounds[1].attachments


async def test_what_looks_like_a_file_and_is_none_goes_as_text_and_is_said(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    line = f"@{tmp_path}/plan.txt @nosuch.txt, @ada and @nosuch.txt; @old/notes?"
    await desk.type(line + ENTER)
    await desk.stored(line)
    await desk.shows("📎 plan.txt")
    await desk.shows("(There is no file nosuch.txt; it went as text.)")
    await desk.shows("(There is no file old/notes; it went as text.)")
    assert [file.name for file in desk.intake.inbounds[0].attachments] == ["plan.txt"]
    assert "no file ada" not in desk.screen.text


async def test_a_path_is_completed_behind_an_at(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "my plan.txt").write_text("the plan")
    await desk.type(f"see @{tmp_path}/my")
    await desk.shows("my plan.txt")
    await desk.type("\t!" + ENTER)
    await desk.stored(f'see @"{tmp_path}/my plan.txt"!')
    assert [file.name for file in desk.intake.inbounds[0].attachments] == ["my plan.txt"]


async def test_the_last_answer_or_its_code_is_copied(desk: Desk) -> None:
    await desk.type("/copy" + ENTER)
    await desk.shows("There is no answer to copy yet.")
    await desk.deliver(Say(HERE, "Try *this*.", "t1"))
    await desk.type("/copy code" + ENTER)
    await desk.shows("There is no code in the last answer.")
    await desk.deliver(Say(HERE, REPLY, "t2"))
    await desk.type("/copy code" + ENTER + "/copy" + ENTER)
    await until(lambda: len(desk.screen.asked) == 2)
    copied = [base64.b64decode(asked.removeprefix("\x1b]52;c;").removesuffix("\x07")) for asked in desk.screen.asked]
    assert copied == [b"print(1)\n", REPLY.encode()]
    assert desk.intake.texts == []


async def test_what_was_entered_is_stored_before_leaving(desk: Desk) -> None:
    await desk.type("last words" + ENTER + CTRL_D)
    await desk.leaves()
    assert desk.intake.texts == ["last words"]


async def test_a_half_reply_stays_readable_after_leaving(desk: Desk) -> None:
    await desk.stream("Half of a sen")
    await desk.type(CTRL_D)
    assert (await desk.leaves()).endswith("Half of a se")


async def test_being_cancelled_ends_the_prompt(desk: Desk) -> None:
    desk.running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await desk.running
    assert ">" not in desk.screen.text
    desk.running = asyncio.create_task(asyncio.sleep(0))


async def test_a_message_of_another_conversation_waits(desk: Desk) -> None:
    elsewhere = Address("terminal", "work")
    with pytest.raises(DeliveryDelayed):
        await desk.terminal.deliver(Say(elsewhere, "secret", "t"))
    assert await desk.terminal.deliver(Typing(elsewhere)) == ()
    assert await desk.terminal.find(Say(HERE, "x", "t"), None, frozenset()) is None


def test_a_redraw_never_clears_the_screen_from_its_corner_because_tmux_would_keep_a_copy() -> None:
    written = StringIO()
    output = _Steady(written, lambda: Size(rows=24, columns=80))
    output.erase_down()
    output.flush()
    assert written.getvalue() == "\x1b7\x1b[K\x1b[B\x1b[J\x1b8"


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("A paragraph\n", ""),
        ("A paragraph\n\nand", ""),
        ("A paragraph\n\nand\n", "A paragraph\n\n"),
        ("A paragraph\n#", ""),
        ("- one\n\n- two\n", ""),
        ("```\na\n\nb\n", ""),
        ("x\u2028y\n\n```\na\n```\nz\n", "x\u2028y\n\n```\na\n```\n"),
    ],
)
def test_a_block_is_finished_when_nothing_after_it_can_change_it(text: str, done: str) -> None:
    assert text[: finished(text)] == done


def test_html_and_empty_text_are_set_without_loss() -> None:
    assert "<div>x</div>" in clean(typeset("<div>x</div>", 40))
    assert clean(typeset("List<String> a<br>b", 40)) == "List<String> a\nb"
    assert typeset(" \n", 40) == ""


def test_lines_that_fit_are_left_as_they_are() -> None:
    assert wrapped("  a  b\n\n· c\n", 8) == "  a  b\n\n· c\n"
    assert wrapped("a Ctrl-C", 6) == "a\nCtrl-C"
    assert wrapped("longer", 3) == "lon\nger"


def test_the_meter_line_takes_what_facts_there_are() -> None:
    assert meter_line({}, 80) == ""
    assert meter_line({"total": 9000, "limit": 8000}, 80).startswith("▓▓▓▓▓▓▓▓▓▓ 9,000 / 8,000 tokens (112 %)")
    assert meter_line({"model": "m"}, 80) == "m"
    part = {"total": 7499, "limit": 10000, "share": 0.7499}
    assert "(74 %)" in meter_line(part, 80), "not at the level yet"
    guessed: dict[str, str | int | float] = {
        "total": 612,
        "limit": 185_808,
        "limit_is_known": False,
        "model": "m",
        "level": "ok",
    }
    assert meter_line(guessed, 80) == "░░░░░░░░░░ 612 / 185,808 tokens (0 %), limit assumed · m · ok"


def test_the_meter_line_leaves_out_what_has_no_room_and_cuts_nothing() -> None:
    facts: dict[str, str | int | float] = {
        "total": 1234,
        "limit": 8000,
        "model": "a-long-name-of-a-model",
        "level": "ok",
    }
    tokens = "1,234 / 8,000 tokens (15 %)"
    assert meter_line(facts, 80) == f"▓▓░░░░░░░░ {tokens} · a-long-name-of-a-model · ok"
    assert meter_line(facts, 50) == f"▓▓░░░░░░░░ {tokens} · ok"
    assert meter_line(facts, 40) == f"{tokens} · ok"
    assert meter_line(facts, 30) == tokens


async def test_below_the_answer_to_help_stand_the_commands_of_the_terminal_itself(desk: Desk) -> None:
    await desk.type("/help" + ENTER)
    await desk.stored("/help")
    ref = desk.intake.last.ref
    answer = Say(HERE, "/help: what I can do", "1", notice=True, answers=ref)
    await desk.deliver(answer, answer)
    for name in ("/attach", "/copy", "/editor", "/exit", "/quit"):
        await desk.shows(f"\n{name}: ")
    text = desk.screen.text
    assert text.index("/help: what I can do") < text.index("And in this terminal alone:") < text.index("/attach: ")
    await desk.deliver(Say(HERE, "Something else.", "2", notice=True, answers="another"))
    await desk.shows("Something else.")
    await desk.shows("And in this terminal alone:")


async def test_an_answer_to_several_messages_says_to_how_many_and_the_next_one_says_nothing(desk: Desk) -> None:
    await desk.deliver(Status(HERE, {"total": 100, "limit": 1_000, "level": "ok", "answers": 3}))
    await desk.deliver(Say(HERE, "To all of it.", "1"))
    await desk.shows("(One answer to your 3 messages.)")
    await desk.deliver(Say(HERE, "And another one.", "2"))
    await desk.shows("And another one.")
    await desk.shows("(One answer")


async def test_answers_that_begin_while_somebody_leaves_break_nothing(desk: Desk) -> None:
    await desk.deliver(Say(HERE, "It is", "t", partial=True))
    await desk.terminal.close()
    begun = 0
    while not desk.running.done():
        await desk.deliver(Say(HERE, f"Answer {begun}", f"t{begun}", partial=True))
        await asyncio.sleep(0)
        begun += 1
    assert "It is\n" in await desk.leaves()
    assert begun > 1
