"""Clearing what tools returned. FEATURES E2."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.compaction.parts.tool_outputs import LONGEST_KEPT, cleared, exit_code
from bot.history import Entry, EntryKind
from bot.messages import Block, text_block, text_of
from tests.unit.entries import call, replied, result, returned, said

PICTURE: Block = {"type": "image", "source": {"type": "folder", "path": "a.png", "width": 800, "height": 600}}


def called(content: str | list[Block], *, name: str = "shell_exec", **more: object) -> list[Entry]:
    """A call of a tool by this name, and what it returned."""
    use = {**call("a"), "name": name}
    block = {**result("a", content), **more}
    reply = Entry(1, "assistant", (use,), EntryKind.REPLY)
    return [reply, Entry(2, "user", (block,), EntryKind.RESULT, tokens=900)]


def line(content: str | list[Block], *, name: str = "shell_exec", **more: object) -> str:
    """What stands in place of an output."""
    (block,) = cleared(called(content, name=name, **more), 2).blocks[2]
    return str(block["content"])


def test_a_long_output_becomes_a_line_that_says_what_it_was() -> None:
    output = "exit code: 0\n" + "x" * (2847 - 13)
    assert line(output) == "[Tool: shell_exec returned 2847 chars, exit code 0]"


def test_an_exit_code_is_told_only_when_the_output_states_one() -> None:
    assert line("x" * 300, name="read_file") == "[Tool: read_file returned 300 chars]"


def test_the_block_stays_the_result_of_its_call_and_an_error_one() -> None:
    (block,) = cleared(called("x" * 300, is_error=True), 2).blocks[2]
    assert {**block, "content": ""} == {"type": "tool_result", "tool_use_id": "a", "content": "", "is_error": True}
    assert block["content"] == "[Tool: shell_exec returned 300 chars, an error]"


@pytest.mark.parametrize(("length", "is_cleared"), [(LONGEST_KEPT, False), (LONGEST_KEPT + 1, True)])
def test_short_outputs_stay(length: int, *, is_cleared: bool) -> None:
    assert bool(cleared(called("я" * length), 2).blocks) is is_cleared


def test_only_outputs_that_are_old_enough_are_cleared() -> None:
    view = [*called("x" * 300), returned(3, "b", "y" * 300, tokens=900)]
    assert set(cleared(view, 1).blocks) == set()
    assert set(cleared(view, 2).blocks) == {2}
    assert set(cleared(view, 3).blocks) == {2, 3}


def test_nothing_else_is_cleared() -> None:
    view = [said(1, "x" * 300, tokens=900), replied(2, "x" * 300, "a", tokens=900)]
    view += [Entry(3, "user", (text_block("x" * 300),), EntryKind.FILE, tokens=900)]
    assert cleared(view, 3).blocks == {}


def test_of_several_results_in_one_entry_the_long_ones_are_cleared() -> None:
    entry = Entry(1, "user", (result("a", "x" * 300), result("b", "short")), EntryKind.RESULT, tokens=900)
    long, short = cleared([entry], 1).blocks[1]
    assert long["content"] == "[Tool: an earlier call returned 300 chars]"
    assert short == result("b", "short")


def test_an_id_that_is_used_again_names_the_call_before_the_output() -> None:
    first, second = called("x" * 300, name="first"), called("y" * 300, name="second")
    view = [*first, replace(second[0], seq=3), replace(second[1], seq=4)]
    found = cleared(view, 4).blocks
    assert [found[seq][0]["content"].split()[1] for seq in (2, 4)] == ["first", "second"]


def test_pictures_and_documents_are_cleared_with_the_text_beside_them() -> None:
    assert line([text_block("two views"), PICTURE, PICTURE]) == "[Tool: shell_exec returned 9 chars, 2 images]"
    assert line([{"type": "document", "source": {}}]) == "[Tool: shell_exec returned 0 chars, 1 document]"


def test_what_was_cleared_is_not_cleared_again() -> None:
    view = called("x" * 300, name="n" * 900, is_error=True)
    once = replace(view[1], blocks=cleared(view, 2).blocks[2])
    assert cleared([view[0], once], 2).blocks == {}


def test_an_output_that_would_not_become_smaller_stays() -> None:
    view = [replied(1, "", "a"), returned(2, "a", " " * 300, tokens=10)]
    assert cleared(view, 2).blocks == {}


def test_what_is_saved_is_what_the_entry_takes_less() -> None:
    found = cleared(called("x" * 300), 2)
    assert 840 < found.saved[2] < 900


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ('{"stdout": "no", "exit_code": 3}', 3),
        ('{"returncode": 0, "stderr": ""}', 0),
        ('{"exitCode": "137"}', 137),
        ('{"output": "Exit code: 5", "metadata": {"exit_code": 1}}', 1),
        ("done\nexit code 1", 1),
        ("done\nExit code: 0\n", 0),
        ("[exit code -9]\nkilled", -9),
        ("(exit status 2)", 2),
        ("Process exited with code 127", 127),
        ("Command failed with exit code 2: make: *** no rule", 2),
        ("<exit_code>0</exit_code>\n<stdout>…</stdout>", 0),
        ("returncode=1", 1),
    ],
)
def test_a_stated_exit_code_is_found(output: str, code: int) -> None:
    assert exit_code(output) == code


@pytest.mark.parametrize(
    "output",
    [
        "",
        "HTTP status: 200",
        "When it fails, grep returns exit code 1 and prints nothing.",
        "exit code 2 means that the file was not found",
        "a\nb\nc\nd\nexit code 1\ne\nf\ng\nh",
        '{"exit_code": true}',
        '{"exit_code": null}',
        '{"text": "the field \\"exit_code\\": 1 of a log"}',
        '{"exit_code": 1, "stdout": "cut off he',
        "[" * 100_000 + '"exit_code"',
        '{"exit_code":' * 50_000,
        "退出代码未知",
    ],
)
def test_text_that_merely_mentions_an_exit_code_states_none(output: str) -> None:
    assert exit_code(output) is None


def test_the_exit_code_may_stand_in_any_text_of_a_result() -> None:
    parts = [text_block("x" * 300), text_block(json.dumps({"exit_code": 4}))]
    assert line(parts).endswith(", exit code 4]")
    assert text_of(parts)  # they are read as they are, not joined
