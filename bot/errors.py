"""The errors of this program.

::

    PalimpsestError
    ├── ConfigurationError       a setting is wrong or missing; the text says what to do
    ├── StoreUnavailable         the database cannot be reached or written
    ├── BusUnavailable           Redis cannot be reached
    ├── NotReady                 this process does not do what it is there for just now
    ├── StaleEpoch               this host lost the agent: nothing more may be written for it
    ├── EmbeddingsUnavailable    texts cannot be embedded now; whoever wanted that goes on without
    ├── ModelError               the model did not answer
    │   ├── ModelRefused         key, permission, unknown model, bad request: trying again does not help
    │   ├── ModelOverflow        the context does not fit into the model's window
    │   └── ModelUnavailable     overloaded, rate limited, unreachable, after all retries
    └── DeliveryError            a platform did not take a message
        ├── DeliveryDelayed      ... for now; carries the seconds to wait
        ├── DeliveryUncertain    ... or perhaps it did: the answer never came
        ├── DeliverySuperseded   ... since another gateway delivers by now
        └── DeliveryRefused      ... for good
            └── ChatClosed       ... and nothing else in this chat either

Why a model did not answer is a :class:`Cause`, one word each: for `/readyz`, the metrics, the page and whoever is told
of it. What an answer of a provider means is decided here by its status, its type and its code, and by its words only
where providers have nothing else: https://docs.anthropic.com/en/api/errors answers 400 ("Your credit balance is too
low") to an account without credit, as to a request that is wrong. Words that are not known leave it at that. Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from http import HTTPStatus


class Cause(StrEnum):
    """What somebody has to look at."""

    KEY = "key"
    """The provider does not know our key."""
    FORBIDDEN = "forbidden"
    """It knows our key, and does not let it do this."""
    CREDIT = "credit"
    """Nothing is left to pay with, or what may be spent is."""
    MODEL = "model"
    """It has no such model."""
    BUSY = "busy"
    """It wants fewer calls: ours, or everybody's."""
    AWAY = "away"
    """It cannot be reached, breaks, or answers something that is no message."""
    REQUEST = "request"
    """It refuses what was sent."""
    TOO_LARGE = "too_large"
    """The context does not fit, and nothing makes it smaller."""
    STUCK = "stuck"
    """The model came to no end."""
    BUDGET = "budget"
    """What may be spent is."""
    BROKEN = "broken"
    """Something in this program broke."""

    @property
    def words(self) -> str:
        """For operators."""
        return _WORDS[self]


OF_PROVIDER = (Cause.KEY, Cause.FORBIDDEN, Cause.CREDIT, Cause.MODEL, Cause.BUSY, Cause.AWAY)
"""What every request to it meets, whatever is sent."""
OF_REQUEST = (*OF_PROVIDER, Cause.REQUEST, Cause.TOO_LARGE)
"""What one request can meet."""

_WORDS = {
    Cause.KEY: "wrong key",
    Cause.FORBIDDEN: "no permission",
    Cause.CREDIT: "no credit",
    Cause.MODEL: "unknown model",
    Cause.BUSY: "provider busy",
    Cause.AWAY: "provider away",
    Cause.REQUEST: "request refused",
    Cause.TOO_LARGE: "context too large",
    Cause.STUCK: "no end of it",
    Cause.BUDGET: "budget used up",
    Cause.BROKEN: "a defect",
}


class PalimpsestError(Exception):
    """Root of all."""


class StrategyFailed(PalimpsestError):
    """A strategy that is not ours failed; the text is one sentence for people."""


class ConfigurationError(PalimpsestError):
    """A setting is wrong or missing; the text is one sentence that says what to do."""


class StoreUnavailable(PalimpsestError):
    """The database cannot be reached or written, whatever it was given. ``may_pass``: there was no answer, or it is
    just starting or ending; else it said no. ``where``: words that say which database, after the reason."""

    def __init__(self, reason: str, *, may_pass: bool = False, where: str = "") -> None:
        super().__init__(f"{reason}{where}")
        self.reason = reason
        self.may_pass = may_pass


class BusUnavailable(PalimpsestError):
    """Redis cannot be reached."""


class NotReady(PalimpsestError):
    """This process does not do what it is there for just now; the text says why."""


class StaleEpoch(PalimpsestError):
    """Another host has this agent now: nothing more may be written for it here."""


class EmbeddingsUnavailable(PalimpsestError):
    """Texts cannot be embedded; the text is one sentence that says why."""


class ModelError(PalimpsestError):
    """The model did not answer; the text is one sentence for people. ``cause``: why, in a word."""

    cause = Cause.AWAY


class ModelRefused(ModelError):
    """Trying again does not help: a wrong key, no permission, an unknown model, a bad request.

    ``bare``: a bad request without a word why, which some gateways answer to a context that is too large.
    ``of_content``: what was sent is to blame, perhaps a picture, and not who sends it or to whom. ``advice``: what
    whoever runs it can do, with which the text ends; ``sentence``: the text without it.
    """

    def __init__(
        self,
        sentence: str,
        *,
        cause: Cause = Cause.REQUEST,
        bare: bool = False,
        of_content: bool = False,
        advice: str = "",
    ) -> None:
        super().__init__(f"{sentence} {advice}".strip())
        self.sentence = sentence
        self.advice = advice
        self.cause = cause
        self.bare = bare
        self.of_content = of_content


class ModelOverflow(ModelError):
    """The context does not fit into the model's window. ``asked``: its size in tokens, and ``window``: what would have
    fitted, where the provider said so."""

    cause = Cause.TOO_LARGE

    def __init__(self, message: str, *, asked: int | None = None, window: int | None = None) -> None:
        super().__init__(message)
        self.asked = asked
        self.window = window


class ModelUnavailable(ModelError):
    """Overloaded, rate limited or unreachable, after all retries. ``wait``: seconds for which the provider wants no
    calls; 0 where it does not say."""

    def __init__(self, message: str, *, cause: Cause = Cause.AWAY, wait: float = 0.0) -> None:
        super().__init__(message)
        self.cause = cause
        self.wait = wait


class DeliveryError(PalimpsestError):
    """A platform did not take a message."""


class DeliveryDelayed(DeliveryError):
    """Not now: try again after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeliveryUncertain(DeliveryError):
    """The answer never came: the platform may have taken the message or not."""


class DeliverySuperseded(DeliveryError):
    """Nothing was sent: another gateway delivers for this connector by now."""


class DeliveryRefused(DeliveryError):
    """Never: the chat is gone, the bot is blocked, the message is not acceptable."""


class ChatClosed(DeliveryRefused):
    """The bot is blocked, or was thrown out: nothing reaches this chat until the platform says otherwise."""


_OF_TYPE = {
    "authentication_error": Cause.KEY,
    "invalid_api_key": Cause.KEY,
    "invalid_authentication_error": Cause.KEY,
    "UNAUTHENTICATED": Cause.KEY,
    "permission_error": Cause.FORBIDDEN,
    "PERMISSION_DENIED": Cause.FORBIDDEN,
    "billing_error": Cause.CREDIT,
    "insufficient_quota": Cause.CREDIT,
    "billing_hard_limit_reached": Cause.CREDIT,
    "billing_not_active": Cause.CREDIT,
    "exceeded_current_quota_error": Cause.CREDIT,
    "not_found_error": Cause.MODEL,
    "model_not_found": Cause.MODEL,
    "model_decommissioned": Cause.MODEL,
    "invalid_model": Cause.MODEL,
    "model_not_available": Cause.MODEL,
    "DeploymentNotFound": Cause.MODEL,
    "rate_limit_error": Cause.BUSY,
    "rate_limit_exceeded": Cause.BUSY,
    "RESOURCE_EXHAUSTED": Cause.BUSY,
    "overloaded_error": Cause.BUSY,
    "engine_overloaded_error": Cause.BUSY,
    "service_tier_capacity_exceeded": Cause.BUSY,
    "UNAVAILABLE": Cause.BUSY,
}
"""Of Anthropic, OpenAI and Azure, Google, Groq, Mistral, and Moonshot."""
_OF_STATUS = {
    HTTPStatus.UNAUTHORIZED: Cause.KEY,
    HTTPStatus.PAYMENT_REQUIRED: Cause.CREDIT,
    HTTPStatus.FORBIDDEN: Cause.FORBIDDEN,
    HTTPStatus.NOT_FOUND: Cause.MODEL,
    HTTPStatus.TOO_MANY_REQUESTS: Cause.BUSY,
    529: Cause.BUSY,
}
_BILL = re.compile(
    r"credit balance|more credits|available credits|spending limit|specified (?:api )?usage limits"
    r"|insufficient[ _](?:credit|funds|balance|quota)",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"\b(?:incorrect|invalid) api[ _]key|api[ _]key (?:not valid|expired|not found)", re.IGNORECASE)
"""Google and xAI answer 400 to a wrong key, and name nothing but a bad request."""
_NO_MODEL = re.compile(r"\bmodel not exist|not a valid model id|^invalid model:", re.IGNORECASE)
"""So do DeepSeek, OpenRouter and Mistral to a model that they do not have."""
_FLAGGED = re.compile(r"requires moderation|\bflagged\b", re.IGNORECASE)
"""OpenRouter answers 403 to words that the provider behind it does not want to read."""


def cause_of(status: int, types: tuple[str, ...], said: str) -> Cause:
    """What an error means: an HTTP ``status`` (200 where it came in a stream), what its body names as ``types``, and
    what it says."""
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS) and _BILL.search(said):
        return Cause.CREDIT
    if Cause.CREDIT in (named := [_OF_TYPE[one] for one in types if one in _OF_TYPE]):
        return Cause.CREDIT
    if status == HTTPStatus.BAD_REQUEST and _BAD_KEY.search(said):
        return Cause.KEY
    if status == HTTPStatus.BAD_REQUEST and _NO_MODEL.search(said):
        return Cause.MODEL
    if status == HTTPStatus.FORBIDDEN and _FLAGGED.search(said):
        return Cause.REQUEST
    if found := _OF_STATUS.get(status):
        return found
    if named:
        return named[0]
    return Cause.AWAY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Cause.REQUEST
