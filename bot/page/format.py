"""Numbers, times and names as people read them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from bot.estimate import meter

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_THOUSAND, _MILLION = 1_000, 1_000_000
_TEN = 10
_BREAKS = "\n\t"
_UNKNOWN, _TURNS = "\ufffd", "\u25c7"
_SIGNS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in _BREAKS} | {0x7F: "\u2421"}
_SIGNS |= dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), _UNKNOWN)
# What turns the text around that stands after it, and what ends that.
_SIGNS |= dict.fromkeys((0x202A, 0x202B, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068), _TURNS)
_SIGNS |= dict.fromkeys((0x202C, 0x2069), "")


def visible(text: str) -> str:
    """Without what a reader does not see, or a browser might obey: control characters become signs."""
    return text if text.isprintable() else text.translate(_SIGNS)


def count(number: float) -> str:
    """``12,345``."""
    return f"{number:,.0f}"


def short(number: float) -> str:
    """``950``, ``12.3k``, ``1.2M``."""
    for size, letter in ((_MILLION, "M"), (_THOUSAND, "k")):
        if abs(number) >= size:
            return f"{number / size:.1f}{letter}".replace(f".0{letter}", letter)
    return f"{number:.0f}"


def bytes_(number: int) -> str:
    """``950 B``, ``12 kB``, ``1.2 MB``."""
    if number < _THOUSAND:
        return f"{number} B"
    return f"{number / _MILLION:.1f} MB" if number >= _MILLION else f"{number / _THOUSAND:.0f} kB"


def percent(share: float) -> str:
    """``73 %``, as the meter rounds, with a narrow space that does not break."""
    return meter.percent(share).replace("%", "\u202f%")


def duration(seconds: float | None) -> str:
    """``850 ms``, ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{max(0.0, seconds) * _THOUSAND:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s" if seconds < _TEN else f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
    return f"{seconds // _DAY:.0f} d {seconds % _DAY // _HOUR:.0f} h"


def ago(at: float, now: float) -> str:
    """``just now``, ``4 min ago``, ``3 d ago``."""
    passed = now - at
    if passed < _TEN:
        return "just now"
    for size, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if passed >= size:
            return f"{passed // size:.0f} {name} ago"
    return f"{passed:.0f} s ago"


def when(at: float | None) -> Markup | str:
    """A moment in UTC, as machines read it too."""
    if at is None:
        return "–"
    moment = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}">{}</time>').format(  # `format` escapes
        moment.isoformat(timespec="seconds"), moment.strftime("%Y-%m-%d %H:%M:%S")
    )


def day(at: float) -> str:
    """The day in UTC, ``2026-11-21``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def dollars(amount: float | None) -> str:
    """``$0.0123``; ``not known`` where a price is not."""
    return "not known" if amount is None else f"${amount:,.4f}" if amount < 1 else f"${amount:,.2f}"


def plural(number: int, one: str, many: str = "") -> str:
    """``1 message``, ``5 messages``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


TRIGGERS: Mapping[str, str] = {
    "ahead": "ahead of time",
    "auto": "before an answer",
    "manual": "asked for",
    "recovery": "after a refusal",
    "rolling": "running summary",
    "facts": "facts by the model",
}
"""Why a compaction ran, by its trigger."""


def trigger(name: str) -> str:
    """``before an answer``; the name itself where it is not known."""
    return TRIGGERS.get(name, name)


FILTERS: Mapping[str, Callable[..., Any]] = {
    function.__name__.rstrip("_"): function
    for function in (bytes_, count, short, percent, duration, ago, when, day, dollars, plural, trigger)
}
