"""Why there was no answer, as one word each: for `/readyz`, the metrics, the page and whoever is told of it.

What an answer of a provider means is decided here by its status, its type and its code, and by its words only where
providers have nothing else: https://docs.anthropic.com/en/api/errors answers 400 ("Your credit balance is too low") to
an account without credit, as to a request that is wrong. Words that are not known leave it at that. Pure.
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
    Cause.BROKEN: "a defect",
}

_OF_TYPE = {
    "authentication_error": Cause.KEY,
    "invalid_api_key": Cause.KEY,
    "permission_error": Cause.FORBIDDEN,
    "billing_error": Cause.CREDIT,
    "insufficient_quota": Cause.CREDIT,
    "not_found_error": Cause.MODEL,
    "model_not_found": Cause.MODEL,
    "rate_limit_error": Cause.BUSY,
    "overloaded_error": Cause.BUSY,
}
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


def cause_of(status: int, types: tuple[str, ...], said: str) -> Cause:
    """What an error means: an HTTP ``status`` (200 where it came in a stream), what its body names as ``types``, and
    what it says."""
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS) and _BILL.search(said):
        return Cause.CREDIT
    if Cause.CREDIT in (named := [_OF_TYPE[one] for one in types if one in _OF_TYPE]):
        return Cause.CREDIT
    if found := _OF_STATUS.get(status):
        return found
    if named:
        return named[0]
    return Cause.AWAY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Cause.REQUEST
