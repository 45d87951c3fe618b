"""``python -m tests.bench.first_word``: programs are installed into empty environments one after the other, each is set
up in an empty home by somebody who presses keys, and is asked one question, in the terminal and on Telegram.

A round has each program once for each of the two, in an order that moves on by one from round to round. Each is
installed once before the first round, which fills the installer's cache: the seconds of a round are not those of the
network. A program that fetches more while it is set up has that cache, too. A character is a key, Enter is one, a paste
is one, an arrow is one; a person's own time is none, since they type at once. Keys for the installation are those of
``pip install NAME``. Making a bot at BotFather is the same for all, and not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.first_word.loopback import given
from tests.bench.first_word.person import Person
from tests.bench.first_word.programs import Given, Hermes, Nanobot, Palimpsest, Program

_ROOT = Path(__file__).resolve().parents[3]
_PLACES = ("terminal", "telegram")
_NEEDED = ("PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX_URL")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.first_word")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--installer", choices=("uv", "pip"), default="uv" if shutil.which("uv") else "pip")
    parser.add_argument("--uv", default="uv", help="where it is")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--place", nargs="*", choices=_PLACES, default=list(_PLACES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-word-") as made:
        figures = asyncio.run(_rounds(options, Path(made)))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    _say(_table(figures, options))


async def _rounds(options: argparse.Namespace, folder: Path) -> list[Mapping[str, Any]]:
    programs: list[Program] = [Palimpsest(_wheel(folder)), Nanobot(), Hermes()]
    programs = [one for one in programs if not options.only or one.name in options.only]
    for program in programs:
        began = time.monotonic()
        await asyncio.to_thread(_install, program.package, folder / "first", folder / "cache", options)
        _say(f"{program.name:10} installed for the first time in {time.monotonic() - began:.1f} s")
        await asyncio.to_thread(shutil.rmtree, folder / "first")
    figures = []
    for number in range(options.rounds):
        turn = number % len(programs)
        for program in programs[turn:] + programs[:turn]:
            for place in options.place:
                found = await _once(program, place, options, folder / f"{program.name}-{place}-{number}")
                figures.append(found)
                _say(_line(found))
    return figures


async def _once(program: Program, place: str, options: argparse.Namespace, folder: Path) -> Mapping[str, Any]:
    home = folder / "home"
    home.mkdir(parents=True)
    cpu, began = _cpu(), time.monotonic()
    await asyncio.to_thread(_install, program.package, folder / "venv", folder.parent / "cache", options)
    installed, cpu_installed = time.monotonic(), _cpu()
    async with given(folder) as things:
        person = Person(home, _environment(folder, home, things))
        person.counts(
            len(f"pip install {program.package.partition('==')[0].rpartition('/')[2].partition('-0')[0]}") + 1
        )
        problem = ""
        try:
            if place == "terminal":
                await program.terminal(person, things)
            else:
                await program.on_telegram(person, things, home)
        except AssertionError as error:
            problem = str(error)
        answered = time.monotonic()
        await person.ends()
    size = sum(one.stat().st_size for one in (folder / "venv").rglob("*") if one.is_file() and not one.is_symlink())
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return {
        "program": program.name,
        "place": place,
        "install": installed - began,
        "install cpu": cpu_installed - cpu,
        "to the answer": answered - installed,
        "waited": person.waited,
        "to the answer cpu": _cpu() - cpu_installed,
        "keys": person.keys,
        "megabytes": size / 1e6,
        "problem": problem,
        "load": os.getloadavg()[0],
    }


def _environment(folder: Path, home: Path, things: Given) -> Mapping[str, str]:
    """What an empty account has, and where the servers are that stand for others."""
    return {
        **{name: os.environ[name] for name in _NEEDED if name in os.environ},
        "HOME": str(home),
        "PATH": f"{folder / 'venv' / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "TELEGRAM_API_BASE": things.telegram.url,
        "HTTP_BIND": "127.0.0.1:0",
        "UV_CACHE_DIR": str(folder.parent / "cache"),
        "PIP_CACHE_DIR": str(folder.parent / "cache"),
        "NO_PROXY": "127.0.0.1,localhost",
        "SSL_CERT_FILE": things.trust,
    }


def _wheel(folder: Path) -> str:
    """Of what is checked out here."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(_ROOT)], check=True)
    return str(next(folder.glob("*.whl")))


def _install(package: str, venv: Path, cache: Path, options: argparse.Namespace) -> None:
    if options.installer == "uv":
        subprocess.run([options.uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(venv)], check=True)
        command = [
            options.uv,
            "pip",
            "install",
            "--quiet",
            "--cache-dir",
            str(cache),
            "--python",
            str(venv / "bin" / "python"),
        ]
    else:
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        command = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--cache-dir", str(cache)]
    done = subprocess.run([*command, package], check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{package} cannot be installed:\n{done.stderr[-2000:]}")


def _cpu() -> float:
    """Seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(found: Mapping[str, Any]) -> str:
    return (
        f"{found['program']:10} {found['place']:8} install {found['install']:.1f} s, to the answer "
        f"{found['to the answer']:.1f} s (waited {found['waited']:.1f} s), CPU {found['install cpu']:.1f} + "
        f"{found['to the answer cpu']:.1f} s, {found['keys']} keys, {found['megabytes']:.0f} MB, load "
        f"{found['load']:.1f} {found['problem'][:3000]}"
    )


def _table(figures: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> str:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for found in figures:
        if not found["problem"]:
            groups[found["place"], found["program"]].append(found)
    lines = [
        f"{options.rounds} rounds, {options.installer}, Python {platform.python_version()}, {os.cpu_count()} cores,",
        f"load of the machine {min(f['load'] for f in figures):.0f} to {max(f['load'] for f in figures):.0f}",
        "",
        "| | keys | install | CPU of it | to the answer | CPU of it | on the disk |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (place, program), ones in sorted(groups.items()):
        times = ("install", "install cpu", "to the answer", "to the answer cpu")
        cells = [
            f"{program}, {place}",
            "/".join(str(keys) for keys in sorted({one["keys"] for one in ones})),
            *(_spread([one[name] for one in ones]) for name in times),
            f"{statistics.median(one['megabytes'] for one in ones):.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f} s ({min(seconds):.1f}–{max(seconds):.1f})"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # what the bench is for


if __name__ == "__main__":
    main()
