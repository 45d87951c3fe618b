"""One conversation of 300 turns: small talk, facts and their corrections, questions near and far, files and tools.

It is the same for everybody and at every time. Facts are sentences that :mod:`tests.servers.messages.brain` reads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from tests.bench.sawtooth import matter

TURNS = 300
SEED = 1759
FAR = 40
"""Turns: a fact that was said longer ago is an old one."""
ATTRIBUTES = ("deadline", "budget", "door code", "contact", "invoice number", "print run")


class Asks(Enum):
    """What a person wants to know."""

    NOTHING = "nothing"
    NEAR = "near"
    """What was said in the last :data:`FAR` turns."""
    FAR = "far"
    """What was said before them."""
    FILE = "file"
    """What stands in a file that the model has to open."""


@dataclass(frozen=True)
class Line:
    """What a person says in one turn. ``expects``: what a right answer holds; ``files``: sent along, by name."""

    text: str
    asks: Asks = Asks.NOTHING
    expects: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)


def conversation() -> tuple[Line, ...]:
    """All of it. The last line asks for what the line before it says."""
    return _Writer().write()


@dataclass
class _Writer:
    rng: random.Random = field(default_factory=lambda: random.Random(SEED))
    lines: list[Line] = field(default_factory=list)
    said: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """Project and attribute to value and turn: of two values the later one holds."""
    in_files: list[tuple[str, str, str]] = field(default_factory=list)
    """File, name of the fact in it, value."""

    def write(self) -> tuple[Line, ...]:
        talk, far, near = self._talk, self._far, self._near
        rounds: list[list[Callable[[], None]]] = [
            [self._fact, talk, self._file, talk, self._look, self._fact, talk, near, talk, far],
            [talk, self._fact, talk, self._correct, near, talk, self._look, talk, self._rule, talk],
            [self._fact, talk, near, talk, self._look, talk, far, self._fact, talk, self._list],
        ]
        while len(self.lines) < TURNS:
            for step in rounds[len(self.lines) // 10 % len(rounds)]:
                step()
            if len(self.lines) == TURNS // 2:
                self.lines[-1] = Line("Here is the whole brochure text, for later:\n" + matter.prose(self.rng, 40))
        del self.lines[TURNS - 2 :]
        self._fact()
        self._ask(next(reversed(self.said)), Asks.NEAR)
        return tuple(self.lines)

    def _talk(self) -> None:
        self.lines.append(Line(self.rng.choice(matter.TALK)))

    def _rule(self) -> None:
        self.lines.append(Line(self.rng.choice(matter.RULES)))

    def _fact(self) -> None:
        attribute = self.rng.choice(ATTRIBUTES)
        free = [project for project in matter.PROJECTS if (project, attribute) not in self.said]
        if not free:
            self._correct()
            return
        name = self.rng.choice(free), attribute
        self._tell(name, "Please note: the {} is {}. I shall come back to it.")

    def _correct(self) -> None:
        """Somebody changed their mind about something old."""
        name = self.rng.choice(list(self.said)[: max(1, len(self.said) // 2)])
        self._tell(name, "A correction, forget what I said before: the {} is {}.")

    def _tell(self, name: tuple[str, str], text: str) -> None:
        value = self._value(name[1])
        self.said.pop(name, None)  # the newest stand at the end
        self.said[name] = value, len(self.lines)
        self.lines.append(Line(text.format(" ".join(name), value)))

    def _value(self, attribute: str) -> str:
        number = self.rng.randrange
        if attribute == "deadline":
            return f"{number(1, 29)} {self.rng.choice(matter.MONTHS)}"
        if attribute == "budget":
            return f"{number(11, 99) * 100:,} euros"
        if attribute == "door code":
            return f"{number(1000, 9999)}-{number(10, 99)}"
        if attribute == "contact":
            return f"{self.rng.choice(matter.WORDS)}{number(10, 99)}@press.example"
        if attribute == "invoice number":
            return f"INV-{number(10_000, 99_999)}"
        return f"{number(3, 60) * 50} copies"

    def _near(self) -> None:
        self._ask_of(Asks.NEAR)

    def _far(self) -> None:
        self._ask_of(Asks.FAR)

    def _ask_of(self, asks: Asks) -> None:
        now = len(self.lines)
        fitting = [n for n, (_, turn) in self.said.items() if (now - turn > FAR) == (asks is Asks.FAR)]
        if fitting:
            self._ask(self.rng.choice(fitting), asks)
        else:
            self._talk()

    def _ask(self, name: tuple[str, str], asks: Asks) -> None:
        self.lines.append(Line(f"What is the {' '.join(name)}?", asks, self.said[name][0]))

    def _file(self) -> None:
        """Two in three are code, the others logs; their setting stands where one look does not always reach."""
        count = len(self.in_files)
        project = matter.PROJECTS[count % len(matter.PROJECTS)]
        setting, value = matter.SETTINGS[count % len(matter.SETTINGS)], self.rng.randrange(100, 9999)
        if count % 3 == 2:
            name, content = f"{project}.log", matter.log_file(self.rng, project, setting, value, 30)
        else:
            name, content = f"{project}.py", matter.source_file(self.rng, project, setting, value, 8 + 5 * (count % 2))
        self.in_files.append((name, f"{project} {setting}", str(value)))
        self.lines.append(Line(f"This is {name}, as it runs here.", files={name: content}))

    def _look(self) -> None:
        if not self.in_files:
            self._talk()
            return
        name, fact, value = self.rng.choice(self.in_files[-3:])
        self.lines.append(Line(f"Please look into files/{name}. What is the {fact}?", Asks.FILE, value))

    def _list(self) -> None:
        newest = self.in_files[-1][0]
        self.lines.append(Line("Which files do I have here?", Asks.FILE, newest))
