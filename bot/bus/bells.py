"""Bells: who waits for something new, and is woken by the name of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bot.bus.topics import Topic, all_of_its_kind

SWEEP_SECONDS = 5.0
"""A bell may be lost: who waits for one looks by itself so often."""
_MOST_RUNG = 10_000
"""Topics that a bell tells apart; when more rang, anything may have."""


class Bell:
    """Waits for rings of some topics. ``wait`` returns what rang since the last time; ``None`` stands for anything."""

    def __init__(self, topics: tuple[Topic, ...]) -> None:
        self.topics = topics
        self._rung: set[Topic | None] = set()
        self._event = asyncio.Event()

    def strike(self, topic: Topic | None) -> None:
        """Wake who waits."""
        if len(self._rung) >= _MOST_RUNG:
            self._rung = {None}
        self._rung.add(topic)
        self._event.set()

    def nudge(self) -> None:
        """Wake who waits although nothing rang."""
        self._event.set()

    async def wait(self, timeout: float) -> set[Topic | None]:  # the time-out is what a sweep is made of
        """What rang, or nothing after ``timeout`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        self._event.clear()
        rung, self._rung = self._rung, set()
        return rung


class Bells:
    """All bells of a process, found by what they wait for. A topic that ends in a colon stands for all below it."""

    def __init__(self) -> None:
        self._by_topic: defaultdict[Topic, set[Bell]] = defaultdict(set)

    @contextmanager
    def hung(self, *topics: Topic) -> Iterator[Bell]:
        """A bell for these topics. It rings once at the start, so that who waits reads first."""
        bell = Bell(topics)
        bell.strike(None)
        for topic in topics:
            self._by_topic[topic].add(bell)
        try:
            yield bell
        finally:
            for topic in topics:
                self._by_topic[topic].discard(bell)
                if not self._by_topic[topic]:
                    del self._by_topic[topic]

    def strike(self, topic: Topic) -> None:
        """Wake who waits for it."""
        for name in {topic, all_of_its_kind(topic)}:
            for bell in self._by_topic.get(name, ()):
                bell.strike(topic)

    def strike_all(self) -> None:
        """Anything may have rung."""
        for bells in self._by_topic.values():
            for bell in bells:
                bell.strike(None)
