"""What an error of a model's provider says: its own words, its type, and how long to wait."""

from __future__ import annotations

import re
from typing import Any


def said_in(error: Any) -> str:
    """One line of it."""
    lines = _without_markup((message_in(error) or str(error.message)).strip()).splitlines()
    return lines[0][:300] if lines else "no reason given"


def _without_markup(text: str) -> str:
    """Of a page that some proxy answers, its words."""
    if not text.startswith("<"):
        return text
    return " ".join(_TAG.sub(" ", _UNSEEN.sub(" ", text)).split())


_UNSEEN = re.compile(r"<!--.*?-->|<(script|style|head)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def message_in(error: Any) -> str:
    """What the body says, if it says anything."""
    if isinstance(error.body, str):
        return error.body.strip()
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    return str(inner.get("message") or "").strip() if isinstance(inner, dict) else str(inner).strip()


def type_in(error: Any) -> str:
    """What kind of error the body names; empty where it names none."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    return str(inner.get("type", "")) if isinstance(inner, dict) else ""


def types_in(error: Any) -> tuple[str, ...]:
    """All that the body names as its kind: some say it in ``type`` alone, some in ``code``."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    named = [inner.get("type"), inner.get("code")] if isinstance(inner, dict) else []
    return tuple(str(one) for one in named if one)


def retry_after(error: Any) -> float:
    """Seconds that the provider wants us to wait; 0 where it does not say."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0
