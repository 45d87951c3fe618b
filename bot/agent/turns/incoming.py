"""How what people said gets into a turn: into a new one, or, steered, into one that is under way.

::

    what waits ─▶ a portion of it ─▶ its files opened ─▶ in one step: taken from the inbox, appended as entries
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.step import Step
from bot.compaction import Plan
from bot.files.blocks import blocks_of, is_media, not_taken, parts_of, remove_sent, unseen
from bot.files.parser_pool import Parser
from bot.history import Entry, EntryKind
from bot.history.quotations import quotation_block, spoken_by
from bot.messages import Audience, Block, text_block
from bot.store import inbox
from bot.store.archive.withdrawing import message_key
from bot.store.inbox import Waiting

log = structlog.get_logger(__name__)

MOST_MESSAGES = 50
"""Of those that wait, so many are answered together."""
MOST_SHARE = 0.5
"""Of the limit: what they may take together. The first one is taken however large it is."""
FILE_SHARE = 0.25
"""Of the limit: what is shown at once of one text file."""
WAITS = "👀"
"""Put on a message that has to wait."""
WITHOUT_WORDS = "(sent without words)"


class Incoming:
    """What waits for one agent. ``parser`` opens the files, which lie in its ``folder``; ``hide_deleted``: what people
    delete is hidden from the model, and not only marked."""

    def __init__(self, context: Context, folder: Path, parser: Parser, live: LiveView, *, hide_deleted: bool) -> None:
        self._context = context
        self._folder = folder
        self._parser = parser
        self._live = live
        self._hide_deleted = hide_deleted

    def portion(self, messages: Sequence[Waiting]) -> list[Waiting]:
        """The first of what waits, as far as it is answered together. What has failed before is taken alone."""
        left, taken = self._context.window.limit * MOST_SHARE, list[Waiting]()
        for message in messages[:MOST_MESSAGES]:
            left -= self._context.entry_tokens("user", words_of(message, message.text))
            if taken and (left < 0 or message.tries or taken[0].tries):
                break
            taken.append(message)
        return taken

    async def open(self, messages: Sequence[Waiting]) -> Opened:
        """Open the files that came with these messages."""
        characters = int(self._context.window.limit * FILE_SHARE * 2)  # two characters a token is little
        folder, parser, takes = self._folder, self._parser, self._context.window.link.takes
        files = [await files_of(folder, one, parser, characters=characters, takes=takes) for one in messages]
        return Opened(messages, files)

    async def withdraw(self, deletion: Waiting) -> None:
        """People may take back what they said, whatever runs."""
        async with self._context.step() as step:
            files = await step.withdraw(deletion.text, hide=self._hide_deleted)
            await step.close([deletion.id])
        await asyncio.to_thread(remove_sent, self._folder, files)
        log.info("message_deleted_by_its_author", hidden=self._hide_deleted)

    async def mark(self, messages: Sequence[Waiting]) -> None:
        """People see that these wait."""
        new = [message for message in messages if message.ref and not message.marked]
        if new:
            async with self._context.step() as step:
                still_waiting = await inbox.mark(step.tx, [message.id for message in new], marked=True)
            for message in new:
                if message.id in still_waiting:
                    self._live.react(message.ref, WAITS)

    def taken(self, messages: Sequence[Waiting], *, more: bool = False) -> None:
        """These are being answered, beside those before them where they are ``more``: what said that they wait comes
        off them."""
        self._live.answering(len(messages), more=more)
        for message in messages:
            if message.marked:
                self._live.react(message.ref, "")


@dataclass(frozen=True)
class Appended:
    """Messages that are in the history now, those that nobody had taken before. ``apology``: what is to be said where
    there is nothing to answer, neither a word nor a file that could be read; else empty."""

    messages: Sequence[Waiting]
    apology: str


@dataclass(frozen=True)
class Opened:
    """Messages that wait, and their files as the model is shown them."""

    messages: Sequence[Waiting]
    files: Sequence[Files]

    async def append_to(self, step: Step, turn_id: str, *, begins: bool = False) -> Appended:
        """Give the messages to this turn, which they may begin, and write them into the history."""
        texts = await inbox.take(step.tx, [message.id for message in self.messages], turn_id)
        taken = [(m, sent) for m, sent in zip(self.messages, self.files, strict=True) if m.id in texts]
        is_nothing = begins and all(sent.has_nothing and not texts[m.id].strip() for m, sent in taken)
        if taken:
            first = taken[0][0]
            await step.look_for_zone("" if first.speaker else first.person)
        for message, sent in taken:
            who, words = message.person, words_of(message, texts[message.id])
            if message.kind == inbox.WAKE:
                note = [text_block(texts[message.id])]
                await step.append("user", note, EntryKind.WOKEN, turn=turn_id, audience=Audience.MODEL, person=who)
                continue
            key = message_key(message.key)
            at = message.said_at
            await step.append("user", words, EntryKind.SAID, turn=turn_id, person=who, key=key, said_at=at)
            for file, blocks in zip(message.files, sent.blocks, strict=True):
                whose, of = file.person or who, file.key or key
                await step.append("user", blocks, EntryKind.FILE, turn=turn_id, person=whose, key=of)
            for problem in sent.problems if not is_nothing else ():
                await step.say(problem, answers=message.ref)
        if any(message.kind != inbox.WAKE for message, _ in taken):
            step.restraint = step.restraint.next_message()
        problems = [problem for _, sent in taken for problem in sent.problems] if is_nothing else []
        return Appended([message for message, _ in taken], "\n".join(problems))


@dataclass(frozen=True)
class Files:
    """How a model is shown the files of one message, and sentences for people about those that it cannot see."""

    blocks: tuple[tuple[Block, ...], ...]
    problems: tuple[str, ...]

    @property
    def has_nothing(self) -> bool:
        """Whether there is no file that could be shown."""
        return len(self.problems) == len(self.blocks)


async def files_of(folder: Path, message: Waiting, parser: Parser, *, characters: int, takes: Collection[str]) -> Files:
    """What somebody sent with it. ``characters``: so many are shown of a text file; ``takes``: of the blocks that are
    no text, the types that the model's server is sent."""
    shown: list[tuple[Block, ...]] = []
    problems: list[str] = []
    for file in message.files:
        blocks, problem = await blocks_of(folder, file, parser, room=characters)
        shown.append(tuple(blocks))
        if problem := problem or not_taken(file, blocks, takes):
            problems.append(problem)
    return Files(tuple(shown), tuple(problems))


def words_of(message: Waiting, text: str) -> tuple[Block, ...]:
    """What somebody says, in the words of ``text``; before it a quotation of what it answers, if that is not plain."""
    said = text if text.strip() else WITHOUT_WORDS
    words = spoken_by(message.speaker, said) if message.speaker else text_block(said)
    return (quotation_block(message.quote), words) if message.quote else (words,)


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
