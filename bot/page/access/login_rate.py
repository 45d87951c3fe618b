"""How often one may be wrong at the login, from one address and from all of them; in constant memory."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

OF_ONE, OF_ALL = 5, 50
"""Wrong passwords that may be given at once."""
_ONE_SECONDS, _ALL_SECONDS = 60.0, 6.0
"""After which one more may be."""
MOST_ADDRESSES = 1_000
_IPV6_NETWORK = 64
"""Bits: one customer of a provider has all addresses below."""


@dataclass
class _Bucket:
    left: float
    at: float


class LoginRate:
    """Counts wrong passwords. ``clock`` in seconds, never going back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = _Bucket(OF_ALL, clock())
        self._by_address: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until somebody there may try again; 0: now."""
        own = self._by_address.get(_network(address))
        return max(self._missing(self._all, OF_ALL, _ALL_SECONDS), self._missing(own, OF_ONE, _ONE_SECONDS))

    def failed(self, address: str) -> None:
        """It was the wrong one."""
        network = _network(address)
        own = self._by_address.setdefault(network, _Bucket(OF_ONE, self._clock()))
        self._by_address.move_to_end(network)
        own.left -= 1
        self._all.left -= 1
        while len(self._by_address) > MOST_ADDRESSES:
            self._by_address.popitem(last=False)

    def _missing(self, bucket: _Bucket | None, most: float, seconds: float) -> float:
        """Seconds until there is one more in it."""
        if bucket is None:
            return 0.0
        now = self._clock()
        bucket.left, bucket.at = min(most, bucket.left + (now - bucket.at) / seconds), now
        return max(0.0, (1 - bucket.left) * seconds)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:60]
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
    return str(parsed)
