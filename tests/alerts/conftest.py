"""What it all came to, below the tests."""

from __future__ import annotations

import pytest

from tests.alerts.rig import TOLD

_HEAD = ("fault", "alert", "severity", "until it fires", "answered again after", "ADMINS read", "people read")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A row for each fault."""
    if not TOLD:
        return
    rows = [_HEAD, ("---",) * len(_HEAD)]
    for (fault, alert), told in TOLD.items():
        read = (" / ".join(texts).replace("\n", " ") or "nothing" for texts in (told.admins, told.people))
        rows.append((fault, alert, told.severity, f"{told.seconds:.0f} s", f"{told.answered_after:.0f} s", *read))
    for row in rows:
        terminalreporter.write_line(f"| {' | '.join(row)} |")
