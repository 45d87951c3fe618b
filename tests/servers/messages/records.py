"""What a model server keeps about its requests, and the sums over them."""

import asyncio
from pathlib import Path

from typing_extensions import override

from tests.servers.messages.wire import Outcome, Record
from tests.servers.watched import Watched


class Records(Watched):
    """Every request in order of arrival; those that only count tokens are apart."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Record] = []
        self.counts: list[Record] = []
        self.journal: Path | None = None

    @property
    def hangups(self) -> int:
        """How many clients closed before their answer ended."""
        return self._total("hung_up")

    @property
    def running(self) -> int:
        """How many requests are being answered now."""
        return self._total("running")

    @property
    def completed(self) -> list[Record]:
        """The requests that got their whole answer."""
        return [record for record in self.requests if record.outcome == "completed"]

    @property
    def refused(self) -> list[Record]:
        """The requests that broke a rule: mostly a test wants this to be empty."""
        return [record for record in self.requests if record.outcome == "refused"]

    @property
    def cache_read_tokens(self) -> int:
        """Prompt tokens read from the cache, over all accepted requests."""
        return sum(record.usage.cache_read_input_tokens for record in self.requests)

    @property
    def input_tokens_total(self) -> int:
        """All prompt tokens, cached or not, over all accepted requests."""
        return sum(record.usage.prompt_tokens for record in self.requests)

    def _total(self, outcome: Outcome) -> int:
        return sum(record.outcome == outcome for record in self.requests)

    @override
    def describe(self) -> str:
        """The requests and what became of them, for a wait that timed out."""
        said = [(r.status, r.outcome, r.deltas, str(r.error or "")) for r in self.requests]
        return f"{len(said)} requests: {said[-20:]}"

    def _end(self, record: Record, outcome: Outcome, status: int | None = None) -> None:
        """Note how a request ended; what ended once stays as it is."""
        if record.outcome != "running":
            return
        record.outcome = outcome
        record.status = record.status if status is None else status
        record.ended = asyncio.get_running_loop().time()
        if self.journal is not None:
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(record.journal_line() + "\n")
        self.changed()
