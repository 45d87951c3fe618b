"""What a process does not use, it does not load. No timing is measured here: this is what the timings and the memory in
docs/performance.md come from."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.connectors.browser import Browser
from tests.servers.messages.server import MessagesServer
from tests.until import until
from tests.wire.conftest import EXTERNAL
from tests.wire.program import PATIENCE, Program, Programs
from tests.wire.talk import Talk
from tests.wire.test_web_chat import url_of

pytestmark = pytest.mark.skipif(EXTERNAL, reason="what is loaded depends on the stores: these are the embedded ones")

MODULES = "modules.txt"
PROGRAM = f"""
import signal, sys
from pathlib import Path
from bot.app.cli.main import main

def write(*_):
    draft = Path("modules.new")
    draft.write_text(" ".join(sys.modules))
    draft.replace("{MODULES}")

signal.signal(signal.SIGUSR1, write)
main()
"""
"""The program, which writes the names of its modules down when it is asked to."""
COMMAND = (sys.executable, "-c", PROGRAM, "run")
NEVER = {"asyncpg", "discord", "jsonschema", "mcp", "openai", "opentelemetry.sdk", "PIL", "prompt_toolkit", "pypdf"}
NEVER |= {"sqlalchemy.orm", "wordllama", "xllamacpp"}
"""By somebody who asks Claude, has the stores that come with the program, and is sent no files."""


async def modules_of(programs: Programs, program: Program) -> set[str]:
    """What a process has loaded."""
    found = programs.folder / MODULES
    found.unlink(missing_ok=True)
    program.tell(signal.SIGUSR1)
    await until(found.is_file, seconds=PATIENCE)
    return set(found.read_text().split())


def loaded(program: Program) -> list[str]:
    """What it says of that, in this order."""
    return [json.loads(line)["what"] for line in program.logged('"event": "loaded"')]


async def test_whoever_is_on_telegram_loads_neither_the_page_nor_what_made_the_tables(
    telegram_programs: Programs, model: MessagesServer
) -> None:
    assert telegram_programs.telegram
    ada = Talk(telegram_programs.telegram, model, 1001)
    first = await telegram_programs.execute(COMMAND)
    assert await ada.asks("The colour is blue.")
    assert loaded(first) == ["platforms", "agents", "worker"]
    assert "alembic" in await modules_of(telegram_programs, first)
    await first.stop()

    again = await telegram_programs.execute(COMMAND)
    assert await ada.asks("What is the colour?")
    there = await modules_of(telegram_programs, again)
    assert there & (NEVER | {"alembic", "bot.page.routes", "jinja2"}) == set()
    assert there >= {"aiogram", "anthropic", "bot.agent.host"}
    await again.stop()


async def test_without_a_platform_nothing_of_one_is_loaded_and_the_page_when_somebody_looks(
    programs: Programs, model: MessagesServer
) -> None:
    program = await programs.execute(COMMAND)
    await program.wait_for(lambda it: it.logged("http_listens") and "worker" in loaded(it), PATIENCE)
    assert "bot.page.routes" not in await modules_of(programs, program)
    async with Browser(url_of(program)) as browser, browser.tab("me") as tab:
        assert await tab.asks("Hello")
    assert loaded(program) == ["platforms", "agents", "worker", "page"]
    assert await modules_of(programs, program) & (NEVER | {"aiogram"}) == set()
    await program.stop()
