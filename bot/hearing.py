"""How what people said gets into a turn: into a new one, or, steered, into one that is under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import said
from bot.context import Context
from bot.history import EntryKind
from bot.said import Files
from bot.step import Step
from bot.store import inbox
from bot.store.archive.withdrawing import message_key
from bot.store.inbox import Waiting

FILE_SHARE = 0.25
"""Of the limit: what is shown at once of one text file."""


MOST_MESSAGES = 50
"""Of those that wait, so many are answered together."""
MOST_SHARE = 0.5
"""Of the limit: what they may take together. The first one is taken however large it is."""


def portion(messages: Sequence[Waiting], context: Context) -> list[Waiting]:
    """The first of what waits, as far as it is answered together. What has failed before is taken alone."""
    room, taken = context.limit * MOST_SHARE, list[Waiting]()
    for message in messages[:MOST_MESSAGES]:
        room -= context.entry_tokens("user", said.words_of(message, message.text))
        if taken and (room < 0 or message.tries or taken[0].tries):
            break
        taken.append(message)
    return taken


@dataclass(frozen=True)
class Heard:
    """Messages that wait, and their files as the model is shown them."""

    messages: Sequence[Waiting]
    files: Sequence[Files]

    @classmethod
    async def of(cls, context: Context, messages: Sequence[Waiting]) -> Heard:
        """Open the files that came with these messages."""
        room = int(context.limit * FILE_SHARE * 2)  # two characters a token is little
        folder, parser = context.folder, context.services.parser
        return cls(messages, [await said.files_of(folder, message, parser, room=room) for message in messages])

    async def enter(self, step: Step, turn_id: str, *, begins: bool = False) -> Entered:
        """Give the messages to this turn, which they may begin, and write them into the history."""
        texts = await inbox.take(step.tx, [message.id for message in self.messages], turn_id)
        entered = [(m, sent) for m, sent in zip(self.messages, self.files, strict=True) if m.id in texts]
        is_nothing = begins and all(sent.has_nothing and not texts[m.id].strip() for m, sent in entered)
        for message, sent in entered:
            who, words = message.person, said.words_of(message, texts[message.id])
            key = message_key(message.key)
            await step.append("user", words, EntryKind.SAID, turn=turn_id, person=who, key=key)
            for file, blocks in zip(message.files, sent.blocks, strict=True):
                whose, of = file.person or who, file.key or key
                await step.append("user", blocks, EntryKind.FILE, turn=turn_id, person=whose, key=of)
            for problem in sent.problems if not is_nothing else ():
                await step.say(problem, answers=message.ref)
        if entered:
            step.restraint = step.restraint.next_message()
        problems = [problem for _, sent in entered for problem in sent.problems] if is_nothing else []
        return Entered([message for message, _ in entered], "\n".join(problems))


@dataclass(frozen=True)
class Entered:
    """Messages that are in the history now, those that nobody had taken before. ``sorry``: what is to be said where
    there is nothing to answer, neither a word nor a file that could be read; else empty."""

    messages: Sequence[Waiting]
    sorry: str


def unmark(context: Context, messages: Sequence[Waiting]) -> None:
    """What said that these messages wait comes off them."""
    for message in messages:
        if message.marked:
            context.react(message.ref, "")
