"""The tools of one agent, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.agent.tools.files import FILE_TOOLS
from bot.agent.tools.results import bounded, bounded_text
from bot.agent.tools.tool import Done, Occasion, OfServer, Sending, SometimesIdempotent, Tool, Writing, result_block
from bot.estimate.bounds import MOST_TOKENS
from bot.files.own_folder import Refused
from bot.files.parser_pool import Parser
from bot.messages import Block
from bot.store.inbox import Asker

if TYPE_CHECKING:
    from bot.agent.step import Step

_MOST_CHARACTERS = 8_000
_NOTE_CHARACTERS = 80
_FEWEST_TOKENS = 120
_NOTE_TOKENS = 40
"""What a tool may say of its own result, such as where more of it is."""


class Toolbox:
    """The tools of one agent, over its folder. ``parser`` opens the pictures that they come by."""

    def __init__(self, folder: Path, parser: Parser, tools: Sequence[Tool] = FILE_TOOLS) -> None:
        self._folder = folder
        self._parser = parser
        self._tools = {tool.name: tool for tool in tools}

    @property
    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """As the Messages API takes them."""
        return tuple(
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in self._tools.values()
        )

    def has(self, name: str) -> bool:
        """Whether the agent has this tool."""
        return name in self._tools

    def kind_of(self, name: str) -> str:
        """What a call is counted as: the name of a tool of ours, ``mcp:server`` for a server's, ``other`` for none."""
        tool = self._tools.get(name)
        if isinstance(tool, OfServer):
            return f"mcp:{tool.server}"
        return "other" if tool is None else name

    def may_run_again(self, call: Block) -> bool:
        """Whether a call that a crash cut off may be repeated."""
        tool = self._tools.get(call["name"])
        if isinstance(tool, SometimesIdempotent):
            return tool.may_repeat(_arguments(call))
        return tool is not None and tool.idempotent

    async def run(
        self,
        call: Block,
        *,
        most_characters: int = _MOST_CHARACTERS,
        most_tokens: int = MOST_TOKENS,
        by_admin: bool = False,
        asker: Asker | None = None,
    ) -> Done:
        """What a call comes to, in at most so many tokens. What goes wrong is told to the model, not raised."""
        characters = max(1, min(most_characters, _MOST_CHARACTERS) - _NOTE_CHARACTERS)
        most_tokens = max(_FEWEST_TOKENS, min(most_tokens, MOST_TOKENS))
        tool = self._tools.get(call["name"])
        if tool is None:
            return Done(result_block(call, f"There is no tool {call['name']!r}.", error=True))
        tokens = max(1, most_tokens - _NOTE_TOKENS)
        occasion = Occasion(self._folder, self._parser, characters, by_admin, tokens, asker)
        try:
            result = await tool.run(_arguments(call), occasion)
        except Refused as error:
            text = await asyncio.to_thread(bounded_text, self._folder, tool.name, str(error), most_tokens)
            return Done(result_block(call, text, error=True))
        except OSError as error:
            return Done(result_block(call, f"That cannot be done: {error.strerror or error}", error=True))
        if isinstance(result, Sending):
            return Done(result_block(call, result.text), result)
        if isinstance(result, Writing):
            return Done(result_block(call, ""), writing=partial(_written, call, result))
        content = await bounded(self._folder, self._parser, tool.name, result, most_tokens)
        return Done(result_block(call, content))


async def _written(call: Block, writing: Writing, step: Step) -> Block:
    try:
        return result_block(call, await writing.write(step))
    except Refused as error:
        return result_block(call, str(error), error=True)


def _arguments(call: Block) -> Mapping[str, Any]:
    return call["input"] if isinstance(call["input"], Mapping) else {}
