"""Time zones by their IANA names: which one counts where nobody chose, and which one somebody means.

What is known of zones is the system's, and the package `tzdata` where the system has none (`zoneinfo` sees to that).
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import structlog

log = structlog.get_logger(__name__)

UTC_NAME = "UTC"
EXAMPLE = "Europe/Lisbon"
_SAME_AS_UTC = frozenset({"Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"})
_NO_PLACES = frozenset({"Factory", "localtime", "posixrules"})
"""What is in the data and is no zone that anybody lives in."""
_ALIKE = 0.65
_MOST_NEAR = 3
_LONGEST_SHOWN = 40
_WITHOUT_OFFSET = len("2026-05-03T09:14:05")
_BETWEEN = re.compile(r"[\s_]+")
_OFFSET = re.compile(r"(?:utc|gmt|z)?\s*[+−-]\s*\d", re.IGNORECASE)


class UnknownZoneError(ValueError):
    """No zone has this name; the text is a sentence for people. ``near``: names that are like it."""

    def __init__(self, text: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.near = near


def understood(written: str) -> str:
    """The IANA name of the zone that somebody means: by that name in any case, with spaces for underscores, or by its
    city alone where only one has it. Raises UnknownZoneError."""
    key = _key(written)
    by_key, by_city = _names()
    if key in by_key:
        return by_key[key]
    cities = by_city.get(key, ())
    if len(cities) == 1:
        return cities[0]
    shown = " ".join(written.split())[:_LONGEST_SHOWN]
    if cities:
        raise UnknownZoneError(f"{shown} is the name of several zones: {_in_words(cities)}.", cities)
    if _OFFSET.match(written.strip()):
        text = f"{shown} is an offset, which says nothing of summer time. Name a place, e.g. {EXAMPLE}"
        raise UnknownZoneError(f"{text}, or UTC.")
    near = _near(key)
    meant = f"Did you mean {_in_words(near)}?" if near else f"Zones have names such as {EXAMPLE}."
    raise UnknownZoneError(f"I know no time zone {shown!r}. {meant}", near)


def _in_words(names: tuple[str, ...]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _near(key: str) -> tuple[str, ...]:
    """The zones whose names, or whose cities, are most like this one."""
    by_key, by_city = _names()
    weights: dict[str, float] = {}
    for word, zones in [*by_city.items(), *((word, (name,)) for word, name in by_key.items())]:
        alike = difflib.SequenceMatcher(None, key, word)
        if alike.quick_ratio() >= _ALIKE and (weight := alike.ratio()) >= _ALIKE:
            for name in zones:
                weights[name] = max(weight, weights.get(name, 0))
    best = sorted(weights, key=lambda name: (-weights[name], "/" not in name, name))
    return tuple(best[:_MOST_NEAR])


def _key(written: str) -> str:
    """However it is spaced, whatever its letters, with or without accents."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", written) if not unicodedata.combining(one))
    return _BETWEEN.sub("_", plain.strip().strip("\"'`<>").strip()).casefold()


@cache
def _names() -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    """Every name by how it is looked up, and those with each city."""
    names = sorted(available_timezones() - _NO_PLACES)
    cities: dict[str, list[str]] = {}
    for name in names:
        region, slash, _ = name.partition("/")
        if slash and region not in ("Etc", "SystemV"):
            cities.setdefault(_key(name.rpartition("/")[2]), []).append(name)
    return {_key(name): name for name in names}, {city: tuple(found) for city, found in cities.items()}


def default_zone(setting: str | None) -> str:
    """What counts where nobody chose: `TIMEZONE`, else the machine's."""
    return setting or machine_zone()


@cache
def machine_zone() -> str:
    """The IANA name of this machine's zone; UTC where it does not say one."""
    from tzlocal import get_localzone_name  # late: only where nothing is set

    try:
        name = get_localzone_name()
        ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        log.warning("machine_zone_unknown", reason=f"{type(error).__name__}: {error}")
        return UTC_NAME
    return UTC_NAME if name in _SAME_AS_UTC else name


def zone_info(name: str) -> tzinfo:
    """The zone of this name; UTC for one that this machine's data does not have (any more)."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        return UTC
    except KeyError:
        _say_unknown(name)
        return UTC


@cache
def _say_unknown(name: str) -> None:
    log.warning("zone_unknown", zone=name)


def local_time(at: float, name: str) -> datetime:
    """A moment (seconds since 1970) as the clocks of a zone show it."""
    return datetime.fromtimestamp(at, zone_info(name))


def offset_text(at: datetime) -> str:
    """How far the clocks of its zone are from UTC at this moment: `UTC+01:00`."""
    whole = at.replace(microsecond=0)
    return f"{UTC_NAME}{whole.isoformat()[len('2026-05-03T09:14:05') :]}" if at.utcoffset() else UTC_NAME
