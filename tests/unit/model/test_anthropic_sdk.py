"""Anthropic's SDK, of which what is used is imported: the same names, the same classes, and a real request."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.messages.server import MessagesServer, Reply

BY_NAME = "import bot.model.anthropic_sdk as sdk\n"
EVERY_NAME = """
import anthropic, anthropic.types, anthropic.resources, anthropic.lib.streaming, json, sys
def said(value):
    text = getattr(value, "__qualname__", None) or repr(value)
    return [type(value).__qualname__, text.partition(" object at ")[0][:200]]
print(json.dumps({
    package: {name: said(getattr(sys.modules[package], name)) for name in (
        getattr(sys.modules[package], "__all__", None) or sorted(dir(sys.modules[package]))
    ) if name[0] != "_" and name not in ("resources", "annotations")}
    for package in ("anthropic", "anthropic.types", "anthropic.resources", "anthropic.lib.streaming")
}))
"""
ASKS = """
import asyncio, sys
from bot.errors import ModelRefused
from bot.messages import Message, text_block
from bot.model import Head
from bot.model.anthropic import AnthropicModel
HEAD, hello = Head("claude-test", 500, "Be kind."), [Message(role="user", content=[text_block("hi")])]
async def main():
    model = AnthropicModel(api_key="test-key", base_url=sys.argv[1])
    reply = await model.ask(HEAD, hello)
    print(reply.blocks[0]["text"], await model.count(HEAD, hello), await model.limits("claude-test"))
    await model.close()
    other = AnthropicModel(api_key="no-key", base_url=sys.argv[1])
    try:
        await other.ask(HEAD, hello)
    except ModelRefused as error:
        import anthropic
        print(isinstance(error.__cause__, anthropic.AuthenticationError), anthropic.APIStatusError.__mro__[1].__name__)
    await other.close()
asyncio.run(main())
print(len([name for name in sys.modules if name.startswith("anthropic.")]))
"""
ANOTHER = """
class AnthropicError(Exception): ...
class APIError(AnthropicError): ...
class APIConnectionError(APIError): ...
class APIResponseValidationError(APIError): ...
class APIStatusError(APIError): ...
class NotFoundError(APIStatusError): ...
class AsyncAnthropic: ...
class DefaultAsyncHttpxClient: ...
class Timeout: ...
"""


def run(program: str, *arguments: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_LOG"}
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**clean, **environment})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_by_name_it_has_every_name_that_it_has_whole() -> None:
    whole, named = json.loads(run(EVERY_NAME)), json.loads(run(BY_NAME + EVERY_NAME))
    for package, names in whole.items():
        modules = {name for name, (kind, _) in names.items() if kind == "module"}
        expected = {name: said for name, said in names.items() if name not in modules}
        assert {name: named[package].get(name) for name in expected} == expected


@pytest.mark.parametrize("variable", ["", "info"])
async def test_a_request_over_http_imports_a_part_of_it_and_all_where_it_logs(variable: str) -> None:
    async with MessagesServer(brain=lambda _: Reply("Hello, you.")) as server:
        said = await asyncio.to_thread(run, ASKS, server.url, **({"ANTHROPIC_LOG": variable} if variable else {}))
    first, second, count = said.splitlines()
    assert first.startswith("Hello, you. ")
    assert "None" not in first
    assert second == "True APIError"
    assert (int(count) > 2_000) == bool(variable)


def test_one_that_is_laid_out_otherwise_is_imported_as_ever(tmp_path: Path) -> None:
    (tmp_path / "anthropic").mkdir()
    (tmp_path / "anthropic/__init__.py").write_text(ANOTHER)
    root = Path(__file__).parents[3]
    said = run(
        BY_NAME + "import anthropic\nprint(anthropic.__file__, sdk.AsyncAnthropic is anthropic.AsyncAnthropic)",
        PYTHONPATH=os.pathsep.join([str(tmp_path), str(root)]),
    )
    assert said.split() == [str(tmp_path / "anthropic/__init__.py"), "True"]
