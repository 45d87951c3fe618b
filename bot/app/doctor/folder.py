"""DATA_DIR: can it be written, is there room, is the disk a local one, who else can read it."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot.app.doctor.case import Case
from bot.runtime.checks import Finding, ok, problem, warning

PART = "data folder"
_FULL = 100_000_000
_NEARLY_FULL = 1_000_000_000
_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "ceph", "9p", "afs")
_MOUNTS = Path("/proc/mounts")


async def check_folder(case: Case) -> Sequence[Finding]:
    """All of it, in a thread: disks may be slow."""
    return await asyncio.to_thread(_check, case)


def _check(case: Case) -> Sequence[Finding]:
    folder = case.settings.data_dir.resolve()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if reason := _cannot_write(there):
        advice = f"Make {folder} a folder that the user who runs the program can write, or set DATA_DIR to another one."
        return [problem(PART, f"DATA_DIR={folder} cannot be written: {reason}.", advice)]
    findings = [*space(shutil.disk_usage(there).free)]
    embedded = not (case.settings.database_url and case.settings.redis_url)
    if embedded and _MOUNTS.exists():
        findings += network(file_system(folder, _MOUNTS.read_text(errors="replace")))
    if there == folder:
        findings += readers(folder, folder.stat().st_mode)
        return findings or [ok(PART, f"{folder} can be written.")]
    return findings or [ok(PART, f"{folder} is not there yet; it is made at the first start.")]


def space(free: int) -> list[Finding]:
    """What so many free bytes mean."""
    sentence = f"Only {free / 1_000_000:,.0f} MB are free for DATA_DIR."
    if free < _FULL:
        return [problem(PART, sentence, "Make room: when the disk is full nothing is accepted any more.")]
    return [warning(PART, sentence, "Make room before it is full.")] if free < _NEARLY_FULL else []


def network(kind: str) -> list[Finding]:
    """What it means that the folder is on such a file system."""
    if not kind.startswith(_NETWORK):
        return []
    advice = "File locks are not to be trusted there: move DATA_DIR to a local disk, or set DATABASE_URL and REDIS_URL."
    return [warning(PART, f"DATA_DIR is on a network disk ({kind}).", advice)]


def readers(folder: Path, mode: int) -> list[Finding]:
    """Who else may look into the folder."""
    if not stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    sentence = f"Others on this machine can look into {folder}, which holds what people said."
    return [warning(PART, sentence, f"chmod 700 {folder}")]


def file_system(folder: Path, mounts: str) -> str:
    """The kind of file system that a folder is on; ``mounts`` as in /proc/mounts."""
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        _, point, kind, *_ = [*line.split(" "), "", "", ""]
        kinds[point.replace("\\040", " ")] = kind
    return next((kinds[str(place)] for place in (folder, *folder.parents) if str(place) in kinds), "")


def _cannot_write(folder: Path) -> str:
    """Why not; empty where it can."""
    if not folder.is_dir():
        return "it is not a folder"
    try:
        with tempfile.TemporaryFile(dir=folder):
            return "" if os.access(folder, os.W_OK | os.X_OK) else "no permission"
    except OSError as error:
        return (error.strerror or str(error)).lower()
