"""What a shell command can reach: with bubblewrap the system to read, the agent's folder to write, and nothing else.

https://github.com/containers/bubblewrap: every argument below is in its manual page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from bot.files import own_folder

INSIDE = "/folder"
"""The agent's folder as a confined command sees it."""
_PROBE_SECONDS = 10
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CONFIGURATION = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl",
                  "/etc/ca-certificates", "/etc/pki", "/etc/localtime")  # fmt: skip
_FOR_THE_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_TEMPORARY_BYTES = 100_000_000


def find_bubblewrap() -> str | None:
    """Where bubblewrap is, or None."""
    return shutil.which("bwrap")


@cache
def works(program: str) -> bool:
    """Whether bubblewrap can confine here: a container or a kernel may forbid it. Asked once."""
    walls = [*_namespaces(network=False), *_system(network=False), *_memory(program)]
    done = _ran([program, *walls, "--remount-ro", "/", "true"])
    return done is not None and done.returncode == 0


def confined(program: str, folder: Path, command: Sequence[str], *, network: bool, secret: Sequence[Path]) -> list[str]:
    """The command within its walls. ``secret``: places that are hidden even where they lie among the system's."""
    folder = folder.resolve()
    return [
        program,
        *_namespaces(network=network),
        *_system(network=network),
        *_memory(program),
        *(argument for place in secret for argument in _hidden(place)),
        *("--bind", str(folder), INSIDE),
        *(argument for name in _kept(folder) for argument in ("--ro-bind", str(folder / name), f"{INSIDE}/{name}")),
        *("--remount-ro", "/", "--chdir", INSIDE),
        *command,
    ]


def prepare(folder: Path) -> None:
    """What the program keeps in the folder is there, so that it can be protected; what pretends to be it goes."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for item in folder.iterdir():
        if item.is_symlink() and (own_folder.OWNED_FILE.fullmatch(item.name) or item.name in own_folder.OWNED_FOLDERS):
            item.unlink()
    for name in own_folder.OWNED_FOLDERS:
        (folder / name).mkdir(exist_ok=True, mode=0o700)


def _namespaces(*, network: bool) -> list[str]:
    net = ["--share-net"] if network else []
    return [
        *("--unshare-all", *net, "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--hostname", "palimpsest", "--clearenv"),
        *(argument for name, value in environment(INSIDE).items() for argument in ("--setenv", name, value)),
    ]


def environment(home: str) -> dict[str, str]:
    """All that a command gets of it: nothing of ours."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}


def _system(*, network: bool) -> list[str]:
    arguments: list[str] = []
    for place in _SYSTEM:
        if os.path.islink(place):  # noqa: PTH114  # as a text: /bin is a link to usr/bin
            arguments += ["--symlink", os.readlink(place), place]  # noqa: PTH115  # likewise
        elif Path(place).is_dir():
            arguments += ["--ro-bind", place, place]
    for place in (*_CONFIGURATION, *(_FOR_THE_NETWORK if network else ())):
        arguments += ["--ro-bind-try", place, place]
    return [*arguments, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]


def _memory(program: str) -> list[str]:
    """Folders of a command's own that are memory: bounded, where bubblewrap can do that (from 0.7 on)."""
    size = ["--size", str(_TEMPORARY_BYTES)] if _knows_sizes(program) else []
    return [argument for place in ("/tmp", "/dev/shm") for argument in (*size, "--tmpfs", place)]  # noqa: S108  # its own


@cache
def _knows_sizes(program: str) -> bool:
    done = _ran([program, "--help"])
    return done is not None and b"--size" in done.stdout + done.stderr


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[bytes] | None:
    """What became of it; None where it could not be run."""
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, stdin=quiet, capture_output=True, timeout=_PROBE_SECONDS, check=False)  # noqa: S603  # our own
    except (OSError, subprocess.SubprocessError):
        return None


def _hidden(place: Path) -> Iterator[str]:
    """Only what lies in a part of the system is seen at all."""
    place = place.resolve()
    if not any(place.is_relative_to(Path(part).resolve()) for part in _SYSTEM):
        return
    if place.is_dir():
        yield from ("--tmpfs", str(place))
    elif place.exists():
        yield from ("--ro-bind", "/dev/null", str(place))


def _kept(folder: Path) -> list[str]:
    """What the program keeps there: to be read, not to be written."""
    return sorted(
        item.name
        for item in folder.iterdir()
        if not item.is_symlink()
        and (own_folder.OWNED_FILE.fullmatch(item.name) or item.name in own_folder.OWNED_FOLDERS)
    )
