"""Why a compaction by hand was refused. Each is a ``ValueError`` too: for whoever calls the function, an argument
was wrong. Pure.

::

    NotCompacted         nothing was compacted; the text is one sentence
    ├── BadMessages      these are no messages of the Messages API
    ├── NeedsSummary     the strategy wants a summary, and none was given
    ├── NoSummary        what was given as a summary says nothing
    └── CannotFit        all that could go is gone, and it is still too large
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.compaction.plan import Plan
from bot.errors import PalimpsestError
from bot.messages import Message

if TYPE_CHECKING:
    from bot.compaction.manual.manual import CompactionResult


class NotCompacted(PalimpsestError, ValueError):
    """The messages were not compacted; the text is one sentence that says why."""


class BadMessages(NotCompacted):
    """Not messages of the Messages API; the text names the index of the first one that is none."""


class NeedsSummary(NotCompacted):
    """``plan`` wants a summary of ``messages``. Who has one calls again, with it."""

    def __init__(self, plan: Plan, messages: Sequence[Message], *, updates: bool) -> None:
        super().__init__(
            f"The strategy {plan.strategy} wants a summary of what it takes out: "
            "give its text (--summary FILE), or let a model write it (--with-model)."
        )
        self.plan = plan
        self.messages = tuple(messages)
        self.updates = updates
        """Whether an earlier summary is among the messages."""


class NoSummary(NotCompacted):
    """The text that was given as a summary is empty, or says that there is none."""


class CannotFit(NotCompacted):
    """Still over the limit; the text names the part to blame (FEATURES P6). ``result``: how far it came."""

    def __init__(self, sentence: str, result: CompactionResult) -> None:
        super().__init__(sentence)
        self.result = result
