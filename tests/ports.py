"""Ports for servers that tests start, and start again."""

from __future__ import annotations

import os
import random
import socket

_BELOW = range(20_000, 32_000)
"""Systems give ports above these to those who connect somewhere, also to one that a server has just left:
https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html, `ip_local_port_range`."""
_CHANCE = random.Random(f"{os.getpid()} {os.urandom(8).hex()}")


def free_port() -> int:
    """A port of loopback that nobody has, and that nobody gets by chance."""
    while True:
        port = _CHANCE.choice(_BELOW)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
