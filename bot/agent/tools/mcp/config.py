"""`mcp.json`: which MCP servers there are, and who may use them (FEATURES S10).

The usual shape, with keys of ours beside it::

    {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"], "idempotent": ["get_current_time"]}}}

``${NAME}`` and ``${NAME:-default}`` in ``args``, ``env``, ``url`` and ``headers`` are taken from the environment and
`.env`. A server with a mistake is left out with a sentence about it; the others are used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bot.errors import ConfigurationError
from bot.messages import AgentId

FILE = "mcp.json"
Transport = Literal["stdio", "http", "sse"]
CALL_SECONDS = 60.0
_MOST_SECONDS = 3600.0
_MOST_BYTES = 1_000_000
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
_HTTP_NAMES = {"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}


@dataclass(frozen=True)
class ServerConfig:
    """One server. ``timeout``: seconds that a call may take. ``allow``: the only tools that are offered, None: all."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = CALL_SECONDS
    idempotent: frozenset[str] = frozenset()
    trust_annotations: bool = False
    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    agents: tuple[str, ...] = ()
    admins_only: bool = False
    filled_in: frozenset[str] = frozenset()
    """The values of variables that were named."""

    def offers(self, tool: str) -> bool:
        """Whether a tool of this name may be offered."""
        return tool not in self.deny and (self.allow is None or tool in self.allow)

    def serves(self, agent_id: AgentId) -> bool:
        """Whether this conversation may use the server."""
        return not self.agents or any(fnmatchcase(agent_id, pattern) for pattern in self.agents)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be in no sentence about it: what it is given in private, and what a URL may carry."""
        place = urlsplit(self.url)
        private = (value for name, value in self.env.items() if name != "PATH")
        held = (*self.filled_in, *private, *self.headers.values(), place.password, place.query)
        return tuple(value for value in held if value)


@dataclass(frozen=True)
class McpConfig:
    """What the file says: the servers by name, and the names with a mistake, each with a sentence."""

    servers: Mapping[str, ServerConfig] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def config_path(data_dir: Path, chosen: Path | None) -> Path:
    """Where the file is: where MCP_CONFIG says, else in DATA_DIR."""
    return chosen or data_dir / FILE


def read_config(path: Path, variables: Mapping[str, str], *, required: bool = False) -> McpConfig:
    """What the file says; nothing, where there is none. ``required``: it was named, so it has to be there.

    Raises ConfigurationError when the file as a whole cannot be understood.
    """
    if path.exists() and not path.is_file():  # a pipe would never end
        raise ConfigurationError(f"{path} cannot be read: it is not a file.")
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        if required:
            raise ConfigurationError(f"MCP_CONFIG={path}: there is no such file.") from None
        return McpConfig()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(data) > _MOST_BYTES:
        raise ConfigurationError(f"{path} has more than {_MOST_BYTES:,} bytes.")
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{path} is no JSON: {error.msg} in line {error.lineno}.") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no JSON.") from error
    entries = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise ConfigurationError(f'{path} has no object "mcpServers".')
    return _understood(entries, variables)


def _understood(entries: Mapping[str, object], variables: Mapping[str, str]) -> McpConfig:
    servers: dict[str, ServerConfig] = {}
    problems: dict[str, str] = {}
    for written, given in sorted(entries.items()):
        name = "".join(letter if letter.isprintable() else "?" for letter in written)  # it is shown to people
        try:
            if not isinstance(given, dict):
                raise ValueError("it is no object.")  # noqa: TRY301, TRY004  # one way out for what is wrong with a server
            entry = _Entry.model_validate(given)
            if not entry.disabled:
                servers[name] = entry.server(name, variables)
        except ValidationError as error:
            problems[name] = "; ".join(_explain(item) for item in error.errors()[:3])
        except ValueError as error:
            problems[name] = str(error)
    return McpConfig(servers, problems)


class _Entry(BaseModel):
    """A server as it is written. What other programs write beside it is passed over."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    type: str | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    disabled: bool = False
    timeout: float = Field(default=CALL_SECONDS, gt=0, le=_MOST_SECONDS, strict=False)
    idempotent: list[str] = Field(default_factory=list)
    trust_annotations: bool = False
    allow: list[str] | None = None
    deny: list[str] = Field(default_factory=list)
    agents: list[str] = Field(default_factory=list)
    admins_only: bool = False

    @field_validator("env", mode="before")
    @classmethod
    def _as_texts(cls, value: object) -> object:
        """A port is often written as a number."""
        if not isinstance(value, dict):
            return value
        numbers = {name: str(item) for name, item in value.items() if type(item) in (int, float)}
        return {**value, **numbers}

    def server(self, name: str, variables: Mapping[str, str]) -> ServerConfig:
        """What it says, with the variables filled in. Raises ValueError with a sentence."""
        if not name.strip():
            raise ValueError("a server needs a name.")
        transport = self._transport()
        filling = _Filling(variables)
        url = filling.fill(self.url or "")
        if transport != "stdio" and urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("its url begins with http:// or https://.")
        return ServerConfig(
            name=name,
            transport=transport,
            command=self.command or "",
            args=tuple(filling.fill(item) for item in self.args),
            env={key: filling.fill(value) for key, value in self.env.items()},
            cwd=self.cwd,
            url=url,
            headers={key: filling.fill(value) for key, value in self.headers.items()},
            timeout=self.timeout,
            idempotent=frozenset(self.idempotent),
            trust_annotations=self.trust_annotations,
            allow=None if self.allow is None else frozenset(self.allow),
            deny=frozenset(self.deny),
            agents=tuple(self.agents),
            admins_only=self.admins_only,
            filled_in=frozenset(filling.values),
        )

    def _transport(self) -> Transport:
        if self.command and self.url:
            raise ValueError("it has a command and a url; one of them is enough.")
        if self.type in (None, "stdio") and self.command:
            return "stdio"
        if self.type is None and self.url:
            return "http"
        if self.url and self.type == "sse":
            return "sse"
        if self.url and self.type in _HTTP_NAMES:
            return "http"
        if self.type not in (None, "stdio", "sse", *_HTTP_NAMES):
            raise ValueError(f"type {str(self.type)[:40]!r} is none of stdio, http and sse.")
        raise ValueError("it needs a command, or a url.")


class _Filling:
    """Puts variables in, and remembers their values."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.values: list[str] = []

    def fill(self, text: str) -> str:
        """Raises ValueError for a variable that is not set."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        if given := self._variables.get(found["name"]):
            self.values.append(given)
            return given
        if found["default"] is None:
            raise ValueError(f"{found['name']} is not set.")
        return found["default"]


def _explain(item: object) -> str:
    assert isinstance(item, dict)
    place: Sequence[object] = item["loc"]
    return f"{'.'.join(str(part) for part in place) or 'it'}: {item['msg']}"
