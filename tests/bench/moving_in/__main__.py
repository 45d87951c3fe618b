"""``python -m tests.bench.moving_in``: exports of each kind are generated, brought over by ``palimpsest import`` in a
process of its own, and asked for sentence by sentence.

The sentences that are asked for are every tenth; ``--asked`` says how many of those, spread over all of them, since a
hundred megabytes have more than a hundred thousand. A sentence is found where a hit among the first ten holds it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.messages import AgentId
from bot.store import Database
from bot.store.search import recall
from tests.exports import generator

_MB = 1_000_000


def main() -> None:
    """Measure, and print a line of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.moving_in")
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--asked", type=int, default=2_000, help="sentences that are asked for")
    parser.add_argument("--folder", type=Path, help="where exports are, or are kept")
    parser.add_argument("--json", type=Path, help="the figures, as JSON")
    parser.add_argument("forms", nargs="*", default=[*generator.FORMS])
    given = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as made:
        for form in given.forms:
            found = _measure(form, int(given.megabytes * _MB), given.asked, given.folder or Path(made))
            figures.append(found)
            print(_line(found), flush=True)  # noqa: T201  # what the bench is for
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2))


def _line(found: Mapping[str, Any]) -> str:
    return (
        f"{found['form']}: {found['megabytes']:.0f} MB, {found['messages']:,} messages of {found['conversations']:,} "
        f"conversations in {found['seconds']:.0f} s ({found['cpu']:.0f} s of CPU), {found['peak_mb']:.0f} MB at its "
        f"peak; {found['found']:,} of {found['asked']:,} sentences found"
    )


def _measure(form: str, size: int, asked: int, folder: Path) -> Mapping[str, Any]:
    home = folder / f"{form}-{size}"
    home.mkdir(parents=True, exist_ok=True)
    path, told = home / generator.FILES[form], home / "written.json"
    if not told.exists():
        written = generator.write(form, path, size)
        told.write_text(json.dumps([written.conversations, written.messages, written.sentences]))
    conversations, messages, sentences = json.loads(told.read_text())
    with tempfile.TemporaryDirectory(prefix="palimpsest-moving-in-") as data_dir:
        figures = _brought(path, Path(data_dir))
        step = max(1, len(sentences) // asked)
        found, all_asked = asyncio.run(_found(Path(data_dir), sentences[::step]))
    head = {"form": form, "megabytes": path.stat().st_size / _MB, "messages": messages, "conversations": conversations}
    return {**head, **figures, "found": found, "asked": all_asked}


def _brought(path: Path, data_dir: Path) -> Mapping[str, float]:
    """The largest memory is that of the process that writes with those that count for it."""
    environment = {**os.environ, "DATA_DIR": str(data_dir)}
    times = os.times()
    before = times.children_user + times.children_system
    began = time.monotonic()
    told = (data_dir / "brought.json").open("wb")
    running = subprocess.Popen(
        [sys.executable, "-m", "bot.app.cli.main", "import", str(path), "--json"],
        env=environment,
        stdout=told,
    )
    told.close()
    peak = 0.0
    while running.poll() is None:
        peak = max(peak, _resident(running.pid))
        time.sleep(0.2)
    seconds = time.monotonic() - began
    if running.returncode:
        raise SystemExit(f"The import of {path} failed.")
    times = os.times()
    cpu = times.children_user + times.children_system - before
    return {"seconds": seconds, "peak_mb": peak / _MB, "cpu": cpu}


def _resident(pid: int) -> float:
    """Bytes of a process and its children that are their own, or shared once."""
    import psutil

    try:
        process = psutil.Process(pid)
        own = [process, *process.children(recursive=True)]
        return float(sum(one.memory_full_info().pss for one in own))
    except psutil.Error:
        return 0.0


async def _found(data_dir: Path, sentences: list[tuple[str, str]]) -> tuple[int, int]:
    database = Database.in_folder(data_dir)
    await database.open()
    found = 0
    try:
        brought = json.loads((data_dir / "brought.json").read_text())["conversations"]
        agents = {one["title"]: AgentId(one["agent"]) for one in brought}
        only = next(iter(agents.values()))
        for title, sentence in sentences:
            agent_id = agents.get(title, only)  # a session has no title
            async with database.read() as tx:
                hits = await recall.search(tx, agent_id, sentence, audience=recall.MODEL, most=10)
            found += any(sentence in hit.text for hit in hits)
    finally:
        await database.close()
    return found, len(sentences)


if __name__ == "__main__":
    main()
