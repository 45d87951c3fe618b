"""`/compact` as people write it: options for this one run, and what to keep in words. Pure.

::

    /compact strategy=monologue keep=2 the order number
             └─ options of the run ──┘ └─ the focus ──┘
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.agent.commands.texts import DEFAULT
from bot.agent.commands.texts import STRATEGIES as TOLD
from bot.compaction import STRATEGIES, Strategy
from bot.compaction.options import option_names
from bot.runtime.foreign_strategy import for_once

STRATEGY = "strategy"
_PAIR = r"[A-Za-z][\w-]{0,60}=\S{0,200}"
_FIRST = re.compile(rf"\s*({_PAIR})(?=\s|\Z)")
_LAST = re.compile(rf"(?:\s+|\A){_PAIR}(?:\s+{_PAIR})*\s*\Z")
_WORDS_ALONE = re.compile(r"--(?:\s+(.*)|\Z)", re.DOTALL)
_IN_WORDS = "What to keep is said in words: /compact the prices and the dates."


class Known(Protocol):
    """The strategies that there are."""

    @property
    def names(self) -> Sequence[str]:
        """Of all of them."""

    def get(self, name: str) -> Strategy | None:
        """The one of this name."""


@dataclass(frozen=True)
class Asked:
    """What a person asked for. ``strategy``: for this run, with its options; None: as always. ``given``: the options
    as they were written."""

    focus: str
    strategy: Strategy | None = None
    given: str = ""


def asked(argument: str, known: Known, usual: Strategy) -> Asked:
    """What stands behind `/compact`: pairs at its beginning or at its end are options. At the end only those that are:
    words of people can end in ``x=5``. Behind ``--`` there are words alone.

    Raises ``ValueError`` with a sentence for people that says what there is.
    """
    pairs, focus = _at_the_beginning(argument)
    words = _WORDS_ALONE.match(focus)
    if words:
        focus = (words[1] or "").strip()
    elif not pairs:
        pairs, focus = _at_the_end(argument, known, usual)
    if not pairs:
        return Asked(focus)
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{twice} is given twice. {_IN_WORDS}")
    strategy = _named(values.pop(STRATEGY, None), known) or usual
    try:
        chosen = for_once(strategy, values)
    except ValueError as error:
        raise ValueError(f"{error} {_IN_WORDS}") from error
    return Asked(focus, chosen, " ".join(f"{key}={value}" for key, value in pairs))


def continues(typed: str) -> Mapping[str, str]:
    """What the last word of a `/compact` or `/strategy` that is being written may become, and a few words about it."""
    command, *words = typed.split(" ")
    if command == "/strategy" and len(words) == 1:
        return {**TOLD, DEFAULT: "as all conversations"}
    if command not in ("/compact", "/summarize") or any("=" not in word for word in words[:-1]):
        return {}
    chosen = next((word.partition("=")[2] for word in words[:-1] if word.startswith(f"{STRATEGY}=")), "")
    if chosen in STRATEGIES:
        return {f"{name}=": f"an option of {chosen}" for name in option_names(STRATEGIES[chosen])}
    return {f"{STRATEGY}={name}": about for name, about in TOLD.items()}


def _at_the_beginning(argument: str) -> tuple[list[tuple[str, str]], str]:
    pairs, rest = [], argument
    while found := _FIRST.match(rest):
        pairs.append(_pair(found[1]))
        rest = rest[found.end() :]
    return pairs, rest.strip()


def _at_the_end(argument: str, known: Known, usual: Strategy) -> tuple[list[tuple[str, str]], str]:
    found = _LAST.search(argument)
    pairs = [_pair(word) for word in found[0].split()] if found else []
    strategy = known.get(dict(pairs).get(STRATEGY, "")) or usual
    there = {STRATEGY, *option_names(strategy)}
    if found and all(key in there for key, _ in pairs):
        return pairs, argument[: found.start()].strip()
    return [], argument.strip()


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return (STRATEGY, value.lower()) if key.lower() == STRATEGY else (key, value)


def _named(name: str | None, known: Known) -> Strategy | None:
    if name is None:
        return None
    found = known.get(name)
    if found is None:
        raise ValueError(f"There is no strategy {name[:40]!r}. There is: {', '.join(known.names)}.")
    return found
