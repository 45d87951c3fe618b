"""Ports for servers that tests start, and start again."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections import deque
from functools import cache
from pathlib import Path

_BELOW = range(20_000, 32_000)
"""Systems give ports above these to those who connect somewhere, also to one that a server has just left:
https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html, `ip_local_port_range`."""
_KEPT = 1_000
_CHANCE = random.Random(f"{os.getpid()} {os.urandom(8).hex()}")
_kept: deque[int] = deque()


def free_port() -> int:
    """A port of loopback that nobody has, and that no other test gets meanwhile, not even while its server is down:
    for as long as this process lives and takes no thousand others."""
    while True:
        port = _CHANCE.choice(_BELOW)
        if port in _kept or not _keep(port):
            continue
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def _keep(port: int) -> bool:
    """Lock the port's byte of a file that all tests of this machine's user know; whether it was free."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _kept.append(port)
    if len(_kept) > _KEPT:
        fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, _kept.popleft())
    return True


@cache
def _locks() -> int:
    """Open until the process ends, with which its locks go."""
    path = Path(tempfile.gettempdir()) / f"palimpsest-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
