"""A model as everybody sees it, whoever provides it: what it is asked, what it answers, what is known of it.

:class:`Model` is the seam. :mod:`bot.model.anthropic` has it on the Messages API, :mod:`bot.model.scripted` is the one
for tests. Errors are those of :mod:`bot.errors`: an adapter translates its provider's where they enter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.errors import Cause
from bot.history import Usage
from bot.messages import Block, Message
from bot.model.cache_marks import Life

CUT_OFF = "max_tokens"
"""The stop reason of an answer that was to be longer."""
DEFAULT_WINDOW = 200_000
DEFAULT_ANSWER = 8_192
MEDIA = frozenset({"image", "document"})
"""The types of blocks that show a model what is no text."""


@dataclass(frozen=True)
class Head:
    """What stands before the messages of a request. Equal heads share a prompt cache, so they are kept by hash."""

    model: str
    max_tokens: int
    system: str
    tools: tuple[Mapping[str, Any], ...] = ()
    standing: str = ""
    """Behind the system prompt, and apart from it: it changes where that does not, which stays in the cache."""

    @property
    def prompt(self) -> str:
        """The system prompt and what stands behind it, as one text."""
        return "\n\n".join(part for part in (self.system, self.standing) if part)

    def as_json(self) -> dict[str, Any]:
        """For the book."""
        plain = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "system": self.system,
            "tools": [dict(tool) for tool in self.tools],
        }
        return {**plain, "standing": self.standing} if self.standing else plain

    @classmethod
    def from_json(cls, data: Any) -> Head:
        """Back from the book."""
        return cls(data["model"], data["max_tokens"], data["system"], tuple(data["tools"]), data.get("standing", ""))

    @property
    def digest(self) -> str:
        """Names this head."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """What the model answered: content blocks of the Messages API; tokens in ``usage``, those from a cache apart.

    ``stop_reason``: in the words of the Messages API, whatever the wire. ``end_turn``, ``tool_use``, ``max_tokens``
    (:data:`CUT_OFF`), ``refusal`` and ``pause_turn`` are told apart.
    """

    blocks: tuple[Block, ...]
    usage: Usage
    stop_reason: str
    model: str = field(default="", compare=False)
    """What the provider calls who answered; empty where it does not say."""
    broken: frozenset[str] = frozenset()
    """The calls, by their ids, whose arguments are no whole JSON object: as a rule the answer ended in them. What is
    there of those arguments is shown, and not to be acted on."""


@dataclass
class Attempt:
    """One try of a request, and what is known of what it costs: an adapter fills it in while the answer comes.

    ``is_taken``: the provider began to answer, or nobody waited for that any longer, so that it is to be paid; what it
    refused is not. ``is_whole``: the answer came to its end, and all figures are the provider's.
    """

    model: str
    provider: str = ""
    is_taken: bool = False
    is_whole: bool = False
    usage: Usage = field(default_factory=Usage)
    """As far as the provider has told."""
    received: str = ""
    """What came of an answer that was cut off."""
    request: str = ""
    """The provider's id of it."""
    nano: int | None = None
    """What it cost in nano-dollars, where the provider said so."""


class Payer(Protocol):
    """Who pays for one request: is asked before each try of it, and told what became of it."""

    async def begins(self) -> bool:
        """A try is about to be sent. False: not before :meth:`until_it_may` has returned. Raises what says that none
        may be sent any more."""

    async def until_it_may(self) -> None:
        """Wait for what is in the way, while others may ask."""

    def spent(self, attempt: Attempt) -> None:
        """This try is over, and to be paid, whatever became of it."""

    async def failed(self) -> None:
        """The try came to nothing; some time passes before the next one, if there is one. It was told of before, where
        it is to be paid."""


@dataclass(frozen=True)
class Limits:
    """A model's window and its longest answer, in tokens. ``known``: the provider said so."""

    window: int = DEFAULT_WINDOW
    answer: int = DEFAULT_ANSWER
    known: bool = False
    refusal: str = field(default="", compare=False)
    """The words of the refusal that the window was learned from; empty where none was."""
    listed: int = field(default=0, compare=False)
    """The window that the provider lists; 0 where it lists none."""


@dataclass(frozen=True)
class Wait:
    """Why a call is not made yet: so many others have to end before it begins, and the provider wants nothing for so
    many seconds."""

    before: int
    pause: float = 0.0


@dataclass(frozen=True)
class Load:
    """The calls of this process: those that are being made, those that wait in line, and for how many seconds the
    provider wants none."""

    in_flight: int = 0
    waiting: int = 0
    pause: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """What requests to a model meet. ``since``: of the first that met it, and ``last``: of the latest, in seconds since
    1970."""

    model: str
    cause: Cause
    sentence: str
    since: float
    last: float
    tries: int = 1


@dataclass(frozen=True)
class SettingNames:
    """What those who run the program call the parts of an endpoint, for sentences that tell them what to check."""

    key: str
    base: str
    model: str = "MODEL"
    has_key: bool = True
    """Whether one is set: a server of one's own often wants none."""


class Model(Protocol):
    """A client of one endpoint; which of its models is asked is said with each request."""

    @property
    def place(self) -> str:
        """What its endpoint is called in the book."""

    @property
    def provider(self) -> str:
        """Whose endpoint it is, as prices know it."""

    @property
    def load(self) -> Load:
        """Its calls just now."""

    @property
    def troubles(self) -> Sequence[Trouble]:
        """Why there is no answer: what requests met that no answer has shown to be over, one a model at most."""

    async def ask(
        self,
        head: Head,
        messages: Sequence[Message],
        on_text: Callable[[str], None] | None = None,
        *,
        may_call: bool = True,
        who: str = "",
        on_wait: Callable[[Wait], None] | None = None,
        patience: float | None = None,
        payer: Payer | None = None,
    ) -> Reply:
        """One request, streamed; ``on_text`` gets the whole text so far, and an empty text when a try starts again.

        ``may_call=False``: it is to answer without tools. ``who``: the agent that somebody waits for (empty: a summary,
        which comes after those); ``on_wait`` is told how it stands in the line. ``patience``: seconds after which no
        other try begins, since somebody else could be asked; None: as often as it helps. ``payer`` is asked
        before each try. Cancelling closes the stream, or leaves the line. Raises ModelOverflow, ModelRefused, what the
        payer raises, and ModelUnavailable after all tries.
        """

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """The input tokens of a request as the provider counts them; None where it does not tell, or not soon."""

    async def limits(self, model: str) -> Limits:
        """The window and the longest answer of a model; defaults where the endpoint does not know. A smaller window
        that a refusal of it stated counts more than what is listed."""

    async def look_up(self, model: str) -> int | None:
        """The window that the endpoint states, or 0; None where it knows no such model. Raises a ModelError."""

    async def names(self) -> Sequence[str]:
        """The models that the endpoint lists, sorted; empty where it lists none, or not soon."""

    async def close(self) -> None:
        """Let go of connections."""


@dataclass(frozen=True)
class Link:
    """One member of a chain of models: who is asked, by which name of it, and what people read it is called. Each has
    a client of its own, also at the same endpoint: what it makes one of them wait for is none of the other's.

    ``title``: "OpenAI gpt-5.2"; empty where the name says enough. ``is_by_anthropic``: by Anthropic itself, and by
    nobody who speaks like them: only there do requests with tools get a prompt besides ours. ``is_local``: it is the
    one that comes with the program. ``prompt``: the system prompt that it can follow, in the place of ours;
    ``uses_tools``: whether it is offered any; ``introduction``: what people read once, below its first answer;
    ``remembers``: for how long its requests ask the provider to keep them, where they do ask; ``takes``: of the blocks
    that are no text, the types that its server is sent.
    """

    model: Model
    name: str
    title: str = ""
    is_by_anthropic: bool = False
    prompt: str = ""
    uses_tools: bool = True
    introduction: str = ""
    is_local: bool = False
    remembers: Life | None = None
    takes: frozenset[str] = MEDIA

    @property
    def called(self) -> str:
        """For people."""
        return self.title or self.name

    @property
    def described(self) -> str:
        """With whose it is, for those who ask."""
        if self.is_local:
            return f"{self.name} (local)"
        if self.title:
            return self.title
        return f"Anthropic {self.name}" if self.is_by_anthropic else f"{self.name} (at an endpoint of its own)"
