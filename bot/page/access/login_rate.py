"""How often one may be wrong at the login, from one address and from all of them; in constant memory."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable

from bot.runtime.token_buckets import TokenBuckets

OF_ONE, OF_ALL = 5, 50
"""Wrong passwords that may be given at once."""
_ONE_SECONDS, _ALL_SECONDS = 60.0, 6.0
"""After which one more may be."""
MOST_ADDRESSES = 1_000
_IPV6_NETWORK = 64
"""Bits: one customer of a provider has all addresses below."""
_ALL = "all of them"


class LoginRate:
    """Counts wrong passwords. ``clock`` in seconds, never going back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = TokenBuckets(OF_ALL, OF_ALL * _ALL_SECONDS, most=1)
        self._by_address = TokenBuckets(OF_ONE, OF_ONE * _ONE_SECONDS, most=MOST_ADDRESSES)

    def wait(self, address: str) -> float:
        """Seconds until somebody there may try again; 0: now."""
        now = self._clock()
        return max(self._all.wait(_ALL, now), self._by_address.wait(_network(address), now))

    def failed(self, address: str) -> None:
        """It was the wrong one."""
        now = self._clock()
        self._all.take(_ALL, now)
        self._by_address.take(_network(address), now)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:60]
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
    return str(parsed)
