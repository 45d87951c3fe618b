"""How it stands with an MCP server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Of one server."""

    STARTING = "starting"
    """It was not connected yet since it was named."""
    CONNECTED = "connected"
    """Its tools can be called."""
    FAILED = "failed"
    """It cannot be used now; unless `mcp.json` is wrong about it, it is tried again."""


@dataclass(frozen=True)
class ServerStatus:
    """For people. ``tools``: how many it offers; ``reason``: of a failure."""

    name: str
    state: State
    tools: int = 0
    reason: str = ""


class Lost(Exception):
    """A connection ended, or could not be made; the text says why, without a secret of `mcp.json`.

    For operators alone are ``last_words``, what a child process wrote last on its standard error, and ``hint``, a
    sentence that says more.
    """

    def __init__(self, why: str, last_words: str = "", hint: str = "") -> None:
        super().__init__(why)
        self.last_words = last_words
        self.hint = hint
