"""How a conversation looks on the chat page: its lines, its meter, as HTML for one visitor."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bot.bus.events import MeterFacts
from bot.compaction.memory_gate.gate import gates_in
from bot.compaction.memory_report import REASONS, runtime_in
from bot.estimate.meter import MeterRecord
from bot.messages import Address, Kept
from bot.page import markup
from bot.page.access.visitor import Visitor
from bot.page.chat import files
from bot.page.chat.moments import Moment
from bot.page.context import PageContext
from bot.store.operators.talk import Line, Place


@dataclass(frozen=True)
class ShownFile:
    """A file as people see it. Without an ``url`` it is not there (yet); ``picture``: where to look at it."""

    name: str
    url: str = ""
    picture: str = ""
    size: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Shown:
    """The newest lines, the oldest first, the place before them, and what was the meter's last word in the book."""

    lines: Sequence[Line]
    before: Place | None
    meter: MeterRecord | None

    @property
    def digest(self) -> str:
        """Tells whether somebody has seen all of it as it is now."""
        told = "\n".join(f"{line.id}:{line.version}" for line in self.lines)
        return hashlib.blake2s(told.encode(), digest_size=12).hexdigest()


class View:
    """Makes the HTML of one conversation for one visitor."""

    def __init__(self, context: PageContext, visitor: Visitor, address: Address) -> None:
        self._rendering = context.rendering
        self._visitor = visitor
        self._chat = address.chat
        self._agent = address.agent_id
        self._key = f"message:{address.chat}:"

    def lines(self, lines: Sequence[Line], moment: Moment) -> Markup:
        """Several lines, one below the other."""
        return Markup("").join(self.line(line, self.blocks(written(line, moment))) for line in lines)

    def line(self, line: Line, blocks: Sequence[Markup]) -> Markup:
        """One of them. ``blocks``: what the model says in it."""
        text = self._rendering.text(
            "chat_line.html",
            line=line,
            blocks=blocks,
            files=[self._file(file) for file in line.files],
            key=line.key.removeprefix(self._key) if line.key.startswith(self._key) else "",
            chat=self._chat,
            csrf=self._visitor.csrf,
            memory=runtime_in(line.payload),
            rewritten=gates_in(line.payload),
            reasons={reason.value: told for reason, told in REASONS.items()},
            agent=self._agent,
        )
        return Markup(text)  # noqa: S704  # made by a template that escapes

    def blocks(self, text: str) -> list[Markup]:
        """Markdown, block by block."""
        return markup.blocks(self._rendering.shown(text))

    def meter(self, facts: MeterFacts | MeterRecord | None) -> Markup:
        """How full the context is; empty before that is known."""
        if not facts:
            return Markup("")
        return Markup(self._rendering.text("chat_meter.html", facts=facts))  # noqa: S704  # likewise

    def _file(self, file: Kept) -> ShownFile:
        if not file.path:
            return ShownFile(file.name, size=file.size, problem=file.problem)
        url = files.url_of(self._chat, file.path)
        picture = f"{url}?shown" if files.may_be_picture(file.path) else ""
        return ShownFile(file.name, url, picture, file.size)


def written(line: Line, moment: Moment) -> str:
    """What stands in a line of the model in this moment; nothing for what others say, which is no Markdown."""
    if line.who != "model":
        return ""
    return line.text if line.slot is None else moment.texts.get(line.slot, "")
