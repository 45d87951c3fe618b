"""What crosses the bus, and the one place where it is made into bytes and read again.

Topics that ring (:class:`Rings`), what is gone in a moment (:data:`LiveEvent`), and jobs (:class:`SummaryJob`); leases
carry nothing. A channel, or the queue, may bring anything: another program's words, those of a newer version of this
one. What is not one of these messages raises :class:`Garbage`; fields that are not known here are left out.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, ValidationError

from bot.bus.topics import Topic, topic_in
from bot.messages import Address

MOST_BYTES = 4_000_000
"""A reply is far shorter, and so are all topics that ring at once."""
_LONGEST_NAME = 200
_LONGEST_JOB = 1_000
_NEVER_MS = 10**14


class Garbage(ValueError):
    """It is no message of ours; the text says why, and nothing of what it held."""


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and text.isprintable()


def _plausible(address: Address) -> Address:
    if not (address.connector and address.chat and all(map(_is_name, asdict(address).values()))):
        raise ValueError("no address")
    return address


_Place: TypeAlias = Annotated[Address, AfterValidator(_plausible)]
_Slot: TypeAlias = Annotated[int, Field(ge=1, lt=2**63)]
_Short: TypeAlias = Annotated[str, StringConstraints(max_length=_LONGEST_NAME)]


@dataclass(frozen=True)
class MeterFacts:
    """How full a context is, as it is shown apart from the talk."""

    total: int
    limit: int
    share: float
    level: Literal["ok", "warning", "critical"]
    source: str = ""
    model: str = ""
    strategy: str = ""
    answers: int = 1
    """To how many messages the answer is that is under way, or was given last."""
    limit_is_known: bool = True
    """Or it rests on a window that nobody has said yet."""


@dataclass(frozen=True)
class Written:
    """So much of the reply in this slot, which is one of this conversation, is written."""

    address: _Place
    slot: _Slot
    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class AtWork:
    """Whether its agent is at work."""

    address: _Place
    on: bool
    kind: Literal["typing"] = "typing"


@dataclass(frozen=True)
class Measured:
    """How full its context is."""

    address: _Place
    facts: MeterFacts
    kind: Literal["status"] = "status"


@dataclass(frozen=True)
class Marked:
    """A mark on a person's message, or none any more (no emoji)."""

    address: _Place
    ref: _Short
    emoji: _Short
    kind: Literal["react"] = "react"


LiveEvent: TypeAlias = Written | AtWork | Measured | Marked
"""What is gone in a moment. The ``kind`` is what tells them apart on the way."""
_EVENTS: TypeAdapter[LiveEvent] = TypeAdapter(Annotated[LiveEvent, Field(discriminator="kind")])


@dataclass(frozen=True)
class Rings:
    """Topics that rang in the process of this name."""

    origin: str
    topics: tuple[Topic, ...]


SUMMARIZE = "summarize"
"""The one kind of job there is, as it is called in the queue."""


@dataclass(frozen=True)
class SummaryJob:
    """A job: the summary of this run is to be written. ``tries`` is arq's, and so is when it was asked for (in ms since
    1970)."""

    run_id: str
    tries: int | None
    asked_at_ms: int


@dataclass(frozen=True)
class _QueuedJob:
    """The same as arq has it in the queue: function, arguments, options, tries, and when it was asked for."""

    f: Literal["summarize"]
    a: tuple[Annotated[str, StringConstraints(pattern="^[0-9a-z-]{1,40}$")]]
    k: Annotated[dict[str, str], Field(max_length=0)]
    t: int | None
    et: Annotated[int, Field(ge=0, lt=_NEVER_MS)]


_JOB = TypeAdapter(_QueuedJob)


def encode_event(event: LiveEvent) -> bytes:
    """As :func:`decode_event` reads it. A character that a model broke in two is shown as a question mark."""
    return json.dumps(asdict(event), ensure_ascii=False).encode(errors="replace")


def decode_event(data: object) -> LiveEvent:
    """Raises Garbage."""
    try:
        return _EVENTS.validate_json(_bounded(data), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"][:3])
        raise Garbage(f"{first['type']} at {place}" if place else first["type"]) from None


def encode_rings(rings: Rings) -> bytes:
    """As :func:`decode_rings` reads them."""
    return f"{rings.origin} {chr(10).join(rings.topics)}".encode()


def decode_rings(data: object) -> Rings:
    """Raises Garbage. Topics that cannot be one are left out where others can."""
    try:
        origin, space, rest = _bounded(data).decode().partition(" ")
    except UnicodeDecodeError:
        raise Garbage("no UTF-8") from None
    topics = tuple(topic for text in rest.split("\n") if (topic := topic_in(text)))
    if not (space and origin.isalnum() and topics):
        raise Garbage("no rings")
    return Rings(origin, topics)


def decode_job(data: bytes) -> SummaryJob:
    """As :func:`bot.bus.jobs.pack` wrote it down. Raises Garbage."""
    if len(data) > _LONGEST_JOB:
        raise Garbage("its job is too long")
    try:
        job = _JOB.validate_json(data)
    except ValidationError as error:
        raise Garbage(f"its job is of another shape ({error.errors(include_input=False)[0]['type']})") from None
    return SummaryJob(job.a[0], job.t, job.et)


def _bounded(data: object) -> bytes:
    if not isinstance(data, bytes):
        raise Garbage("no bytes")
    if len(data) > MOST_BYTES:
        raise Garbage("too long")
    return data
