"""Days in UTC, as they stand in the names of trace files: ``20261121``. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def day_of(seconds: float) -> str:
    """The day whose file a compaction stands in that began then (seconds since 1970)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d")


def bounds_of(day: str) -> tuple[float, float]:
    """When a day begins and ends, in seconds since 1970. Raises ValueError for what is no day."""
    begins = datetime.strptime(day, "%Y%m%d").replace(tzinfo=UTC)
    return begins.timestamp(), (begins + timedelta(days=1)).timestamp()
