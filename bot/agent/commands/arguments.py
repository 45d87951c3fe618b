"""What people write behind `/compact` and `/strategy`: names, options of one run, what to keep in words. Pure.

::

    /compact strategy=monologue keep=2 the order number
             └─ options of the run ──┘ └─ the focus ──┘
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from bot.compaction import STRATEGIES, Strategy
from bot.compaction.options import option_names
from bot.runtime.foreign_strategy import for_once

if TYPE_CHECKING:
    from bot.runtime.strategies import Strategies

ABOUT_STRATEGIES: Mapping[str, str] = MappingProxyType(
    {
        "reset": "everything summarised; the summary and the latest request stay",
        "segmented": "the beginning and the end stay word for word, the middle is summarised",
        "memory": "facts, rules and results are listed; no model is asked",
        "monologue": "questions and answers stay, what was done in between goes; no model is asked",
        "tiered": "files first, then what has least to do with the question, then a summary",
        "two_phase": "old tool results first; if that is not enough, a summary and the latest messages",
    }
)
"""What each strategy does, for people."""
WITHOUT_SUMMARIES = ("memory", "monologue")
"""Those that ask no model."""
DEFAULT = "default"
"""`/strategy default`: as all conversations that have not chosen."""
STRATEGY = "strategy"
"""The option that names one."""
_PAIR = r"[A-Za-z][\w-]{0,60}=\S{0,200}"
_FIRST = re.compile(rf"\s*({_PAIR})(?=\s|\Z)")
_LAST = re.compile(rf"(?:\s+|\A){_PAIR}(?:\s+{_PAIR})*\s*\Z")
_WORDS_ALONE = re.compile(r"--(?:\s+(.*)|\Z)", re.DOTALL)
_IN_WORDS = "What to keep is said in words: /compact the prices and the dates."


@dataclass(frozen=True)
class CompactArguments:
    """What a person asked for. ``strategy``: for this run, with its options; None: as always. ``given``: the options
    as they were written."""

    focus: str
    strategy: Strategy | None = None
    given: str = ""


def compact_arguments(argument: str, known: Strategies, usual: Strategy) -> CompactArguments:
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
        return CompactArguments(focus)
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{twice} is given twice. {_IN_WORDS}")
    strategy = _named(values.pop(STRATEGY, None), known) or usual
    try:
        chosen = for_once(strategy, values)
    except ValueError as error:
        raise ValueError(f"{error} {_IN_WORDS}") from error
    return CompactArguments(focus, chosen, " ".join(f"{key}={value}" for key, value in pairs))


def complete_compact(words: Sequence[str]) -> Mapping[str, str]:
    """What the last of these words behind a `/compact` may become, and a few words about it."""
    if any("=" not in word for word in words[:-1]):
        return {}
    chosen = next((word.partition("=")[2] for word in words[:-1] if word.startswith(f"{STRATEGY}=")), "")
    if chosen in STRATEGIES:
        return {f"{name}=": f"an option of {chosen}" for name in option_names(STRATEGIES[chosen])}
    return {f"{STRATEGY}={name}": about for name, about in ABOUT_STRATEGIES.items()}


def complete_strategy(words: Sequence[str]) -> Mapping[str, str]:
    """What the word behind a `/strategy` may become."""
    return {**ABOUT_STRATEGIES, DEFAULT: "as all conversations"} if len(words) == 1 else {}


def strategies_in_words() -> str:
    """Their names, as one reads them out."""
    *names, last = ABOUT_STRATEGIES
    return f"{', '.join(names)} or {last}"


def _at_the_beginning(argument: str) -> tuple[list[tuple[str, str]], str]:
    pairs, rest = [], argument
    while found := _FIRST.match(rest):
        pairs.append(_pair(found[1]))
        rest = rest[found.end() :]
    return pairs, rest.strip()


def _at_the_end(argument: str, known: Strategies, usual: Strategy) -> tuple[list[tuple[str, str]], str]:
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


def _named(name: str | None, known: Strategies) -> Strategy | None:
    if name is None:
        return None
    found = known.get(name)
    if found is None:
        raise ValueError(f"There is no strategy {name[:40]!r}. There is: {', '.join(known.names)}.")
    return found
