"""`palimpsest compact` and `palimpsest estimate`, in this process. FEATURES P4, P6, E5, E6."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner, Result

from bot.app.cli.compact import _written
from bot.app.cli.main import app
from bot.compaction import Plan, compact_history
from bot.compaction.manual.refusals import NeedsSummary, NoSummary
from bot.estimate import estimate_tokens
from bot.messages import Message
from tests.house import settings_for
from tests.servers.messages.server import MessagesServer
from tests.unit.by_hand import assistant, talk, user
from tests.unit.entries import call, result
from tests.unit.summary_run import says

Run: TypeAlias = Callable[..., Result]
SYSTEM, TOOLS = "You are careful. " * 9, [{"name": "look", "input_schema": {"type": "object"}}]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words, **more: CliRunner().invoke(app, words, **more)


def write(name: str, value: object) -> str:
    Path(name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return name


def as_object(messages: object) -> dict[str, Any]:
    return {"system": SYSTEM, "tools": TOOLS, "messages": messages, "metadata": {"user_id": "7"}}


def test_json_is_one_document_with_the_strategy_the_seven_statistics_and_the_messages(run: Run) -> None:
    done = run("compact", write("t.json", talk(4)), "--json")
    made = compact_history(talk(4))
    assert json.loads(done.stdout) == {"strategy": "monologue", **made.stats, "messages": made.messages}
    assert done.exit_code == 0


def test_people_read_the_statistics_the_share_and_what_became_of_each_message(run: Run) -> None:
    done = run("compact", write("t.json", talk(3)))
    stats = compact_history(talk(3)).stats
    lines = done.stdout.splitlines()
    assert [line.split() for line in lines[:8]] == [["strategy", "monologue"], *([k, str(v)] for k, v in stats.items())]
    share = round(100 * stats["compactedTokens"] / stats["originalTokens"])
    assert lines[8] == f"Compressed to {share} % of the original size."
    assert lines[10].split()[:4] == ["-", "1", "Assistant:", "I"]
    assert lines[13].split()[:5] == ["~", "0–4", "User:", "Question", "0:"]
    assert [line[0] for line in lines[10:]] == list("---~=---~=")
    assert "\x1b" not in done.stdout


def test_the_limit_is_that_of_the_whole_request_and_out_is_written_in_the_same_form(run: Run) -> None:
    messages = talk(6)
    whole = estimate_tokens(messages, system=SYSTEM, tools=TOOLS)
    done = run("compact", write("t.json", as_object(messages)), "--limit", str(whole - 1), "--out", "o.json", "--json")
    stats, written = json.loads(done.stdout), json.loads(Path("o.json").read_text())
    assert stats["originalTokens"] == whole
    assert written == {**as_object(messages), "messages": stats["messages"]}
    assert list(written) == list(as_object(messages))
    assert json.loads(run("estimate", "o.json", "--json").stdout)["total"] == stats["compactedTokens"] < whole
    untouched = run("compact", "t.json", "--limit", str(whole), "--json")
    assert json.loads(untouched.stdout)["messages"] == messages


def test_the_answers_of_a_transcript_whose_turns_end_in_a_tool_call_are_in_what_is_written(run: Run) -> None:
    def turn(number: int) -> list[dict[str, Any]]:
        answer = {"result": f"It is {number} km."}
        handing = {**call(f"d{number}"), "name": "attempt_completion", "input": answer}
        look = assistant("<thinking>I have to look.</thinking>", call(f"a{number}"))
        found = {"role": "user", "content": [result(f"a{number}", "a long page " * 90)]}
        return [user(f"{number}?"), look, found, assistant("<thinking>Done.</thinking>", handing)]

    messages = [
        *turn(1),
        {"role": "user", "content": [result("d1", "ok"), {"type": "text", "text": "And back?"}]},
        *turn(2)[1:],
        *turn(3),
    ]
    done = run("compact", write("t.json", messages), "--out", "o.json", "--json")
    assert done.exit_code == 0
    written = Path("o.json").read_text()
    assert "It is 1 km." in written, "a call that was answered"
    assert "It is 2 km." in written, "a call that nothing answered"
    assert written.count("[Tool: look returned 1080 chars]") == 2
    assert written.count("<thinking>") == 2, "of the last segment"


def test_a_transcript_in_the_form_of_chat_completions_is_counted_compacted_and_written_in_that_form(run: Run) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"path": "a.txt"}'}}
    turn = [
        {"role": "user", "content": "what is in it?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "nothing of note " * 90},
        {"role": "assistant", "content": "Nothing."},
    ]
    messages = [{"role": "system", "content": SYSTEM}, *turn, *turn]
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    done = run("compact", write("t.json", {"tools": tools, "messages": messages}), "--out", "o.json", "--json")
    stats, written = json.loads(done.stdout), json.loads(Path("o.json").read_text())
    assert (stats["originalCount"], stats["compactedCount"]) == (9, 7)
    assert [message["role"] for message in written["messages"]] == [
        "system", "user", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert written["messages"][3:] == turn
    counted = json.loads(run("estimate", "o.json", "--json").stdout)
    assert counted["total"] == stats["compactedTokens"] == sum(counted["parts"].values())
    assert counted["parts"]["system prompt"] > 0
    assert counted["parts"]["tool calls"] > 0
    assert counted["parts"]["tool results"] > 200


def test_jsonl_stays_jsonl_and_the_file_itself_is_not_changed(run: Run) -> None:
    lines = "\n".join(json.dumps(message) for message in talk(3))
    Path("t.jsonl").write_text(lines)
    run("compact", "t.jsonl", "--out", "o.jsonl")
    written = [json.loads(line) for line in Path("o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert written == compact_history(talk(3)).messages
    assert Path("t.jsonl").read_text() == lines


def test_standard_input_is_read_for_a_hyphen(run: Run) -> None:
    done = run("compact", "-", "--json", input=json.dumps(talk(2)))
    assert json.loads(done.stdout)["originalCount"] == 12


def test_options_come_from_the_settings_and_then_from_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATEGY__MONOLOGUE__MIN_SEGMENTS_TO_KEEP", "3")
    write("t.json", talk(4))
    removed = [
        json.loads(run("compact", "t.json", "--json", *words).stdout)["removed"]
        for words in ((), ("--option", "minSegmentsToKeep=2"), ("--option", "min_segments_to_keep=4"))
    ]
    assert removed == [4, 8, 0]


@pytest.mark.parametrize("as_setting", [True, False])
@pytest.mark.parametrize(
    ("option", "cleared"),
    [
        ("enabled=true", 11),
        ("enabled=false", 11),  # unasked it would do nothing
        ("target_tokens=200", None),
        ("preserve_recent=2", 13),
        ("try_lightweight_first=false", None),
    ],
)
def test_two_phase_is_set_up_by_settings_and_by_options(
    run: Run, monkeypatch: pytest.MonkeyPatch, option: str, cleared: int | None, *, as_setting: bool
) -> None:
    messages = [message for at in range(14) for message in (user("q"), assistant(call(str(at))),
                {"role": "user", "content": [result(str(at), "x" * 900)]}, assistant("done"))]  # fmt: skip
    if as_setting:
        name, _, value = option.partition("=")
        monkeypatch.setenv(f"STRATEGY__TWO_PHASE__{name.upper()}", value)
    words = () if as_setting else ("--option", option)
    done = run("compact", write("t.json", messages), "--strategy", "two_phase", "--json", *words)
    if cleared is None:
        assert done.exit_code == 1
        assert "two_phase wants a summary" in done.stderr
    else:
        assert done.stdout.count("[Tool: look returned 900 chars]") == cleared


def test_a_summary_from_a_file_is_used(run: Run) -> None:
    Path("s.md").write_text("Three questions were asked, and all are answered. 完。", encoding="utf-8")
    done = run("compact", write("t.json", talk(3)), "--strategy", "reset", "--summary", "s.md", "--json")
    assert "all are answered. 完。" in json.loads(done.stdout)["messages"][0]["content"][1]["text"]


def test_a_strategy_of_ones_own_is_named_by_its_path(run: Run) -> None:
    own = ("--strategy", "tests.unit.by_hand:Oldest", "--option", "count=7")
    done = run("compact", write("t.json", talk(3)), "--json", *own)
    assert json.loads(done.stdout)["strategy"] == "oldest"
    assert json.loads(done.stdout)["messages"] == talk(3)[6:]


def test_one_line_of_the_log_says_what_was_removed_and_saved_and_debug_says_all(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_FORMAT", "json")
    write("t.json", talk(4))
    (line,) = run("compact", "t.json", "--json").stderr.splitlines()
    stats = compact_history(talk(4)).stats
    said = json.loads(line)
    assert (said["event"], said["level"]) == ("history_compacted", "info")
    assert (said["removed"], said["tokens_saved"]) == (stats["removed"], stats["tokensSaved"])
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    logged = [json.loads(line) for line in run("compact", "t.json", "--json").stderr.splitlines()]
    (debug,) = [line for line in logged if line["event"] == "compaction_statistics"]
    assert {name: debug[name] for name in stats} == stats


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--strategy", "magic"), "'magic' is not a strategy; there is: "),
        (("--strategy", "no_such_module:Mine"), "No module named"),
        (("--option", "keeps=1"), "has no option 'keeps'; it has: "),
        (("--option", "keepLastSegment=maybe"), "cannot be 'maybe'"),
        (("--option", "keepLastSegment"), "--option takes key=value"),
        (("--option", "min_segments_to_keep=-1"), "must not be negative"),
        (("--limit", "0"), "greater than or equal to 1"),
        (("--limit", "many"), "Input should be a valid integer"),
        (("--out", "-"), "--out takes a file"),
        (("--summary", "s.md", "--with-model"), "choose one"),
    ],
)
def test_a_usage_error_is_exit_code_2_and_nothing_on_standard_output(
    run: Run, words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setenv("TERMINAL_WIDTH", "1000")
    done = run("compact", write("t.json", talk(2)), "--json", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        (talk(2), ("--strategy", "reset"), "The strategy reset wants a summary of "),
        (talk(2), ("--strategy", "reset", "--summary", "empty.md"), "The summary that was given says nothing."),
        (talk(2), ("--summary", "missing.md"), "missing.md cannot be read: No such file or directory."),
        ([user("large " * 500)], ("--limit", "100"), "messages[0] (user) alone takes about"),
        (as_object(talk(2)), ("--limit", "20"), "the system prompt alone takes about"),
        ([{"role": "robot", "content": "x"}], (), "messages[0] has the role 'robot'"),
        ({"a": 1}, (), "t.json is no transcript"),
    ],
)
def test_what_goes_wrong_is_one_line_and_exit_code_1_and_out_is_not_written(
    run: Run, content: object, words: tuple[str, ...], sentence: str
) -> None:
    Path("empty.md").write_text("\n")
    done = run("compact", write("t.json", content), "--json", "--out", "o.json", *words)
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("palimpsest: ")
    assert sentence in line
    assert not Path("o.json").exists()


def test_nothing_to_do_is_said(run: Run) -> None:
    done = run("compact", write("t.json", []))
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-2:] == ["Compressed to 100 % of the original size.", "Nothing was changed."]


def test_the_list_of_what_changed_is_bounded_and_obeys_no_control_characters(run: Run) -> None:
    messages = [message for at in range(200) for message in (user("q"), assistant(f"\x1b[31m{at}", call(str(at))),
                {"role": "user", "content": [result(str(at))]}, assistant("done"))]  # fmt: skip
    done = run("compact", write("t.json", messages))
    assert len(done.stdout.splitlines()) == 10 + 61
    assert done.stdout.splitlines()[-1].startswith("= and ")
    assert "\x1b" not in done.stdout


def test_an_estimate_has_parts_that_add_up_to_its_total(run: Run) -> None:
    write("t.json", as_object(talk(3)))
    said = json.loads(run("estimate", "t.json", "--json").stdout)
    assert said["total"] == estimate_tokens(talk(3), system=SYSTEM, tools=TOOLS) == sum(said["parts"].values())
    assert list(said["parts"]) == ["system prompt", "tools", "user", "assistant", "tool calls", "tool results"]
    assert all(tokens > 0 for tokens in said["parts"].values())
    assert (said["model"], said["family"], said["messages"]) == (None, "newer", 18)


def test_the_model_of_an_estimate_is_that_of_the_option_or_of_the_file(run: Run) -> None:
    write("t.json", {**as_object(talk(3)), "model": "claude-3-opus"})
    said = json.loads(run("estimate", "t.json", "--json").stdout)
    assert (said["model"], said["family"]) == ("claude-3-opus", "older")
    assert said["total"] == estimate_tokens(talk(3), system=SYSTEM, tools=TOOLS, model="claude-3-opus")
    newer = json.loads(run("estimate", "t.json", "--json", "--model", "claude-sonnet-5").stdout)
    assert newer["family"] == "newer"
    assert newer["total"] > said["total"]


def test_people_read_an_estimate_as_a_table(run: Run) -> None:
    lines = run("estimate", write("t.json", talk(2))).stdout.splitlines()
    assert lines[0].split() == ["total", f"{estimate_tokens(talk(2)):,}"]
    assert len(lines) == 8
    assert lines[-1].startswith("12 messages, in tokens of the newest models")


def test_a_file_that_is_no_transcript_is_not_estimated(run: Run) -> None:
    done = run("estimate", write("t.json", [{"role": "user"}]), "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == ["palimpsest: messages[0] has no content: it is a text or a list of blocks."]


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(run: Run, tmp_path: Path) -> None:
    write("t.json", talk(40))
    before = Path("t.json").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        done = run("compact", "t.json", "--out", "t.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert done.exit_code == 1
    assert "t.json cannot be written: File too large." in done.stderr
    assert Path("t.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_a_link_to_the_output_stays_a_link_and_its_file_keeps_who_may_read_it(run: Run) -> None:
    write("t.json", talk(4))
    Path("real.json").write_text("")
    Path("real.json").chmod(0o600)
    Path("link.json").symlink_to("real.json")
    assert run("compact", "t.json", "--out", "link.json").exit_code == 0
    assert Path("link.json").is_symlink()
    assert Path("real.json").stat().st_mode & 0o777 == 0o600
    assert json.loads(Path("real.json").read_text()) == compact_history(talk(4)).messages


def test_a_strategy_of_ones_own_that_fails_is_told_in_one_line(run: Run) -> None:
    write("t.json", talk(4))
    done = run("compact", "t.json", "--strategy", "tests.fundamentals.compaction.own_strategy:Broken", "--limit", "50")
    assert done.exit_code == 1
    assert done.stderr == "palimpsest: The strategy broken failed: RuntimeError: no plan today.\n"


@pytest.mark.parametrize("has_an_end", [True, False])
async def test_a_summary_of_the_model_that_was_cut_off_is_asked_for_once_more(
    server: MessagesServer, tmp_path: Path, *, has_an_end: bool
) -> None:
    endless, good = "The key is KEY-4711, and nothing else is. " * 400, "The key is KEY-4711."
    server.brain = says(endless, good if has_an_end else endless)
    plan = Plan("reset", upto=2, floor=3, summarise=(1, 2))
    needs = NeedsSummary(plan, [Message(role="user", content="The key is KEY-4711. " * 50)], updates=False)
    asked = _written(settings_for(server, tmp_path), needs)
    if has_an_end:
        assert await asked == good
    else:
        with pytest.raises(NoSummary):
            await asked
    assert len(server.requests) == 2
