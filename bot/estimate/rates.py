"""What a character is charged, in tokens, by its class, by that of the one before it, and by what comes after. Pure.

That is where a tokenizer has to cut. What it does with spaces, lines, digits and marks is known and is counted as it
is: a single space between two words comes with them, every other run of spaces or line breaks is a token, three digits
are one, and so is a mark, unless it is often written after the one before it. How many pieces a word falls into is
guessed: of Latin letters from how rare each is after the one before it (:mod:`bot.estimate.letters`), of others by
their script (:mod:`bot.estimate.scripts`). The rates are fitted to texts whose tokens are known, every kind of text
and every language weighing about the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from bot.estimate import letters, scripts
from bot.estimate.characters import (
    ACCENTED,
    CAPITAL,
    CLASSES,
    DIGIT,
    EDGE,
    FURTHER_DIGIT,
    LINE,
    MARKS,
    NOTHING,
    SMALL,
    SPACE,
    TAB,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Tokens per unit, as fitted, where the families differ; but for the letters' own prices."""

    letters: str
    """The table of prices of letters."""
    capital: float
    """A capital that begins a word, beside its letter."""
    single: float
    """One that is all of the word."""
    inner: float
    """A capital after a small letter."""
    further: float
    """A capital after a capital."""
    after_digit: float
    """A letter after a digit, and a letter before one or before Chinese: what makes ids and hexadecimal dear."""
    before_digit: float
    apostrophe: float
    """One inside a word."""
    mark: float
    """A mark that does not come after another one."""
    joined: float
    """A mark that is often written after the one before it."""
    apart: float
    """A mark after any other one."""
    same: float
    """A mark after itself, of those that lines are drawn with or that are doubled."""
    again: float
    """Any other mark after itself."""
    unclosed: float
    """The space after a mark that has no form for a word's end."""
    accent_first: float
    """A letter with an accent, beside its rate, at a word's start."""
    accent_last: float
    """The same at its end."""
    accents: dict[str, float] = field(default_factory=dict)
    """A letter with an accent, by kind."""
    further_digit: float = 0.0
    """The second and the third digit of three."""
    closing_line: float = 1.0
    """Line breaks after a mark."""
    indent: float = 1.0
    """Spaces after a line break."""
    scripts: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What differs from the tables of :mod:`bot.estimate.scripts`, by name: of letters what a letter, one that begins a
    word and a mark take, of signs what one takes, and under ``Cyrillic`` three rates for a start, three for what comes
    after each of four, and three for an end."""


OLDER = Rates(
    letters=letters.OLDER,
    capital=0.11,
    single=0.21,
    inner=1.1,
    further=0.31,
    after_digit=0.54,
    before_digit=0.36,
    apostrophe=1.42,
    mark=0.93,
    joined=0.01,
    apart=0.76,
    same=0.01,
    again=0.68,
    unclosed=0.86,
    accent_first=1.02,
    accent_last=1.39,
    accents={
        "other": 1.5,
        "capital": 1.01,
        "phonetic": 1.7,
        "combining": 0.36,
        "Vietnamese": 0.76,
        "acute": 0.95,
        "grave": 0.67,
        "Iberian": 0.6,
        "German": 0.65,
        "Nordic": 0.63,
        "Czech": 0.0,
        "Polish": 0.27,
        "Turkish": 0.42,
        "Romanian": 0.09,
        "Hungarian": 0.1,
        "Baltic": 1.16,
    },
)
NEWER = Rates(
    letters=letters.NEWER,
    capital=0.71,
    single=0.0,
    inner=1.44,
    further=0.7,
    after_digit=0.28,
    before_digit=0.29,
    apostrophe=1.52,
    mark=0.99,
    joined=0.0,
    apart=1.0,
    same=0.03,
    again=1.0,
    unclosed=1.0,
    accent_first=1.38,
    accent_last=1.29,
    accents={
        "other": 1.44,
        "capital": 1.02,
        "phonetic": 1.69,
        "combining": 0.22,
        "Vietnamese": 0.58,
        "acute": 0.89,
        "grave": 0.85,
        "Iberian": 0.84,
        "German": 0.67,
        "Nordic": 0.52,
        "Czech": 0.0,
        "Polish": 0.41,
        "Turkish": 0.58,
        "Romanian": 0.22,
        "Hungarian": 0.4,
        "Baltic": 1.16,
    },
)

PAIRS = r"""
![ ") ", ". ": "; "> ${ ') ', ': '; '] (" ($ (' (( () ([ ({ ), ). ): ); ){ -> ." ./ ._ </ =" =' ={ ><
[" [' ]( ]) ], ]. ]; ][ }) }, }; ," ,' :/ != */ += /> := => []
"""
"""Marks that are one token together, as programs write them."""
REPEATED = b"\"#&'()*+-./:<=?_`|"
UNCLOSED = b"$+/@[\\^_{~"

EXACT = 4096
"""Every charge is a whole number of such parts of a token, so that sums are exact, in whatever order they are made."""

CLASS_BITS = 8
KIND_BITS = 2
_BLANK, _WORD, _MARK, _OTHER = range(1 << KIND_BITS)
"""What a character is to the one before it."""
_ENDS = [_BLANK, _MARK, _OTHER]
_BLANKS = (EDGE, SPACE, LINE, TAB)
_LATIN = (*SMALL, *CAPITAL, *(CLASSES["accented", name] for name in ACCENTED))
_WORDS = (*_LATIN, *(found for (kind, _), found in CLASSES.items() if kind in {"letters", "marks", "cyrillic"}))
_BORDERED = (*MARKS, *(CLASSES["signs", name] for name, signs in scripts.SIGNS.items() if signs.bordered))


def _kinds() -> bytes:
    kinds = bytearray([_OTHER]) * (1 << CLASS_BITS)
    for kind, members in ((_BLANK, _BLANKS), (_WORD, _WORDS), (_MARK, _BORDERED)):
        for member in members:
            kinds[member] = kind
    return bytes(kinds)


KINDS = _kinds()
"""The kind of every class, as a table for ``bytes.translate``."""


def charges(rates: Rates) -> NDArray[np.float32]:
    """The charge of a character at ``this << 10 | before << 2 | kind of the one after``."""
    import numpy as np

    table = np.zeros((1 << CLASS_BITS, 1 << CLASS_BITS, 1 << KIND_BITS), np.float32)
    _charge_blanks_and_digits(table, rates)
    _charge_marks(table, rates)
    _charge_latin(table, rates)
    _charge_scripts(table, rates)
    _charge_cyrillic(table, rates)
    for name, signs in scripts.SIGNS.items():
        table[:, CLASSES["signs", name]] = rates.scripts.get(name, [signs.sign])[0]
    table[:, NOTHING] = 0
    whole = np.round(table.transpose(1, 0, 2) * EXACT) / EXACT
    return whole.astype(np.float32).ravel()


def _charge_blanks_and_digits(table: Table, rates: Rates) -> None:
    import numpy as np

    for blank in (SPACE, LINE, TAB, DIGIT):
        table[:, blank] = 1
        table[blank, blank] = 0
    table[LINE, SPACE] = rates.indent
    table[list(MARKS), LINE] = rates.closing_line
    table[:, FURTHER_DIGIT] = table[DIGIT, DIGIT] = rates.further_digit
    inside = (*_WORDS, *_BORDERED)
    table[np.ix_(inside, [SPACE], [_WORD, _MARK])] = 0
    table[np.ix_(list(UNCLOSED), [SPACE], [_WORD, _MARK])] = rates.unclosed


def _charge_marks(table: Table, rates: Rates) -> None:
    import numpy as np

    table[:, list(MARKS)] = rates.mark
    table[np.ix_(list(MARKS), list(MARKS))] = rates.apart
    for before, after in PAIRS.encode().split():
        table[before, after] = rates.joined
    for mark in MARKS:
        table[mark, mark] = rates.same if mark in REPEATED else rates.again
    table[np.ix_(_LATIN, [ord("'")], [_WORD])] = rates.apostrophe


def _charge_latin(table: Table, rates: Rates) -> None:
    import numpy as np

    after, last = letters.prices(rates.letters)
    small, capital = np.array(list(SMALL)), np.array(list(CAPITAL))
    accented = np.array([CLASSES["accented", name] for name in ACCENTED])
    elsewhere = _but(_LATIN)
    digits = np.array([DIGIT, FURTHER_DIGIT])
    for case in (small, capital):
        table[np.ix_(elsewhere, case)] = np.array(after[letters.NONE])[:, None]
        table[np.ix_(digits, case)] += rates.after_digit
    pairs = np.array([after[letter] for letter in letters.LETTERS])[:, :, None]
    table[np.ix_(small, small)] = table[np.ix_(capital, small)] = pairs
    table[np.ix_(accented, small)] = np.array(after[letters.ACCENTED])[:, None]
    table[np.ix_(elsewhere, capital, np.array(_ENDS))] += rates.single
    table[np.ix_(elsewhere, capital, np.array([_WORD]))] += rates.capital
    table[np.ix_(_LATIN, capital)] = rates.inner
    table[np.ix_(capital, capital)] = rates.further
    for case in (small, capital):
        table[:, case, _OTHER] += rates.before_digit
        table[:, case[:, None], _ENDS] += np.array([last[letter] for letter in letters.LETTERS])[:, None]
    for name, rate in rates.accents.items():
        table[:, CLASSES["accented", name]] = rate
    table[np.ix_(elsewhere, accented)] += rates.accent_first
    table[:, accented[:, None], _ENDS] += rates.accent_last


def _but(some: tuple[int, ...]) -> NDArray[np.intp]:
    """All classes but these."""
    import numpy as np

    others = np.ones(1 << CLASS_BITS, bool)
    others[list(some)] = False
    return np.flatnonzero(others)


def _charge_scripts(table: Table, rates: Rates) -> None:

    first = _but(_WORDS)
    for name, found in scripts.LETTERS.items():
        letter, word, mark = rates.scripts.get(name, [found.letter, found.word, found.mark or 0.0])
        rows = {"letters": letter} | ({} if found.mark is None else {"marks": mark})
        for kind, rate in rows.items():
            table[:, CLASSES[kind, name]] = rate
            table[first, CLASSES[kind, name]] += word


def _charge_cyrillic(table: Table, rates: Rates) -> None:

    capital = CLASSES["letters", "Cyrillic capitals"]
    known = rates.scripts.get("Cyrillic", scripts.cyrillic())
    for number, name in enumerate(scripts.CYRILLIC):
        this = CLASSES["cyrillic", name]
        start, *after, end = known[number :: len(scripts.CYRILLIC)]
        table[:, this] = start
        for before, rate in zip(("capital", *scripts.CYRILLIC), after, strict=True):
            behind = capital if before == "capital" else CLASSES["cyrillic", before]
            table[behind, this] = rate
            table[behind, this, _ENDS] += end


def codes(row: NDArray[np.uint8], kinds: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Where the charges of all characters of a row stand, but of the first and the last. ``row``: one after another."""
    import numpy as np

    # Each two neighbours as one number: the class before is the low byte.
    found = np.ndarray(len(row) - 2, "<u2", row, strides=(1,)).astype(np.intp)
    found <<= KIND_BITS
    found |= kinds[2:]
    return found
