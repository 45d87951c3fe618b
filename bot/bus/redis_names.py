"""What an installation calls its things in Redis.

Several installations may share a Redis, with database numbers of their own or, by mistake, with the same: pub/sub knows
no numbers, and agents of two bots may have the same id. So every name begins with whose it is. ::

    palimpsest:<installation>:rings             channel: topics that rang
    palimpsest:<installation>:live:<connector>  channel: what is gone in a moment
    palimpsest:<installation>:lease:<name>      who has it
    palimpsest:<installation>:jobs              arq's queue (and :health-check below it)

What arq keeps of a job (``arq:job:…``, ``arq:in-progress:…``, ``arq:retry:…``) is named by the job's id, which is
random.
"""

from __future__ import annotations

from dataclasses import dataclass

_PREFIX = "palimpsest:"
SHARED_LEASES = _PREFIX + "lease:"
"""Leases of processes that knew no installations. While one of them runs beside newer ones, what it has is left to it;
what a newer one has it does not see, so it may take that over: the fence in the book decides then."""
SHARED_RINGS = _PREFIX + "rings"
"""Whoever listens there is such a process."""
ALL_RINGS = _PREFIX + "*:rings"


@dataclass(frozen=True)
class RedisNames:
    """Those of one installation, by its id."""

    installation: str

    @property
    def rings(self) -> str:
        """The channel on which topics ring."""
        return f"{self._prefix}rings"

    @property
    def jobs(self) -> str:
        """The queue of jobs."""
        return f"{self._prefix}jobs"

    @property
    def leases(self) -> str:
        """What the names of all leases begin with."""
        return f"{self._prefix}lease:"

    def live(self, connector: str) -> str:
        """The channel of what is gone in a moment, for the gateways of this connector."""
        return f"{self._prefix}live:{connector}"

    def lease(self, name: str) -> str:
        """The key of a lease."""
        return self.leases + name

    @property
    def _prefix(self) -> str:
        return f"{_PREFIX}{self.installation}:"
