"""How often somebody may do something: a bucket of tokens for each, which fills again with time. In constant memory.

Pure; the clock is passed in, in seconds. One that is set back takes nothing away.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass
class _Bucket:
    left: float
    at: float


class TokenBuckets:
    """``size`` tokens for each key, all at once or spread; an empty bucket is full again after ``fill_seconds``.

    0 tokens: there is no limit. Of more than ``most`` keys those are forgotten that took nothing for longest.
    """

    def __init__(self, size: int, fill_seconds: float, *, most: int) -> None:
        self._size = size
        self._fill_seconds = fill_seconds
        self._most = most
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def allows(self, key: str, now: float) -> bool:
        """Take a token, if there is one."""
        if self._size <= 0:
            return True
        bucket = self._filled(key, now)
        is_allowed = bucket.left >= 1
        if is_allowed:
            bucket.left -= 1
        return is_allowed

    def take(self, key: str, now: float) -> None:
        """Something has happened, whether there was a token for it or not."""
        self._filled(key, now).left -= 1

    def give_back(self, key: str) -> None:
        """What a token was taken for did not happen."""
        if bucket := self._buckets.get(key):
            bucket.left = min(self._size, bucket.left + 1)

    def wait(self, key: str, now: float) -> float:
        """Seconds until there is a token; 0: there is one."""
        if self._size <= 0 or key not in self._buckets:
            return 0.0
        return max(0.0, (1 - self._left(self._buckets[key], now)) * self._fill_seconds / self._size)

    def _filled(self, key: str, now: float) -> _Bucket:
        bucket = self._buckets.setdefault(key, _Bucket(self._size, now))
        self._buckets.move_to_end(key)
        bucket.left, bucket.at = self._left(bucket, now), now
        while len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return bucket

    def _left(self, bucket: _Bucket, now: float) -> float:
        passed = max(0.0, now - bucket.at)
        return min(float(self._size), bucket.left + passed * self._size / self._fill_seconds)
