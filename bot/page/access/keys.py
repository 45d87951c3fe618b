"""What opens the page: a password or a token, and what a browser holds after it gave one of them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import lru_cache

_SALT = b"palimpsest page"
_COST = 2**14


class Keys:
    """Made of the password and the token that the settings name; with neither, nobody can log in.

    What sessions are kept under depends on both: when one of them changes, all sessions end.
    """

    def __init__(self, password: str = "", token: str = "") -> None:
        self._password = password
        self._token = token
        self._key = _derived(f"{len(password)}:{password}{token}")

    @property
    def any(self) -> bool:
        """Whether there is a way to log in."""
        return bool(self._password or self._token)

    def log_in(self, given: str) -> bool:
        """Whether a browser may log in with this; it takes as long for every wrong one."""
        is_password, is_token = _same(given, self._password), _same(given, self._token)
        return is_password or is_token

    def is_token(self, given: str) -> bool:
        """Whether a script may pass with this."""
        return _same(given, self._token)

    def kept(self, session: str) -> str:
        """What the book keeps of a session."""
        return self._sealed("session", session)

    def csrf(self, session: str) -> str:
        """What each form of this session carries."""
        return self._sealed("csrf", session)

    def is_csrf(self, session: str, given: str) -> bool:
        """Whether a form of this session says this."""
        return hmac.compare_digest(self.csrf(session).encode(), given.encode())

    def _sealed(self, purpose: str, session: str) -> str:
        return hmac.new(self._key, f"{purpose}:{session}".encode(), "sha256").hexdigest()


@lru_cache(8)
def _derived(told: str) -> bytes:
    """Slow on purpose: whoever reads the book and holds one cookie could try passwords against it."""
    return hashlib.scrypt(told.encode(), salt=_SALT, n=_COST, r=8, p=1, dklen=32)


def new_session() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def _same(given: str, wanted: str) -> bool:
    one, other = (hashlib.sha256(text.encode(errors="replace")).digest() for text in (given, wanted))
    return hmac.compare_digest(one, other) and bool(wanted)
