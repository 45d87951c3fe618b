"""Who calls, by which name, and whether by https: what a request says, and what a proxy in front of us says of it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?", re.IGNORECASE)
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Caller:
    """``host``: the name in the Host header in small letters, without its port, empty when there is none that can be
    read; ``authority``: with it; ``forwarded``: something stands between us that says so."""

    address: str
    host: str
    authority: str
    https: bool
    forwarded: bool

    @property
    def names_loopback(self) -> bool:
        """Whether it asked for a name that nobody can make point elsewhere."""
        return is_loopback(self.host)


class Callers:
    """Reads callers. ``proxies``: addresses or networks whose word on who calls is taken.

    Not uvicorn's ProxyHeadersMiddleware: in a chain of proxies that add to `X-Forwarded-Proto` it takes none of it, so
    that cookies by https would not be `Secure`; of an `X-Forwarded-For` it believes what is no address ("unknown"); and
    it does not know a proxy of ours in its IPv6 form (`::ffff:10.0.0.9`).
    """

    def __init__(self, proxies: Sequence[str] = ()) -> None:
        self._proxies: list[IPv4Network | IPv6Network] = [ipaddress.ip_network(name) for name in proxies]

    def of(self, connection: HTTPConnection) -> Caller:
        """Who sent this request."""
        headers = connection.headers
        address = connection.client.host if connection.client else ""
        https = connection.scope.get("scheme") in ("https", "wss")
        if self._is_proxy(address):
            https = headers.get("x-forwarded-proto", "").split(",")[-1].strip().lower() == "https"
            address = self._furthest(address, headers.getlist("x-forwarded-for"))
        found = _HOST.fullmatch(headers.get("host", ""))
        host, authority = (found[1].lower(), found[0].lower()) if found else ("", "")
        forwarded = any(name in headers for name in ("forwarded", "x-forwarded-for", "x-forwarded-host", "via"))
        return Caller(address, host, authority, https, forwarded)

    def _furthest(self, address: str, forwarded: Sequence[str]) -> str:
        """The last address that no proxy of ours has: what stands before it may be made up."""
        for hop in reversed(",".join(forwarded).split(",")):
            if not _is_address(hop.strip()):
                break
            address = hop.strip()
            if not self._is_proxy(address):
                break
        return address

    def _is_proxy(self, address: str) -> bool:
        if not _is_address(address):
            return False
        parsed: Any = ipaddress.ip_address(address)
        parsed = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(parsed in network for network in self._proxies)


def is_loopback(host: str) -> bool:
    """Whether a name or an address, in brackets or not, is this machine's own."""
    host = host.strip("[]").lower()
    if host in _LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def comes_from_elsewhere(connection: HTTPConnection, caller: Caller, hosts: frozenset[str]) -> bool:
    """Whether another site made a browser send this. A browser says so; what is no browser says nothing."""
    site = connection.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = connection.headers.get("origin")
    if origin is None:
        return False
    authority = origin.rpartition("://")[2].lower()
    found = _HOST.fullmatch(authority)
    return found is None or (authority != caller.authority and found[1] not in hosts)


def changes(connection: HTTPConnection) -> bool:
    """Whether a request may change something."""
    return connection.scope.get("method", "GET") not in _SAFE


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
