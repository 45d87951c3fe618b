"""`palimpsest chat --prompt`: one message and its answer, for scripts; and the conversations that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ports import free_port
from tests.servers.chat.manners import OLLAMA
from tests.servers.messages.server import MessagesServer, Reply
from tests.servers.messages.wire import MessagesRequest
from tests.wire.program import Program, Programs

POEM = "An old silent pond\nA frog jumps into the pond\nSplash! Silence again."


async def _asks(programs: Programs, *words: str, given: str = "", **environment: str) -> Program:
    """`chat` with these words and this standard input, until it has ended."""
    program = await programs.start("chat", *words, **environment)
    if given:
        await program.says(given)
    await program.ends()
    return program


async def test_the_answer_alone_is_on_standard_output_and_standard_input_goes_along(
    programs: Programs, model: MessagesServer, tmp_path: Path
) -> None:
    picture = tmp_path / "sheet.txt"
    picture.write_text("The second sheet says 12.")
    model.brain = lambda _: Reply(POEM)
    asked = await _asks(
        programs, "-p", "What is\nin it?", "-a", str(picture), "-m", "claude-haiku-4-5", given="one\n@notes\ntwo"
    )
    assert (asked.process.returncode, asked.out) == (0, POEM.splitlines())
    request = model.requests[0].request
    assert request.body["model"] == "claude-haiku-4-5"
    for said in ("What is\nin it?", "stdin.txt", "one\n@notes\ntwo", "The second sheet says 12."):
        assert said in request.all_text

    model.brain = _how_many
    alone = await _asks(programs, "--prompt", "-", given="A line\nand another")
    assert alone.out == ["1 messages: A line", "and another"]
    again = await _asks(programs, "--continue", "-p", "And now?")
    assert again.out == ["3 messages: And now?"]
    new = await _asks(programs, "-p", "And now?")
    assert new.out == ["1 messages: And now?"], "each question has a conversation of its own"


def _how_many(request: MessagesRequest) -> Reply:
    return Reply(f"{len(request.messages)} messages: {request.last_user_text.strip()}")


async def test_a_file_that_a_prompt_names_is_not_sent_unasked_and_the_way_is_said(
    programs: Programs, model: MessagesServer, tmp_path: Path
) -> None:
    sheet = tmp_path / "my sheet.txt"
    sheet.write_text("The sheet says 12.")
    asked = await _asks(programs, "-p", f'What is in @"{sheet}", and who is @ada?')
    assert f"--attach '{sheet}'" in "\n".join(asked.err)
    assert "says 12" not in model.requests[0].request.all_text


async def test_without_an_answer_nothing_is_on_standard_output_and_the_exit_code_says_so(
    programs: Programs, tmp_path: Path
) -> None:
    refused = await _asks(programs, "-p", "Hello.", ANTHROPIC_API_KEY="wrong-key-of-the-tests")
    assert (refused.process.returncode, refused.out) == (1, [])
    assert "ANTHROPIC_API_KEY" in refused.err[-1]
    assert programs.book or not programs.data.exists(), "a folder that it made for this alone"
    nothing = await _asks(programs, "-p", "  ")
    assert (nothing.process.returncode, nothing.out) == (2, [])
    assert "There is nothing to say" in nothing.err[-1]
    absent = await _asks(programs, "-p", "Look.", "-a", str(tmp_path / "absent"))
    assert (absent.process.returncode, absent.out) == (2, [])
    assert "There is no file" in absent.err[-1]


async def test_where_nobody_listens_it_is_said_what_is_waited_for_and_for_how_long(programs: Programs) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    asked = await _asks(programs, "-p", "Hello.", MODEL="custom/a-model", CUSTOM_BASE_URL=nobody, MODEL_PATIENCE="14")
    assert (asked.process.returncode, asked.out) == (1, [])
    assert asked.err[0] == "⏳ Waiting for an answer of a-model; Ctrl-C ends it."
    assert asked.err[1].startswith(
        "⏳ The model does not answer just now; I keep trying for up to 14 s (MODEL_PATIENCE)."
    )
    assert "cannot be reached" in asked.err[-1]


async def test_whoever_runs_it_reads_why_another_model_answers(programs: Programs, model: MessagesServer) -> None:
    model.brain = lambda _: Reply("Hello.")
    chain = {"MODEL_FALLBACK": "custom/another", "CUSTOM_BASE_URL": f"{model.url}/v1", "CUSTOM_API_KEY": str(model.key)}
    asked = await _asks(programs, "-p", "Hello.", ANTHROPIC_API_KEY="wrong-key-of-the-tests", **chain)
    assert (asked.process.returncode, asked.out[0]) == (0, "Hello.")
    assert asked.out == ["Hello."], "a script reads the answer alone"
    assert asked.logged("is down. The model's server does not accept our key")
    assert asked.logged("Check ANTHROPIC_API_KEY")


async def test_whoever_runs_it_reads_once_that_ollama_cut_what_was_sent(
    programs: Programs, model: MessagesServer
) -> None:
    model.manner, model.window = OLLAMA, 32_000
    model.brain = lambda _: Reply("Noted.")
    asked = await programs.start("chat", MODEL="ollama/qwen3:8b", OLLAMA_HOST=model.url, OLLAMA_API_KEY=str(model.key))
    for name in ("first", "second", "third", "fourth", "fifth"):
        if name == "fourth":
            model.window = 6_500  # it was started anew, with less
        assert await asked.asks(f"The {name}: " + "one word after the other, as it comes. " * 250) == "Noted."
    await asked.ends()
    assert len(asked.logged("Ollama cut a prompt")) == 1
    assert asked.logged("OLLAMA_CONTEXT_LENGTH")


async def test_a_folder_that_was_there_stays_with_what_is_in_it_when_a_question_has_no_answer(
    programs: Programs,
) -> None:
    await programs.chat("The harbour code is 771-Q.", agent="work")
    refused = await _asks(programs, "-p", "Hello.", ANTHROPIC_API_KEY="wrong-key-of-the-tests")
    assert refused.process.returncode == 1
    assert "work" in (await _asks(programs, "--list")).out[0]


async def test_what_was_said_is_listed_gone_on_with_and_asked_by_a_command(programs: Programs) -> None:
    await programs.chat("The harbour code is 771-Q.", agent="work")
    await _asks(programs, "-p", "Hello.")
    listed = await _asks(programs, "--list")
    assert listed.out[0].startswith("work  just now  ")
    assert listed.out[0].endswith("The harbour code is 771-Q.")
    assert listed.out[1].startswith("And 1 of a single message (--prompt)")
    meter = await _asks(programs, "--agent", "work", "-p", "/context")
    assert meter.process.returncode == 0
    assert meter.out[0].startswith("Context: ")
    known = await _asks(programs, "--agent", "work", "-p", "What is the harbour code?")
    assert known.out == ["The harbour code is 771-Q."]


@pytest.mark.parametrize(
    "words",
    [("--agent", "x", "--continue"), ("--attach", "x"), ("--resume",), ("--agent", "No Name")],
)
async def test_what_cannot_be_meant_is_said(programs: Programs, words: tuple[str, ...]) -> None:
    called = await _asks(programs, *words)
    assert called.process.returncode in (1, 2)
    assert called.out == []
    assert called.err
