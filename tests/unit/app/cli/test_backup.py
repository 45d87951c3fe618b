"""What `palimpsest backup` and `palimpsest restore` say."""

from __future__ import annotations

import pytest

from bot.app.archive.backup import Extent
from bot.app.cli.backup import _sentence


@pytest.mark.parametrize(("size", "said"), [(512, "512 B"), (12_345, "12 kB"), (2_500_000, "2.5 MB")])
def test_a_small_backup_is_told_in_a_unit_that_says_something(size: int, said: str) -> None:
    extent = Extent(conversations=1, entries=2, files=3, bytes=size, left_out=0, made_at="2026-11-21")
    assert _sentence(extent) == f"1 conversations with 2 entries and 3 files ({said})"
