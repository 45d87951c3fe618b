"""What a tool is, and what a call of one comes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from bot.estimate.bounds import MOST_TOKENS
from bot.files.own_folder import Refused
from bot.files.parser_pool import Parser
from bot.messages import Block, OutFile
from bot.store.inbox import Asker

if TYPE_CHECKING:
    from bot.agent.step import Step

INTERRUPTED = "[interrupted: the program stopped while this tool ran; it may have run]"
NOT_WHOLE = (
    "[not run: your answer ended before the arguments of this call were a whole JSON object. An answer can only be so"
    " long: do it in smaller parts.]"
)


@dataclass(frozen=True)
class Occasion:
    """Where and for whom a call happens: the agent's own folder, what opens files, how many characters and tokens its
    result may have (a longer one is shown in part and kept whole in a file), and whether everybody who is answered in
    this turn is an admin.
    """

    folder: Path
    parser: Parser
    characters: int
    by_admin: bool = False
    tokens: int = MOST_TOKENS
    asker: Asker | None = None
    """For whom it is; of several people one who may do no more than the others."""


@dataclass(frozen=True)
class Sending:
    """A result that lets people have a file: it is sent when the result is written down, so exactly once."""

    text: str
    file: OutFile
    caption: str = ""


@dataclass(frozen=True)
class Writing:
    """A result that changes the book: in the step that writes it down, so exactly once. ``write`` returns the text for
    the model; where it raises ToolError, before it has written anything, that is the result."""

    write: Callable[[Step], Awaitable[str]]


class Tool(Protocol):
    """Something a model can call."""

    @property
    def name(self) -> str:
        """As the model calls it."""

    @property
    def description(self) -> str:
        """What it is for, for the model."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A JSON schema of its arguments."""

    @property
    def idempotent(self) -> bool:
        """Whether it may be run again when a crash cut it off."""

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str | Sequence[Block] | Sending | Writing:
        """The result as text, or as blocks where it has pictures. Raises ToolError with a sentence for the model."""


@runtime_checkable
class SometimesIdempotent(Tool, Protocol):
    """A tool of which it depends on the arguments whether a call may be run again; its ``idempotent`` is False."""

    def may_repeat(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these may."""


@runtime_checkable
class OfServer(Tool, Protocol):
    """A tool that an MCP server offers."""

    @property
    def server(self) -> str:
        """As the operator named it."""


@dataclass(frozen=True)
class Done:
    """What a call came to: the block for the model, and what goes to people with it."""

    block: Block
    sending: Sending | None = None
    writing: Callable[[Step], Awaitable[Block]] | None = None
    """Gives the block, and writes what belongs to it."""


class ToolError(Refused):
    """What the model did wrong, or what went wrong, in a sentence for the model."""


def schema(required: Sequence[str], **properties: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """A JSON schema of an object: each property by its type, or by a schema of its own."""
    return {
        "type": "object",
        "properties": {
            name: {"type": kind} if isinstance(kind, str) else dict(kind) for name, kind in properties.items()
        },
        "required": list(required),
    }


def result_block(call: Block, text: str | Sequence[Block], *, error: bool = False) -> Block:
    """The answer to a call."""
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": text if isinstance(text, str) else list(text),
    }
    return {**block, "is_error": True} if error else block
