"""What people say, as entries of a history: their words, named where several talk, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.compaction import Plan
from bot.files.blocks import blocks_of, is_media, parts_of, unseen
from bot.files.parser_pool import Parser
from bot.history import Entry
from bot.history.quotations import quotation_block
from bot.messages import Block, text_block
from bot.store.inbox import Waiting

WITHOUT_WORDS = "(sent without words)"


@dataclass(frozen=True)
class Files:
    """How a model is shown the files of one message, and sentences for people about those that it cannot see."""

    blocks: tuple[tuple[Block, ...], ...]
    problems: tuple[str, ...]

    @property
    def has_nothing(self) -> bool:
        """Whether there is no file that could be shown."""
        return len(self.problems) == len(self.blocks)


def words_of(message: Waiting, text: str) -> tuple[Block, ...]:
    """What somebody says, in the words of ``text``; before it a quotation of what it answers, if that is not plain."""
    speaker = f"{message.speaker}: " if message.speaker else ""
    words = text_block(f"{speaker}{text if text.strip() else WITHOUT_WORDS}")
    return (quotation_block(message.quote), words) if message.quote else (words,)


async def files_of(folder: Path, message: Waiting, parser: Parser, *, room: int) -> Files:
    """What somebody sent with it. ``room``: characters that are shown of a text file."""
    shown: list[tuple[Block, ...]] = []
    problems: list[str] = []
    for file in message.files:
        blocks, problem = await blocks_of(folder, file, parser, room=room)
        shown.append(tuple(blocks))
        if problem:
            problems.append(problem)
    return Files(tuple(shown), tuple(problems))


def without_media(view: Sequence[Entry], turn: str) -> Plan | None:
    """A layer that shows the model only the names of pictures and documents: of this turn where it has any, else of
    all turns. None when there are none."""
    media = [entry for entry in view if any(_has_media(block) for block in entry.blocks)]
    gone = [entry for entry in media if entry.turn == turn] or media
    if not gone:
        return None
    return Plan(
        strategy="unseen",
        upto=max(entry.seq for entry in view),
        floor=min(entry.seq for entry in view),
        replaced={entry.seq: tuple(_named(block) for block in entry.blocks) for entry in gone},
        kind="unseen",
    )


def _has_media(block: Block) -> bool:
    return is_media(block) or any(map(is_media, parts_of(block)))


def _named(block: Block) -> Block:
    """Only the names of what is no text, in the result of a tool too."""
    if is_media(block):
        return text_block(unseen(block))
    if any(map(is_media, parts_of(block))):
        return {**block, "content": [_named(part) for part in parts_of(block)]}
    return block
