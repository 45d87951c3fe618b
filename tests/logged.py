"""What connectors have logged: the events, and what is told with them."""

from __future__ import annotations

from typing import Any

import pytest


def logged(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """What was told with each line of this event, oldest first."""
    return [vars(record) for record in caplog.records if record.getMessage() == event]


def all_that_was_logged(caplog: pytest.LogCaptureFixture) -> str:
    """Every line, with what is told beside its event."""
    return caplog.text + "".join(str(vars(record)) for record in caplog.records)
