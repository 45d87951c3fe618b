"""A text as the words that it is found by, the same for every database. Pure.

Words are runs of letters, marks and digits, in one case and in Unicode's compatibility form. Scripts without spaces
become overlapping pairs of characters. What is written in one piece (``user_id``, ``getUserName``, ``src/app.py``,
``ABC-123``) is one word, and its parts are words too. Beside each word stands what is left of it without its ending,
marked, so that ``doors`` finds ``door``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise, repeat

from Stemmer import Stemmer

STEM = "~"
"""Before a word without its ending. No word begins with it."""
PREFIX = "*"
"""After the beginning of a word, in a query. No word ends in it."""
JOINERS = "_./:@'-"
"""What holds one word together, besides letters, marks and digits."""
SIGNS = "+#"
"""What a word may end in: C++, C#."""

LONGEST_WORD = 64
"""Characters of one word; a SHA-256 in hex has so many."""
MOST_BYTES = 400_000
"""UTF-8 of all words of one text. PostgreSQL takes a megabyte."""
LONGEST_QUERY = 2_000
"""Characters of a query that are read."""
MOST_QUERY_WORDS = 24
_MOST_WRITTEN = 2 * MOST_QUERY_WORDS
"""Of a query, with the words that every text has."""
_SURELY_FITS = MOST_BYTES // 64
"""Characters of a text whose words are not weighed: one may stand in a word and in a part of it, each in four forms."""
_MOST_PARTS = 16
_MOST_DIGIT_PARTS = 4
"""A hash is no identifier: `a1b2c3d4` has no parts."""
_SHORTEST_STEM = 2
_REMEMBERED = 10_000
"""Words whose forms are kept at hand: a few megabytes. People use some thousands again and again."""


@dataclass(frozen=True)
class Wanted:
    """One word of a query. A text has it when it has every word of one of its ``forms``; the first is the word itself.

    A form that ends in ``PREFIX`` is the beginning of a word.
    """

    word: str
    forms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Counted:
    """What a text is found by, and how often.

    ``words``: each once, in the order of the text. ``repeats``: what stands there more than once; all forms of a word
    that its ending tells apart are counted together, as what is left of it without one. ``length``: words that were
    read, in one form only.
    """

    words: Sequence[str]
    repeats: Mapping[str, int]
    length: int


def counted(text: str) -> Counted:
    """The words of a text; those after ``MOST_BYTES`` are left out."""
    normal = _normal(text)
    latin = _latin_stemmers(normal)
    is_plain = normal.isascii()
    tokens = Counter((_PLAIN_TOKENS if is_plain else _WHOLE_TOKENS).findall(normal))
    has_runs = not is_plain and _RUN.search(normal) is not None
    if len(normal) > _SURELY_FITS:
        tokens = _fitting(tokens, latin)
    found, said = list[str](), list[str]()
    length = 0
    for token, times in tokens.items():
        is_run = has_runs and _RUN.match(token) is not None
        words, counts = _run_words(token) if is_run else _token_words(token, latin)
        found += words
        said += counts if times == 1 else counts * times
        length += times * len(counts) if is_run else times
    repeats = {word: times for word, times in Counter(said).items() if times > 1}
    return Counted(tuple(dict.fromkeys(found)), repeats, length)


def _fitting(tokens: Counter[str], latin: tuple[str, ...]) -> Counter[str]:
    """As many of them as ``MOST_BYTES`` have room for, from the first on."""
    seen, fitting, left = set[str](), Counter[str](), MOST_BYTES
    for token, times in tokens.items():
        words = _run_words(token)[0] if _RUN.match(token) else _token_words(token, latin)[0]
        left -= sum(len(word.encode()) + 1 for word in set(words) - seen)
        if left < 0:
            break
        seen.update(words)
        fitting[token] = times
    return fitting


def times_in(wanted: Wanted, repeats: Mapping[str, int]) -> int:
    """How often a text that has this word of a query has it."""
    return max(min(max(repeats.get(part, 1), repeats.get(STEM + part, 1)) for part in form) for form in wanted.forms)


def words_in(text: str) -> list[str]:
    """The words that this text is found by, each once, in the order of the text."""
    return list(counted(text).words)


def query_words(query: str) -> tuple[Wanted, ...]:
    """What a query asks for. Words that every text has ("the", "what") count only where there are no others. They are
    those of the language that it is asked in: "met" tells in English and does not in Dutch."""
    return telling_and_common(query)[0]


def telling_and_common(query: str) -> tuple[tuple[Wanted, ...], tuple[Wanted, ...]]:
    """The same, and the words that every text has which a query has beside these."""
    telling, common = _wanted(query)
    asked = (telling or common)[:MOST_QUERY_WORDS]
    return tuple(asked), tuple(common[: MOST_QUERY_WORDS - len(asked)] if telling else ())


def written_words(query: str) -> tuple[str, ...]:
    """The words of a query as they stand there, also those that every text has."""
    found: dict[str, None] = {}
    for token in _TOKENS.finditer(_normal(query[:LONGEST_QUERY])):
        words = map("".join, pairwise(token[0])) if token["run"] else [_in_one_case(token[0].strip("_"))]
        found.update(dict.fromkeys(words))
    return tuple(found)[:_MOST_WRITTEN]


def times_written(words: Sequence[str], said: str) -> list[int]:
    """How often each of these words stands, in just this form, in a text that is :func:`plain`."""
    return [_times_written(word, said) if word in said else 0 for word in words]


def plain(text: str) -> str:
    """A text as phrases are compared: one case, one form, one space between words."""
    return " ".join(_in_one_case(_normal(text)).split())


_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f"  # Burmese
    "\u1780-\u17b3\u17b6-\u17d3"  # Khmer
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
)
_MARKS = "".join(
    chr(code)
    for code in (*range(0x300, 0xAC00), *range(0x11000, 0x12000))
    if unicodedata.category(chr(code)).startswith("M")
)
_LETTER = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
_TOKENS = re.compile(rf"(?P<run>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]{_LETTER}*(?:[{JOINERS}]{_LETTER}+)*[{SIGNS}]{{0,2}}")
_WHOLE_TOKENS = re.compile(_TOKENS.pattern.replace("(?P<run>", "(?:"))
_PLAIN_TOKENS = re.compile(rf"[^\W_]\w*(?:[{JOINERS}]\w+)*[{SIGNS}]{{0,2}}", re.ASCII)
"""The same in ASCII, which has none of the former; the set of letters is quickly looked at."""
_RUN = re.compile(f"[{_UNSPACED}]")
_SPOKEN = re.compile(r"\w+")
_DIGIT_GROUPS = re.compile(r"[,\u00a0\u202f](?<=\d.)(?=\d{3}(?!\d))")
"""The sign itself comes first: it is looked for quickly."""
_LETTERS = re.compile(rf"(?:[^\W\d_]|['{_MARKS}])+")
_BETWEEN_PARTS = re.compile(rf"[{SIGNS}{JOINERS}]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BESIDE_DIGITS = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "\\": "/"})

_FUNCTION_WORDS = {
    "english": "the of and to in is was it for that with on are this be at what who when where how which did do does "
    "my your his her our their a an i you he she we they me as by or from about have has had not",
    "german": "der die das und ist nicht ein eine ich du wir sie er mit auf für von dem den zu im was wer wann wo wie",
    "french": "le la les et est une un je tu nous vous il elle dans pour pas que qui avec sur des du quel où quand",
    "spanish": "el los las y es una un yo tú ella por para con no que en se lo del como qué quién cuándo dónde cuál",
    "italian": "il lo gli e è una un io non che di con per sono della nel del come cosa chi quando dove qual",
    "portuguese": "o os as e é uma um eu não que de com para por do da na no como quem quando onde qual",
    "dutch": "de het een en is niet ik jij wij zij van met voor op dat wat wie wanneer waar hoe",
    "russian": "и в на не что как это с по из за к у от до о а но где когда кто какой какая какое мой моя мы вы он она",
}
_EVERYWHERE = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_FEWEST_FOREIGN = 2
"""A single word that could be of another language is not: "van" stands in English too."""
_LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")
_SCRIPTS = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_LAST_LATIN = 0x024F
_ACCENTED = re.compile("[\u0370-\u03ff\u0590-\u06ff\u1f00-\u1fff]")
"""Greek, Hebrew and Arabic: scripts that are read without their signs too, as Latin is."""
_BESIDE_WORDS = ".,;:!?¿¡\"'()"
_SAMPLE = 20_000
"""Characters of a text that show its language."""


def _wanted(query: str) -> tuple[list[Wanted], list[Wanted]]:
    """The words of a query that tell something, and those that every text has."""
    wanted: dict[str, Wanted] = {}
    for token in _TOKENS.finditer(_normal(query[:LONGEST_QUERY])):
        for item in _run_wanted(token[0]) if token["run"] else [_token_wanted(token[0])]:
            wanted.setdefault(item.word, item)
    everywhere = _everywhere(wanted.keys())
    common = [item for word, item in wanted.items() if word in everywhere]
    return [item for word, item in wanted.items() if word not in everywhere], common


def _normal(text: str) -> str:
    composed = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _DIGIT_GROUPS.sub("", composed.translate(_APOSTROPHES))


def _in_one_case(text: str) -> str:
    return text.casefold().replace("ё", "е")


def _run_words(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Pairs, which are counted; and the last character, so that a query of one character finds it as the beginning of
    a word."""
    pairs = tuple(map("".join, pairwise(run)))
    return (*pairs, run[-1]), pairs or (run,)


def _run_wanted(run: str) -> list[Wanted]:
    if len(run) == 1:
        return [Wanted(run, ((run + PREFIX,),))]
    return [Wanted(pair, ((pair,),)) for pair in map("".join, pairwise(run))]


def remember(most: int) -> None:
    """Keep the forms of up to so many words at hand in this process, which is about to read a great deal."""
    global _token_words  # noqa: PLW0603  # a cache does not grow
    _token_words = lru_cache(most)(_token_words.__wrapped__)


@lru_cache(_REMEMBERED)
def _token_words(token: str, latin: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a token is found by, and what of it is counted."""
    words: dict[str, None] = {}
    counts: dict[str, None] = {}
    for part in (token, *_parts(token)):
        word = _in_one_case(part.strip("_"))[:LONGEST_WORD]
        forms = tuple(filter(None, (word, _without_accents(word))))
        stems = _stems(word, latin)
        words.update(dict.fromkeys(forms))
        words.update((STEM + stem, None) for stem in stems if stem != word)
        for form in forms:
            own = stems if form is word else _stems(form, latin)
            counts.update(dict.fromkeys([STEM + stem for stem in own] or [form]))
    return tuple(words), tuple(counts)


def _token_wanted(token: str) -> Wanted:
    word = _in_one_case(token.strip("_"))[:LONGEST_WORD]
    bare = _without_accents(word)
    forms: list[tuple[str, ...]] = [(word,), (bare,)] if bare else [(word,)]
    for stem in _stems(word, _LATIN):
        forms += [(stem,), (STEM + stem,)]
    if len(parts := _parts(token)) > 1:
        forms.append(tuple(_in_one_case(part)[:LONGEST_WORD] for part in parts))
    return Wanted(word, tuple(dict.fromkeys(forms)))


def _parts(token: str) -> list[str]:
    """What a compound is made of; nothing for a simple word."""
    parts: list[str] = []
    for piece in _BETWEEN_PARTS.split(token):
        finer = _BESIDE_DIGITS.split(piece)
        parts += finer if len(finer) <= _MOST_DIGIT_PARTS else [piece]
    parts = [part for part in parts if part]
    return parts[:_MOST_PARTS] if parts != [token] else []


def _without_accents(word: str) -> str:
    """``cafe`` for ``café``; empty where accents are none, or letters of their own."""
    if word.isascii() or not (_is_latin(word) or _ACCENTED.match(word)):
        return ""
    bare = "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")
    return bare if bare != word else ""


def _is_latin(word: str) -> bool:
    return ord(word[0]) <= _LAST_LATIN or "\u1e00" <= word[0] <= "\u1eff"


def _times_written(word: str, said: str) -> int:
    alone = _alone(word)
    return len(alone.findall(said)) if alone else said.count(word)


@lru_cache(maxsize=1024)
def _alone(word: str) -> re.Pattern[str] | None:
    """Finds the word, and not where it is a part of another one; none for what other words may touch. The word itself
    comes first in the pattern, because its characters are looked for quickly, and a place between words is not."""
    if not _SPOKEN.fullmatch(word) or _RUN.match(word):
        return None
    return re.compile(rf"{word}(?<!\w{word})(?!\w)")


def _everywhere(words: AbstractSet[str]) -> AbstractSet[str]:
    """Of these words of a query, those that every text has: of English and Russian, and of another language where it
    has more of them than of English."""
    found = {language: everywhere & words for language, everywhere in _EVERYWHERE.items()}
    fewest = max(_FEWEST_FOREIGN, len(found["english"]) + 1)
    spoken = ("english", "russian", *(language for language, own in found.items() if len(own) >= fewest))
    return frozenset().union(*(found[language] for language in spoken))


def _latin_stemmers(text: str) -> tuple[str, ...]:
    """English, and what else the text is written in, if it is."""
    counts = dict.fromkeys(_LATIN, 0)
    words = map(str.strip, text[:_SAMPLE].casefold().split(), repeat(_BESIDE_WORDS))
    for languages, times in Counter(filter(None, map(_languages().get, words))).items():
        for language in languages:
            counts[language] += times
    other = max((language for language in counts if language != "english"), key=lambda language: counts[language])
    return ("english", other) if counts[other] > counts["english"] else ("english",)


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    """The languages of Latin script that each function word belongs to."""
    found: dict[str, list[str]] = {}
    for language in _LATIN:
        for word in _FUNCTION_WORDS[language].split():
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def _stems(word: str, latin: Iterable[str]) -> list[str]:
    """Without its ending, in each language that its script allows."""
    if not _LETTERS.fullmatch(word):
        return []
    if _is_latin(word):
        made = [_stem(language, word) for language in latin]
    else:
        code = ord(word[0])
        made = [_stem(language, word) for low, high, language in _SCRIPTS if low <= code <= high]
    return [stem for stem in dict.fromkeys(made) if len(stem) >= _SHORTEST_STEM]


def _stem(language: str, word: str) -> str:
    """A stemmer holds the word that it works on, so that no two threads may share one; making one is cheap."""
    stem: str = Stemmer(language, 0).stemWord(word)
    return stem
