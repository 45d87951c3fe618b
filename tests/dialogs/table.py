"""What a table is written with: people, the bot, and what the model does behind it.

A dialog is a table of who says what::

    await play(
        ada("My dog is Rex."),
        bot("Noted*"),
        ada("What is my dog?"),
        bot("The dog is Rex."),
    )

People speak when everything before is done; only while the model is held (``holds()`` … ``goes_on()``) they go on at
once. ``bot`` names everything that the bot says in a place, in order: a message that the table does not have is an
error. `*` in a pattern stands for anything, ``{name}`` for a word that later lines can use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from tests.dialogs.line import Line
from tests.dialogs.pattern import Exactly, reads
from tests.dialogs.scene import NotSoError, Scene, Step
from tests.dialogs.stage import Place, Where, Who

GROUP, TEA, COFFEE = Place.GROUP, Place.TEA, Place.COFFEE
SOON = 5.0


@dataclass(frozen=True)
class Person(Who):
    """Somebody who says and does things, in private unless a place is named."""

    def __call__(self, text: str, where: Place | None = None) -> Step:
        """Say something; a command is given in the platform's own way."""

        async def do(scene: Scene, place: Where) -> None:
            said = str(scene.filled(text))
            if said.startswith("/"):
                await scene.stage.orders(self, said, place)
            else:
                await scene.stage.says(self, said, place, addressed=False, answers="")

        return self._acts(f"{self.name}: {text}", where, do)

    def writes(self, text: str, where: Place | None = None) -> Step:
        """Say something as plain text, be it a command."""
        return self._acts(
            f"{self.name} writes: {text}",
            where,
            lambda scene, place: scene.stage.says(self, text, place, addressed=False, answers=""),
        )

    def to_bot(self, text: str, where: Place | None = None) -> Step:
        """Say something to the bot, by its name."""
        return self._acts(
            f"{self.name}: @bot {text}",
            where,
            lambda scene, place: scene.stage.says(self, text, place, addressed=True, answers=""),
        )

    def replies(self, text: str, where: Place | None = None, *, to: str) -> Step:
        """Say something as a reply to a message of the bot."""
        return self._acts(
            f"{self.name}, to {to!r}: {text}",
            where,
            lambda scene, place: scene.stage.says(self, text, place, addressed=False, answers=to),
        )

    def sends(self, text: str, files: Mapping[str, bytes], *, as_photo: bool = False) -> Step:
        """Send files with these words."""
        return self._acts(
            f"{self.name}: {text} 📎 {', '.join(files)}",
            None,
            lambda scene, place: scene.stage.sends(self, text, place, files, as_photo=as_photo),
        )

    def edits(self, text: str, new: str, where: Place | None = None) -> Step:
        """Change what was said."""
        return self._acts(
            f"{self.name} changes {text!r} into: {new}",
            where,
            lambda scene, place: scene.stage.edits(self, text, new, place),
        )

    def presses(self, label: str, where: Place | None = None, *, earliest: bool = False) -> Step:
        """Press a button, under the newest message that has it or under the earliest."""
        return self._acts(
            f"{self.name} presses {'the earliest ' if earliest else ''}[{label}]",
            where,
            lambda scene, place: scene.stage.presses(self, label, place, earliest=earliest),
        )

    def stops(self, where: Place | None = None) -> Step:
        """Stop the bot: by the button of what is being written, Ctrl-C, or /abort."""
        return self._acts(f"{self.name} stops it", where, lambda scene, place: scene.stage.stops(self, place))

    def _acts(self, told: str, where: Place | None, do: Callable[[Scene, Where], Awaitable[object]]) -> Step:
        place: Where = where or self

        async def act(scene: Scene) -> None:
            await scene.about_to_act(place)
            await do(scene, place)

        return Line(f"{told}{_in(place)}", act)


ada, bob, eve = Person("Ada", 1001), Person("Bob", 1002), Person("Eve", 1003)


def bot(pattern: str | Exactly, where: Where = ada, *, answers: str | None = None) -> Step:
    """The bot says this next. ``answers``: it is a visible reply to that message."""

    async def read(scene: Scene) -> None:
        post = await scene.read(where, pattern)
        if answers is not None and answers not in post.answers:
            raise NotSoError(f"it replies to {post.answers!r}")

    return Line(f"bot: {_text(pattern)}{_in(where)}", read)


def bot_on_terminal(pattern: str | Exactly, where: Where = ada) -> Step:
    """The bot says this next where it is a terminal; elsewhere it is seen without words."""

    async def read(scene: Scene) -> None:
        if scene.stage.name == "terminal":
            await scene.read(where, pattern)

    return Line(f"bot, on a terminal: {_text(pattern)}{_in(where)}", read)


def bot_at_length(pattern: str | Exactly, where: Where = ada) -> Step:
    """The bot says this next, in as many messages as it takes."""
    return Line(f"bot, at length: {_text(pattern)[:60]}", lambda scene: scene.read(where, pattern, several=True))


def bot_changes(pattern: str | Exactly, where: Where = ada) -> Step:
    """A message that was read reads so now."""
    return Line(f"bot changes that into: {_text(pattern)}{_in(where)}", lambda scene: scene.changes(where, pattern))


def bot_sends(name: str, content: bytes, caption: str, where: Where = ada) -> Step:
    """A file comes, with these words."""

    async def see(scene: Scene) -> None:
        post = await scene.read(where, caption)
        if post.files != {name: content}:
            raise NotSoError(f"the files are {dict(post.files)}")

    return Line(f"bot: {caption} 📎 {name}", see)


def growing(pattern: str, where: Where = ada) -> Step:
    """A reply is seen while it is being written."""
    return Line(
        f"growing: {pattern}",
        lambda scene: scene.wait(lambda: reads(scene.stage.growing(where), pattern) is not None),
    )


def typing(where: Where = ada) -> Step:
    """The bot shows that it is at work, soon after somebody did something."""

    async def shown(scene: Scene) -> None:
        try:
            await scene.wait(lambda: scene.stage.typed(where, scene.acted_at), SOON)
        except TimeoutError:
            raise NotSoError(f"it does not show within {SOON:.0f} s that it is at work") from None

    return Line(f"typing{_in(where)}", shown)


def no_typing(where: Where = ada) -> Step:
    """It shows that no more."""
    return Line(f"no typing{_in(where)}", lambda scene: scene.wait(lambda: not scene.stage.is_typing(where)))


def marked(text: str, *emoji: str, who: Person = ada) -> Step:
    """What somebody said carries these reactions, and no others."""
    return Line(
        f"{text!r} is marked with {' '.join(emoji) or 'nothing'}",
        lambda scene: scene.wait(lambda: tuple(scene.stage.marks(who, text, who)) == emoji),
    )


def buttons(*labels: str, where: Where = ada) -> Step:
    """The message that was read last has these buttons now."""
    return Line(
        f"buttons: {' '.join(f'[{label}]' for label in labels) or 'none'}",
        lambda scene: scene.wait(lambda: scene.last_read(where).buttons == labels),
    )


def nobody_pinged(where: Where = ada) -> Step:
    """Nothing that the bot said has notified anybody by a mention."""

    async def look(scene: Scene) -> None:
        if pinged := [who for post in scene.stage.posts(where) for who in post.pinged]:
            raise NotSoError(f"it notified {pinged}")

    return Line("nobody is notified", look)


def _in(where: Where) -> str:
    if isinstance(where, Place):
        return f"   (in {where.value})"
    return "" if where == ada else f"   ({where.name}'s chat)"


def _text(pattern: str | Exactly) -> str:
    return pattern.text if isinstance(pattern, Exactly) else pattern
