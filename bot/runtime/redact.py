"""Secrets out of what is written down: logs, traces, summaries, errors.

What looks like a key, a token or a password becomes ``[redacted]``; its name stays, so that a reader knows
what was there. Hashes, UUIDs and ordinary text stay. Every pattern is bounded or starts at a fixed word, so
that the time is linear in the text, and redacting twice changes nothing.

Pure: our own secrets come in as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

REDACTED = "[redacted]"

_SHORTEST_OWN = 6
"""Own secrets below this many characters are not searched for: they would blank out ordinary words."""

_PRIVATE_KEY = re.compile(
    r"(?P<keep>-----BEGIN (?P<kind>[A-Z ]{0,30}PRIVATE KEY)-----)[^-]{1,20000}"
    r"(?P<end>-----END (?P=kind)-----|\Z)"
)

_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,400}",  # Anthropic, OpenAI, OpenRouter
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{20,100})",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|\bxapp-[A-Za-z0-9-]{10,250}",  # Slack
        r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",  # AWS
        r"\bAIza[A-Za-z0-9_-]{35}",  # Google
        r"\bya29\.[A-Za-z0-9_-]{20,400}",
        r"\b(?:hf|r8|gsk|npm|xai|pplx|nvapi)[_-][A-Za-z0-9_-]{20,200}",  # Hugging Face and others
        r"\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,200}",  # Stripe
        r"\bpypi-[A-Za-z0-9_-]{32,400}",
        r"(?<![0-9A-Za-z])(?:bot(?=\d))?\d{6,12}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",  # Telegram
        # Discord
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",
        # JSON web tokens
        r"\beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}(?:\.[A-Za-z0-9_-]{0,2000})?",
    )
)

_WEBHOOK = re.compile(
    r"(?P<keep>discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{15,22}/|hooks\.slack\.com/services/)"
    r"[A-Za-z0-9_/-]{20,120}"
)
_URL_PASSWORD = re.compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\[\]]{0,80}:)[^\s/@]{1,200}(?=@)", re.IGNORECASE
)
_AUTHORIZATION = re.compile(
    r"(?P<keep>\b(?:bearer|basic|bot|token|authorization:)[ \t]{1,4})(?=[A-Za-z0-9._~+/=-]{0,400}[0-9])"
    r"[A-Za-z0-9._~+/-]{20,400}={0,2}",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"""
    (?P<keep>
        (?:pass(?:word|wd|phrase)|pwd
          |(?:api|access|secret|private|encryption|signing|auth|account)[_\ -]?key(?:[_-]?id)?
          |(?:client|app|webhook|shared)[_-]?secret|secret(?:[_-]?token)?
          |(?:access|auth|refresh|id|bearer|api|bot|session|csrf|telegram|discord|github|gitlab|slack
            |hf)[_-]?token
          |token|credentials?)
        ["']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}
    )
    (?:(?P<quote>["'`])(?P<quoted>[^"'`\r\n]{1,400})(?P=quote)|(?P<bare>[^\s"'`,;&<>(){}\[\]]{4,400}))
    """,
    re.IGNORECASE | re.VERBOSE,
)

_ALWAYS_SECRET = re.compile(r"pass|pwd", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"""
    (?:none|null|nil|undefined|true|false|str|string|int|bool|bytes|optional|required|missing|invalid
      |expired|redacted
      |unset|empty|default|changeme|example|placeholder|hidden|secret|password|token|text|yes|no|on|off
      |your[\w-]*|my[_-][\w-]*|\*+|x+|\.+|\d{1,8}|\$\w*|%\w+%?|<[^>]*>|\{\{?[^}]*\}\}?|\[redacted\]
      |os\.\w[\w.]*|self\.\w[\w.]*|process\.env\.\w+|settings\.\w[\w.]*|config\.\w[\w.]*)[.:!?]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMERIC_UNIT = re.compile(r"[\d.,]+[A-Za-z%]{0,3}")
_LIKELY = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])")
_SHORTEST_NAMED = 8


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` with ``[redacted]`` for every secret in it.

    ``secrets``: the values of our own, taken out wherever they stand, also inside longer words.
    """
    for secret in sorted({secret for secret in secrets if len(secret) >= _SHORTEST_OWN}, key=len, reverse=True):
        if secret not in REDACTED:
            text = text.replace(secret, REDACTED)
    text = _PRIVATE_KEY.sub(rf"\g<keep>{REDACTED}\g<end>", text)
    text = _URL_PASSWORD.sub(rf"\g<keep>{REDACTED}", text)
    text = _WEBHOOK.sub(rf"\g<keep>{REDACTED}", text)
    for shape in _SHAPES:
        text = shape.sub(REDACTED, text)
    text = _AUTHORIZATION.sub(rf"\g<keep>{REDACTED}", text)
    return _NAMED.sub(_without_value, text)


def _without_value(found: re.Match[str]) -> str:
    quote = found["quote"] or ""
    value = found["quoted"] if quote else found["bare"]
    if not _is_plausible(found["keep"], value, quoted=bool(quote)):
        return found[0]
    return f"{found['keep']}{quote}{REDACTED}{quote}"


def _is_plausible(name: str, value: str, *, quoted: bool) -> bool:
    """Whether a value that stands after such a name is a secret, and not prose, code, a number or a
    placeholder.
    """
    if REDACTED in value or _PLACEHOLDER.fullmatch(value) or _NUMERIC_UNIT.fullmatch(value):
        return False
    if _ALWAYS_SECRET.match(name):
        return quoted or bool(re.search(r"[^A-Za-z.]", value)) or "=" in name
    if len(value) < _SHORTEST_NAMED or " " in value:
        return False
    return bool(_LIKELY.match(value)) or len(value) >= 2 * _SHORTEST_NAMED
