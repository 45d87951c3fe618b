"""Who uses a folder, told by flock(2).

A lock is the one thing that the kernel takes back however a process dies: after a kill -9 a pid file is a
guess, and a lock is not. Local disks only: on network disks flock is not to be trusted.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.app.embedded import EmbeddedError

DOOR_PATIENCE = 120.0
"""Seconds. Longer than anyone may take to start or stop a server behind the door."""


class Membership:
    """One member of a folder. All calls may block, so they belong in a thread.

    Every member holds `members.lock` shared. `door.lock` is held by whoever starts or stops what the members
    share: entering and leaving happen behind the door only, so "alone" and "the last one out" are facts.
    """

    def __init__(self, folder: Path) -> None:
        self._door = folder / "door.lock"
        self._members = folder / "members.lock"
        self._held: int | None = None

    @property
    def is_inside(self) -> bool:
        return self._held is not None

    @contextmanager
    def door(self, patience: float = DOOR_PATIENCE) -> Iterator[None]:
        """Shuts the door behind us. Raises EmbeddedError when another keeps it shut for `patience` s."""
        descriptor = _open(self._door)
        try:
            deadline = time.monotonic() + patience
            while not _lock(descriptor, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise EmbeddedError(f"another process has held {self._door} for {patience:.0f} s; does it hang?")
                time.sleep(0.01)
            yield
        finally:
            os.close(descriptor)

    def enter(self) -> bool:
        """Enters, behind the door. True: nobody else is in."""
        descriptor = _open(self._members)
        alone = _lock(descriptor, fcntl.LOCK_EX)
        _lock(descriptor, fcntl.LOCK_SH)
        self._held = descriptor
        return alone

    def leave(self) -> bool:
        """Leaves, behind the door. True: nobody is in any more."""
        if self._held is None:
            return False
        descriptor, self._held = self._held, None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            return _lock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)

    def lock_up_if_deserted(self) -> bool:
        """For the server itself. True: nobody is in, and the door stays shut until this process ends."""
        try:
            door, members = _open(self._door), _open(self._members)
        except FileNotFoundError:
            return True  # the folder is gone, so nobody can enter either
        deserted = _lock(door, fcntl.LOCK_EX) and _lock(members, fcntl.LOCK_EX)
        if not deserted:
            os.close(door)
            os.close(members)
        return deserted


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
