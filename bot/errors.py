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
"""

from __future__ import annotations

from bot.causes import Cause


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
    ``of_content``: what was sent is to blame, perhaps a picture, and not who sends it or to whom.
    """

    def __init__(
        self, message: str, *, cause: Cause = Cause.REQUEST, bare: bool = False, of_content: bool = False
    ) -> None:
        super().__init__(message)
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
    """Overloaded, rate limited or unreachable, after all retries."""

    def __init__(self, message: str, *, cause: Cause = Cause.AWAY) -> None:
        super().__init__(message)
        self.cause = cause


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
