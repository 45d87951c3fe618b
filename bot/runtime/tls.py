"""Whom this process trusts on the way to others.

Reading the machine's certificates takes some 30 ms and a megabyte, and a client that is told nothing reads them anew:
all clients of a process share what was read once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@cache
def trusted() -> ssl.SSLContext:
    """What httpx2 would make by itself for one client: certificates of certifi, or those that ``SSL_CERT_FILE`` and
    ``SSL_CERT_DIR`` name. Raises OSError where a file that these name cannot be read."""
    import httpx2

    return httpx2.create_ssl_context()
