"""The conversation: 1,000 turns of talk, facts, questions near and far, pasted texts, and files that tools open.

It is made by a generator with a fixed seed, so that everybody holds the same one. Per turn and on average it adds about
1,000 tokens: most turns are short, and a few bring much (a pasted text, a file of several pages).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.bench.sawtooth import matter
from tests.bench.sawtooth.conversation import ATTRIBUTES, FAR, Asks, Line

SEED = 1847
AT_ONCE = 12
"""Files that are looked into in one reply."""
TOLD = "Tell me at length what speaks for it."
"""What the model answers with several hundred tokens."""


def talk(turns: int) -> tuple[Line, ...]:
    """So many lines of one person."""
    return _Writer().write(turns)


@dataclass
class _Writer:
    rng: random.Random = field(default_factory=lambda: random.Random(SEED))
    lines: list[Line] = field(default_factory=list)
    said: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Name of a fact to its value and the turn in which it was said."""
    files: list[tuple[str, str, str]] = field(default_factory=list)
    """File, name of the fact in it, value."""
    ends: list[str] = field(default_factory=list)
    """Each file with where its last lines begin, as ``files/name@characters``."""

    def write(self, turns: int) -> tuple[Line, ...]:
        steps: list[tuple[int, Callable[[], None]]] = [
            (34, self._chat),
            (22, self._discuss),
            (8, self._fact),
            (2, self._correct),
            (7, lambda: self._ask(Asks.NEAR)),
            (6, lambda: self._ask(Asks.FAR)),
            (4, self._file),
            (12, self._look),
            (2, self._compare),
            (5, self._paste),
        ]
        weights = [weight for weight, _ in steps]
        while len(self.lines) < turns:
            [(_, step)] = self.rng.choices(steps, weights)
            step()
        return tuple(self.lines)

    def _chat(self) -> None:
        self.lines.append(Line(self.rng.choice(matter.TALK)))

    def _discuss(self) -> None:
        self.lines.append(Line(f"{matter.prose(self.rng, self.rng.randint(2, 8))} {TOLD}"))

    def _paste(self) -> None:
        self.lines.append(Line("Here is a draft to read:\n" + matter.prose(self.rng, self.rng.randint(50, 200))))

    def _fact(self) -> None:
        number = len(self.said)
        name = f"{self.rng.choice(matter.PROJECTS)} {self.rng.choice(ATTRIBUTES)} of lot {number}"
        self._tell(name, "Please note: the {} is {}. I shall come back to it.")

    def _correct(self) -> None:
        if self.said:
            name = self.rng.choice(list(self.said))
            self._tell(name, "A correction, forget what I said before: the {} is {}.")

    def _tell(self, name: str, text: str) -> None:
        value = f"{self.rng.choice(matter.WORDS)} {self.rng.randrange(1000, 9999)}-{self.rng.randrange(10, 99)}"
        self.said[name] = value, len(self.lines)
        self.lines.append(Line(text.format(name, value)))

    def _ask(self, asks: Asks) -> None:
        now = len(self.lines)
        fitting = [n for n, (_, turn) in self.said.items() if (now - turn > FAR) == (asks is Asks.FAR)]
        if not fitting:
            self._chat()
            return
        name = self.rng.choice(fitting)
        self.lines.append(Line(f"What is the {name}?", asks, self.said[name][0]))

    def _file(self) -> None:
        number = len(self.files)
        project = matter.PROJECTS[number % len(matter.PROJECTS)]
        setting, value = f"{self.rng.choice(matter.SETTINGS)} {number}", self.rng.randrange(100, 9999)
        if number % 2:
            name, content = f"{project}{number}.log", matter.log_file(self.rng, project, setting, value, 200)
        else:
            functions = self.rng.randint(20, 60)
            name, content = f"{project}{number}.py", matter.source_file(self.rng, project, setting, value, functions)
        self.files.append((name, f"{project} {setting}", str(value)))
        self.ends.append(f"files/{name}@{len(content) - 300}")
        self.lines.append(Line(f"This is {name}, as it runs here.", files={name: content}))

    def _look(self) -> None:
        if not self.files:
            self._chat()
            return
        name, fact, value = self.rng.choice(self.files[-4:])
        self.lines.append(Line(f"Please look into files/{name}. What is the {fact}?", Asks.FILE, value))

    def _compare(self) -> None:
        """Many files at once: one reply with as many calls, and more blocks than the cache looks back over."""
        if len(self.ends) < AT_ONCE:
            self._chat()
            return
        self.lines.append(Line(f"Compare how these end: {', '.join(self.rng.sample(self.ends, AT_ONCE))}"))
