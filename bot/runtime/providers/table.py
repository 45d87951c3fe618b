"""Who provides models, as data: providers.toml beside this module, read when it is first asked for. Pure.

What a field means is said here; where a value is from is said there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_EXAMPLES = {"azure": "https://my-resource.openai.azure.com"}
_DATA = Path(__file__).with_name("providers.toml")


class Wire(StrEnum):
    """How an endpoint is spoken to."""

    MESSAGES = "messages"
    """Anthropic's Messages API."""
    CHAT = "chat"
    """OpenAI's Chat Completions API."""


@dataclass(frozen=True)
class Quirks:
    """What a Chat Completions endpoint wants otherwise; the defaults are OpenAI's own."""

    answer_field: str = "max_completion_tokens"
    """The parameter for the longest answer; elsewhere ``max_tokens``."""
    reports_usage: bool = True
    """It takes ``stream_options={"include_usage": true}``. Where not, its last chunk has the usage by itself."""
    reasoning: str = ""
    """Where it says what the model reasoned: in the field ``reasoning_content``, ``reasoning``, or
    ``reasoning_details`` (a list) of a message, in ``extra_content`` of a call (Gemini's thought signatures), in
    ``thinking_chunks`` (content is a list, with chunks of type thinking); empty: nowhere."""
    reasoning_back: str = "never"
    """Whether it wants that back: ``never``; ``with_calls``: in the tool round that is open; ``calls_always``: with
    every message that has calls; ``always``."""
    reasoning_stand_in: str = ""
    """What stands there for a message with calls that somebody else wrote; empty: nothing has to."""
    call_ids: str = ""
    """A pattern that the ids of calls must match in whole; empty: any."""
    alternates: bool = False
    """It refuses a user's message right behind the result of a tool."""
    tool_choice_none: bool = True
    """It honours ``tool_choice="none"``; where not, tools are left out to get an answer without calls."""
    tells_cost: bool = False
    """``usage.cost`` of its answers is what it charges, in dollars."""
    images: bool = True
    documents: bool = False
    """It takes a PDF as a content part of type ``file``."""
    tool_pictures: bool = False
    """It takes pictures inside the result of a tool."""
    system_role: str = "system"
    effort_with_tools: str = ""
    """What ``reasoning_effort`` has to be where tools are offered, for models whose name begins like
    ``effort_models``."""
    effort_models: str = ""


@dataclass(frozen=True)
class Provider:
    """An endpoint, or a kind of server that one runs oneself."""

    name: str
    """What stands before the slash in ``MODEL=provider/model``."""
    title: str
    """For people."""
    wire: Wire
    keys: tuple[str, ...]
    """Environment variables of its key, the first is the one that sentences name."""
    base_setting: str
    """The environment variable that changes ``base_url``."""
    windows: str
    """How a model's window is learned, by `bot.model.providers.windows`: ``models`` (the Messages API's list), ``list``
    (a field of ``/models``), ``gemini``, ``openrouter``, ``ollama``, ``lmstudio``, ``llamacpp``, ``any`` (whichever of
    them answers), ``table`` (documentation)."""
    documentation: str
    """The page where its facts are to be checked."""
    base_url: str = ""
    """Empty where it has to be set."""
    path: str = ""
    """What is added to a base URL that was set as a bare host."""
    port: int = 0
    """What is added to a host that was set without one; 0: nothing."""
    needs_key: bool = True
    default_model: str = ""
    """Who answers where only its key is set; empty: there is no such model."""
    known_for: tuple[str, ...] = ()
    """What people call its models, where that is not what it is called itself; the first is shown beside its title."""
    key_begins: str = ""
    """How its keys begin, where nobody else's do."""
    get_key: str = ""
    """Where somebody gets a key."""
    key_header: str = ""
    """Where its key goes in place of ``Authorization``."""
    version_setting: str = ""
    """The environment variable of its API's version, if it has one."""
    other_wire: Wire | None = None
    """A second wire, for models whose names begin with ``other_models``, at ``other_base_url``."""
    other_base_url: str = ""
    other_models: str = ""
    without_tools: str = ""
    """A pattern of models that take no tools over this wire, or are not offered on it."""
    cuts_prompts: bool = False
    """It cuts a prompt that is too long, and says nothing."""
    quirks: Quirks = Quirks()

    @property
    def key(self) -> str:
        """The variable of its key that sentences name."""
        return self.keys[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """All that are read of it."""
        return tuple(name for name in (*self.keys, self.base_setting, self.version_setting) if name)

    @property
    def example(self) -> str:
        """An address of it, for sentences that say how one is written."""
        return self.base_url or _EXAMPLES.get(self.name, "http://127.0.0.1:8000/v1")

    def wire_of(self, model: str) -> Wire:
        """How this model of it is asked."""
        return self.other_wire if self.other_wire and model.startswith(self.other_models) else self.wire


@cache
def providers() -> Mapping[str, Provider]:
    """All, by name, in the order in which a bare model name looks for one."""
    import tomllib  # who only asks Anthropic never comes here

    data = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    return MappingProxyType({name: _provider(name, row) for name, row in data.items()})


def _provider(name: str, row: Mapping[str, Any]) -> Provider:
    given = dict(row)
    known = {field.name for field in fields(Provider)}
    if strange := set(given) - known:
        raise ValueError(f"providers.toml: {name} has {', '.join(sorted(strange))}")
    given["wire"] = Wire(given["wire"])
    given["keys"] = tuple(given["keys"])
    given["known_for"] = tuple(given.get("known_for", ()))
    if "other_wire" in given:
        given["other_wire"] = Wire(given["other_wire"])
    given["quirks"] = Quirks(**given.get("quirks", {}))
    return Provider(name=name, **given)
