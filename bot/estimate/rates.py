"""What a character is charged, in tokens, by its class and those of its two neighbours. Pure.

That is where a tokenizer has to cut: at a word's start, at a change between cases or to digits inside a word (which is
what makes hexadecimal, base64 and ids dear), at a run of punctuation, at a line's indent. The rates are fitted to texts
whose tokens are known, every kind of text weighing the same, and are held near what is plausible where those texts do
not tell two rates apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bot.estimate.characters import Class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Where: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Tokens per unit, as fitted."""

    letter: float
    """A Latin letter."""
    word: float
    """A Latin word after white space."""
    joined: float
    """A Latin word right after a mark, a digit or another script."""
    upper: float
    """A capital that begins a word or follows a small letter, beside its letter."""
    capital: float
    """A capital after a capital, likewise."""
    change: float
    """From small to capital letters, or between letters and digits, inside a word."""
    digit: float
    number: float
    """A run of digits."""
    number_space: float
    """The space before a number, which no number takes in."""
    marks: float
    """A run of ASCII punctuation."""
    mark: float
    """Each further mark of a run."""
    rule: float
    """Each further mark of a run of those that lines are drawn with."""
    lines: float
    """A run of line breaks."""
    line: float
    """Each further line break of a run."""
    indent: float
    """A run of two spaces or more."""
    space: float
    """Each further space of such a run."""
    han: float
    han_change: float
    """Between a Chinese character and Latin letters, digits or spaces."""
    cjk_mark: float
    """A mark of Chinese or Japanese text, or a full-width form."""
    cyrillic: float
    cyrillic_word: float
    quote: float
    """A typographic quote, a dash, or a sign of Latin-1."""
    symbol: float
    """An arrow, a technical sign, a dingbat."""
    emoji: float
    rare: float
    """An emoji or sign that is rarely used (animals, clocks, buttons), beside its own rate."""
    joiner: float
    """What makes one emoji of several."""
    variation: float
    """What makes an emoji of a sign."""


OLDER = Rates(
    letter=0.076,
    word=0.659,
    joined=0.555,
    upper=0.256,
    capital=0.349,
    change=0.644,
    digit=0.284,
    number=0.510,
    number_space=0.544,
    marks=1.008,
    mark=0.293,
    rule=0.042,
    lines=0.834,
    line=0.254,
    indent=1.095,
    space=0.056,
    han=1.078,
    han_change=0.376,
    cjk_mark=1.041,
    cyrillic=0.356,
    cyrillic_word=0.400,
    quote=1.212,
    symbol=2.766,
    emoji=2.594,
    rare=3.199,
    joiner=1.990,
    variation=1.384,
)
NEWER = Rates(
    letter=0.201,
    word=0.491,
    joined=0.308,
    upper=0.862,
    capital=0.411,
    change=0.411,
    digit=0.538,
    number=0.380,
    number_space=0.446,
    marks=0.969,
    mark=0.394,
    rule=0.063,
    lines=1.196,
    line=0.403,
    indent=1.074,
    space=0.068,
    han=1.071,
    han_change=0.393,
    cjk_mark=1.049,
    cyrillic=0.365,
    cyrillic_word=0.382,
    quote=1.144,
    symbol=2.715,
    emoji=2.599,
    rare=2.968,
    joiner=2.015,
    variation=1.404,
)

UNFITTED = {
    Class.CONTROL: 1.0,
    Class.ACCENTED: 1.4,
    Class.KANA: 1.1,
    Class.HANGUL: 1.3,
    Class.TWO_BYTES: 0.9,
    Class.THREE_BYTES: 1.3,
    Class.FOUR_BYTES: 3.5,
}
"""Orders of magnitude, rounded up: an estimate that is too low overflows, one that is too high compacts a little
early."""

CLASS_BITS = 5
EXACT = 4096
"""Every charge is a whole number of such parts of a token, so that sums are exact, in whatever order they are made."""

_LETTERS = (Class.LOWER, Class.UPPER)
_LATIN = (Class.LOWER, Class.UPPER, Class.DIGIT, Class.SPACE)
_MARKS = (Class.MARK, Class.RULE)
_BLANK = (Class.EDGE, Class.SPACE, Class.LINE)
_SYMBOLS = (Class.SYMBOL, Class.RARE_SYMBOL)
_EMOJI = (Class.EMOJI, Class.RARE_EMOJI)
_RARE = (Class.RARE_SYMBOL, Class.RARE_EMOJI)


def charges(rates: Rates) -> NDArray[np.float32]:
    """The charge of a character at ``before << 10 | this << 5 | after``, from the classes of the three."""
    import numpy as np

    total = np.zeros((1 << CLASS_BITS,) * 3)
    for rate, where in (*_of_words(rates), *_of_marks(rates), *_of_other_scripts(rates)):
        total += rate * where
    return (np.round(total * EXACT) / EXACT).astype(np.float32).ravel()


def _before(*kinds: Class) -> Where:
    return _among(*kinds)[:, None, None]


def _this(*kinds: Class) -> Where:
    return _among(*kinds)[None, :, None]


def _after(*kinds: Class) -> Where:
    return _among(*kinds)[None, None, :]


def _among(*kinds: Class) -> Where:
    import numpy as np

    return np.isin(np.arange(1 << CLASS_BITS), kinds)


def _of_words(rates: Rates) -> Iterator[tuple[float, Where]]:
    letter, digit = _this(*_LETTERS), _this(Class.DIGIT)
    yield rates.letter, letter
    yield rates.word, letter & _before(*_BLANK)
    yield rates.joined, letter & ~_before(*_LETTERS, *_BLANK)
    yield rates.upper, _this(Class.UPPER) & ~_before(Class.UPPER)
    yield rates.capital, _this(Class.UPPER) & _before(Class.UPPER)
    yield rates.digit, digit
    yield rates.number, digit & ~_before(Class.DIGIT)
    yield rates.number_space, digit & _before(Class.SPACE)
    yield rates.change, _this(Class.UPPER) & _before(Class.LOWER)
    yield rates.change, _this(Class.UPPER) & _before(Class.UPPER) & _after(Class.LOWER)
    yield rates.change, digit & _before(*_LETTERS)
    yield rates.change, letter & _before(Class.DIGIT)


def _of_marks(rates: Rates) -> Iterator[tuple[float, Where]]:
    mark, line, space = _this(*_MARKS), _this(Class.LINE), _this(Class.SPACE)
    ruled = _this(Class.RULE) & _before(Class.RULE)
    yield rates.marks, mark & ~_before(*_MARKS)
    yield rates.mark, mark & _before(*_MARKS) & ~ruled
    yield rates.rule, ruled
    yield rates.lines, line & ~_before(Class.LINE)
    yield rates.line, line & _before(Class.LINE)
    yield rates.space, space & _before(Class.SPACE)
    yield rates.indent, space & _before(Class.SPACE) & ~_after(Class.SPACE)


def _of_other_scripts(rates: Rates) -> Iterator[tuple[float, Where]]:
    han, cyrillic = _this(Class.HAN), _this(Class.CYRILLIC)
    yield rates.han, han
    yield rates.han_change, han & _before(*_LATIN)
    yield rates.han_change, han & _after(*_LATIN)
    yield rates.cjk_mark, _this(Class.CJK_MARK)
    yield rates.cyrillic, cyrillic
    yield rates.cyrillic_word, cyrillic & ~_before(Class.CYRILLIC)
    yield rates.quote, _this(Class.QUOTE)
    yield rates.symbol, _this(*_SYMBOLS)
    yield rates.emoji, _this(*_EMOJI)
    yield rates.rare, _this(*_RARE)
    yield rates.joiner, _this(Class.JOINER)
    yield rates.variation, _this(Class.VARIATION)
    for kind, charge in UNFITTED.items():
        yield charge, _this(kind)
