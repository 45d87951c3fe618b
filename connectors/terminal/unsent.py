"""What was entered and is not stored yet, in a file: a line that is shown as said is not lost with the process.

The file is there only while something waits. A line that is stored just before the process dies stands in it all the
same: it keeps its ref, by which whoever stores it again knows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


class Unsent:
    """Lines by their refs, oldest first. A disk that takes nothing keeps nobody from talking."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = dict(_read(file))

    @property
    def lines(self) -> Mapping[str, str]:
        """Texts by refs."""
        return dict(self._lines)

    def add(self, ref: str, text: str) -> None:
        """It was entered."""
        self._lines[ref] = text
        self._write()

    def remove(self, ref: str) -> None:
        """It is stored, or given back."""
        if self._lines.pop(ref, None) is not None:
            self._write()

    def _write(self) -> None:
        with suppress(OSError):
            if not self._lines:
                self._file.unlink(missing_ok=True)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._file.with_name(f"{self._file.name}.new")
            unfinished.touch(mode=0o600)
            unfinished.write_text(json.dumps(self._lines, ensure_ascii=False), encoding="utf-8")
            unfinished.replace(self._file)


def _read(file: Path) -> Mapping[str, str]:
    """Nothing where there is no such file, or it is none of ours."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return {ref: text for ref, text in found.items() if isinstance(text, str)}
    return {}
