"""The command: fetch the conversations that the yardstick measures, and put them into its form.

    python -m tests.bench.yardstick.fetch --to FOLDER

The files come from public repositories on GitHub, at fixed commits (sources.toml, with the licences), about 60 MB. What
is there is not fetched again. Nothing of it is part of this repository, and it stays under its own licences.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from tests.bench.yardstick import convert
from tests.bench.yardstick.convert import Files

ORIGIN = "https://raw.githubusercontent.com"
_SECONDS = 60


class Half(StrEnum):
    """Which conversations of a set may be looked at by whoever writes a strategy."""

    EVEN = "even"
    """Those with an even number, counted from 0; the others are held out."""
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True)
class Source:
    """Files of one repository at one commit."""

    name: str
    repository: str
    commit: str
    licence: str
    files: list[str]

    def urls(self) -> Iterator[tuple[str, str]]:
        """The path of each file, and where it is."""
        for path in self.files:
            yield path, f"{ORIGIN}/{self.repository}/{self.commit}/{quote(path)}"


@dataclass(frozen=True)
class Part:
    """A file of the yardstick's folder: made of the files of a source whose paths match."""

    name: str
    source: str
    paths: str
    made: Callable[[Files], Iterable[dict[str, Any]]]
    seen: Half


_SHOPS = "Rivera|gastelo|ecommerce|farfan"
_CLINICS = "salud|macalupu|sanita|hotel|cachay|garbich|calderon|enosa|academico"
_SEEN_LANGUAGES = ("ar", "de", "en", "es", "ru", "zh")
_UNSEEN_LANGUAGES = ("el", "hi", "tr", "vi")
PARTS = (
    Part("tools/airline", "tau-bench", "airline", convert.tau_recorded, Half.EVEN),
    Part("tools/retail", "tau-bench", "retail", convert.tau_retail, Half.EVEN),
    Part("tools/coding", "swe-agent", "traj", convert.swe_agent, Half.ALL),
    Part("tools/shops", "services", _SHOPS, convert.tau2_recorded, Half.ALL),
    Part("tools/clinics", "services", _CLINICS, convert.tau2_recorded, Half.NONE),
    Part("tools/bookings", "sgd", "", convert.schema_guided, Half.NONE),
    Part("tools/desk", "tooltalk", "", convert.tool_talk, Half.NONE),
    Part("tools/errands", "api-bank", "", convert.api_bank, Half.NONE),
    Part("chat/beam", "beam", "", convert.beam, Half.EVEN),
    Part("chat/locomo", "realtalk", "locomo", convert.realtalk, Half.EVEN),
    Part("chat/realtalk", "realtalk", "data/Chat", convert.realtalk, Half.NONE),
    Part("chat/memorybank", "memorybank", "", convert.memory_bank, Half.NONE),
    Part("chat/ubuntu", "irc", "", convert.irc, Half.NONE),
    Part("text/ja", "jsquad", "", convert.paragraphs, Half.NONE),
    *(Part(f"text/{each}", "xquad", rf"\.{each}\.", convert.paragraphs, Half.EVEN) for each in _SEEN_LANGUAGES),
    *(Part(f"text/{each}", "xquad", rf"\.{each}\.", convert.paragraphs, Half.NONE) for each in _UNSEEN_LANGUAGES),
)


def main() -> None:
    """Exit 1 where a file cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.yardstick.fetch", description=__doc__)
    parser.add_argument("--to", type=Path, required=True, help="the folder")
    folder = parser.parse_args().to
    try:
        with httpx2.Client(timeout=_SECONDS, follow_redirects=True) as client:
            for source in sources():
                sys.stdout.write(f"{source.name}: {source.repository} at {source.commit[:8]}, {source.licence}\n")
                fetch(source, folder / "raw" / source.name, client)
    except (httpx2.HTTPError, OSError) as error:
        sys.exit(f"{error.__class__.__name__}: {error}")
    for part in PARTS:
        sys.stdout.write(f"{part.name}: {write(part, folder)} conversations\n")


def sources() -> list[Source]:
    """As sources.toml has them."""
    told = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
    return [Source(**source) for source in told["source"]]


def fetch(source: Source, to: Path, client: httpx2.Client) -> None:
    """Get what is not there yet. Raises ``httpx2.HTTPError``."""
    for path, url in source.urls():
        file = to / path
        if not file.exists():
            answer = client.get(url)
            answer.raise_for_status()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(answer.content)


def write(part: Part, folder: Path) -> int:
    """Write the conversations of a part into ``seen`` and ``unseen``; how many there are."""
    made = list(part.made(files_of(part, folder)))
    halves = {
        Half.EVEN: (made[::2], made[1::2]),
        Half.ALL: (made, []),
        Half.NONE: ([], made),
    }[part.seen]
    for name, some in zip(("seen", "unseen"), halves, strict=True):
        if some:
            file = folder / name / f"{part.name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps(each, ensure_ascii=False) for each in some)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(made)


def files_of(part: Part, folder: Path) -> Files:
    """The texts of a part's files by their paths, in the order of the numbers in them."""
    base = folder / "raw" / part.source
    wanted = {path for source in sources() if source.name == part.source for path in source.files}
    paths = sorted((path for path in wanted if re.search(part.paths, path)), key=_in_order)
    return {path: (base / path).read_text(encoding="utf-8") for path in paths}


def _in_order(path: str) -> list[tuple[bool, int, str]]:
    return [(piece.isdigit(), int(piece) if piece.isdigit() else 0, piece) for piece in re.split(r"(\d+)", path)]


if __name__ == "__main__":
    main()
