"""`python -m bot.app.probe [readyz]`: asks the process of this container whether it lives (or is ready). Exit code 0 or
1.

For health checks where there is no curl; it loads nothing but the standard library.
"""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Mapping, Sequence

PATIENCE = 8.0
"""Seconds; `/readyz` takes up to 6."""
_BIND = "127.0.0.1:8080"


def place(environment: Mapping[str, str]) -> tuple[str, int]:
    """Where `HTTP_BIND` can be reached from this machine. Raises ValueError for an address without a port."""
    host, _, port = (environment.get("HTTP_BIND") or _BIND).rpartition(":")
    host = host.strip("[]")
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)  # noqa: S104  # compared


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Ask for the first argument, `healthz` by default; the answer goes to standard output."""
    path = arguments[0] if arguments else "healthz"
    try:
        host, port = place(environment)
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        said = answer.read().decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        sys.stdout.write(f"no answer: {error}\n")
        return 1
    sys.stdout.write(f"{answer.status} {said}\n")
    return 0 if answer.status == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
