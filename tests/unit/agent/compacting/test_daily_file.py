"""The daily file: each section stands in it once, for its owner alone, also when it was compressed meanwhile."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from bot.agent.compacting import daily_file
from bot.agent.compacting.daily_file import pack, packed_path, read, write
from bot.agent.compacting.trace import render
from bot.compaction.trace import Section, in_full
from bot.store.runs import Run
from tests.unit.one_run import STARTED, a_run

TALK = "\n".join(f"Line {number} of what was said, which is the same in both." for number in range(20))


def section(run: Run, **options: Any) -> Section:
    return render(run, **{"tools": [{"name": "look"}], "previous_summary": None, "layer": 3, **options})


def test_a_section_is_written_to_its_days_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "agents" / "room-1", a_run(), section(a_run()))
    assert path == tmp_path / "agents" / "room-1" / "compaction_20231114.md"
    assert path.read_text() == in_full(section(a_run()))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_section_is_written_once(tmp_path: Path) -> None:
    for _ in range(3):
        path = write(tmp_path, a_run(), section(a_run()))
    other = a_run(id="run12")
    write(tmp_path, other, section(other))
    assert path.read_text() == in_full(section(a_run())) + in_full(section(other))


def test_a_long_days_file_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    path = write(tmp_path, a_run(), section(a_run()))
    with path.open("a") as file:
        file.writelines("🙂" * 250_000 for _ in range(20))
    tracemalloc.start()
    write(tmp_path, a_run(id="another"), ("- **run**: another",))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert path.read_bytes().endswith(b"- **run**: another\n\n")


def test_the_day_is_that_on_which_the_run_began_in_utc(tmp_path: Path) -> None:
    midnight = STARTED - STARTED % 86_400
    names = [write(tmp_path, a_run(id=f"r{at}", started_at=at), "x").name for at in (midnight - 1, midnight)]
    assert names == ["compaction_20231113.md", "compaction_20231114.md"]


def test_half_a_character_does_not_stop_a_section_from_being_written(tmp_path: Path) -> None:
    assert write(tmp_path, a_run(), "before \ud800 after").read_text() == "before ? after"


def test_a_disk_that_takes_nothing_is_an_error_for_the_caller(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="agents"):
        write(tmp_path / "agents" / "room-1", a_run(), "x")


def test_a_pipe_or_a_link_in_the_place_of_the_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    name = write(tmp_path / "a", a_run(), section(a_run())).name
    for made in ("pipe", "link"):
        folder = tmp_path / made
        folder.mkdir()
        if made == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to(tmp_path / "secret.txt")
        with pytest.raises(OSError, match=r"not a file|symbolic links"):
            write(folder, a_run(), section(a_run()))
    assert not (tmp_path / "secret.txt").exists()


def test_a_day_that_is_compressed_is_read_and_appended_to_like_any_other(tmp_path: Path) -> None:
    first, second, third = (a_run(id=f"run{number}") for number in range(3))
    path = write(tmp_path, first, section(first))
    write(tmp_path, second, section(second))
    whole = path.read_text()
    pack(path)
    assert [item.name for item in tmp_path.iterdir()] == [packed_path(path).name]
    assert packed_path(path).stat().st_mode & 0o777 == 0o600
    assert packed_path(path).stat().st_size < len(whole) / 2
    assert read(path) == whole
    write(tmp_path, second, section(second))
    assert read(path) == whole, "it stands there already"
    pack(path)
    write(tmp_path, third, section(third))
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert path.read_text().startswith(whole)
    assert path.read_text().count("- **run**: run2\n") == 1


def test_what_a_crash_left_between_both_files_is_put_right(tmp_path: Path) -> None:
    run, later = a_run(), a_run(id="later")
    path = write(tmp_path, run, section(run))
    whole = path.read_bytes()
    pack(path)
    packed = packed_path(path).read_bytes()
    path.touch(0o600)  # begun to be written to, and no more
    assert read(path) == whole.decode()
    write(tmp_path, later, section(later))
    assert path.read_bytes().startswith(whole)
    longer = path.read_bytes()
    packed_path(path).write_bytes(packed)  # written, but not taken away
    assert read(path) == longer.decode()
    pack(path)
    assert read(path) == longer.decode()
    assert [item.name for item in tmp_path.iterdir()] == [packed_path(path).name]


def test_a_damaged_one_is_an_error_for_the_caller_and_nothing_is_written_over_it(tmp_path: Path) -> None:
    path = write(tmp_path, a_run(), section(a_run()))
    pack(path)
    whole = packed_path(path).read_bytes()
    for damaged in (whole[:-9], b"no gzip at all", whole[:40] + b"xx" + whole[42:]):
        packed_path(path).write_bytes(damaged)
        with pytest.raises(OSError, match="gz"):
            read(path)
        with pytest.raises(OSError, match="gz"):
            write(tmp_path, a_run(), section(a_run()))
        assert packed_path(path).read_bytes() == damaged


def test_a_line_that_is_longer_than_any_memory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_file, "_MOST_BYTES", 100)
    first, second = a_run(focus="x" * 1_000), a_run(id="run2")
    for run in (first, second, second, first):
        path = write(tmp_path, run, section(run))
    assert [path.read_text().count(f"- **run**: {run.id}\n") for run in (first, second)] == [1, 1]
