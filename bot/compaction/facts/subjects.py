"""Whether two sentences speak of the same thing, as far as their distinguishing words tell. Pure.

A newer sentence may only change an older one of the same subject. Both may say more than the other; but where each has
a word of one kind that the other lacks (*Anna's* and *Ben's* exam, the flight *to Rome* and *to Oslo*, the *staging*
and the *production* password), they speak of two things, and both hold.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from bot.compaction.facts.words import is_code, is_common, terms_of, values_of, words_of
from bot.compaction.stems import stem

_LOOSE = frozenset({"name", "quote"})
_TOKEN = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:['’](?:s|ve|m|re|ll|d)\b)?|[^\s\w]|\S")
_OWNED = re.compile(r"['’]s\Z")
_OWNER = re.compile(r"(?<![\w'’])([^\W\d_][\w-]{1,30})['’]s\b")
_NO_OWNER = words_of("that it he she what here there let who where how today tomorrow everyone everybody one")
_SKIPPED = words_of(
    """
    new current updated old latest revised final actual real right correct total exact own newest now still also just
    новый новая новое новые нового новой новую старый старая старое теперь
    """
)
"""Words between a noun and what tells it apart that tell nothing themselves."""
_SELF = words_of("my our mine мой моя моё мое мои моего моей моих моим мою наш наша наше наши нашего нашей")
_SUBJECT = words_of("i we я мы")
_PRONOUN = re.compile(r"\b(?:his|her)\b", re.IGNORECASE)
_GENITIVE = re.compile(r"(?<=[а-яё])\s([А-ЯЁ][а-яё]{1,20}[аяыиуюей])(?![\w-])")
"""Somebody's name right after a word, as in "телефон Анны"."""
_OTHERS = words_of("his her")
_LINKS = words_of("to for of from with at in about к в на с со от для из за о об про у")
_ARTICLES = words_of("the a an my our his her their your this that мой моя мою моей наш нашей нашего")
_DOING = frozenset(
    stem(word)
    for word in words_of(
        """
    book order find write create add fix build make send schedule set update change check prepare draft plan arrange
    reserve remind buy translate implement run deploy install get review compare show look organize remove delete cancel
    upgrade move rename convert ship renew file reschedule rebook push postpone switch replace need want use call
    contact pay keep have take cut raise lower extend forget drop skip scrap scratch expect please remember confirm
    no never not always stop quit
    """
    )
)
"""What somebody does with a thing tells no thing apart."""
_ADJECTIVE = re.compile(r"(?:[ыио]й|[ая]я|[ое]е|[ыи]е|[ое]го|[ое]му|[ую]ю|[ыи]х|[ыи]м)\Z")
_VERB = re.compile(r"(?:л[иао]?|[ст]ь|с[яь]|[еи]м|шь|[еиуюая]т|[иеё]те|и)\Z")
"""What a form of a verb may end in; the words of a sentence may stand in any order."""
_CASE = re.compile(r"[аяыиуюеёоьй]{0,2}[мхв]?|ами|ями|ого|его|ому|ему")
"""Endings of names."""
_NAME_LIKE = re.compile(r"[\w’'+#-]+")
_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
_OF = re.compile(r"([\u4e00-\u9fff]{1,12})的(?=[\u4e00-\u9fff])")
_LEAD = re.compile(r"\A(?:请|帮我|麻烦|其实|现在|另外|还有|对了|那么|但是|不过|这是|那是|以后)+")
_TELLS_NOTHING = re.compile(r"(?:[新旧原]|新来|原来|现在|最新|正确|目前|最终|之前|以前)\Z")
_ME = re.compile(r"(?:我们?|咱们?)\Z")
_TAIL = 2
_KEPT = 8_192
"""Answers that are kept: a sentence is compared with many."""


@dataclass(frozen=True)
class _Word:
    text: str
    stem: str
    owner: bool
    """It owns what follows (``Tom's``, ``his``)."""
    named: bool
    """It has a capital, and does not begin the sentence."""


def differ(new: str, old: str, apart: Iterable[str] = ()) -> bool:
    """Whether two sentences name different things. ``apart``: the values that are compared, which may well differ."""
    values = tuple(value for value in apart if value)
    ours, theirs = (_Sides.of(text, _besides(text, values)) for text in (new, old))
    return (
        _apart(ours.names, theirs.names)
        or _apart(ours.codes, theirs.codes)
        or _owners_differ(ours, theirs)
        or _neighbours_differ(ours, theirs, ours.before, theirs.before)
        or _neighbours_differ(ours, theirs, ours.after, theirs.after)
        or _chinese_owners_differ(new, old)
    )


def names_another(new: str, old: str) -> bool:
    """Whether a sentence names people, places or things, and none of them is in the older one."""
    mine = _Sides.of(new, ()).names
    return bool(mine) and not any(_is_in(name, old) for name in mine)


def owner_is_new(new: str, old: str) -> bool:
    """Whether a sentence says whose something is, and the older one does not speak of that person."""
    pronouns = {hit[0].casefold() for hit in _PRONOUN.finditer(new)} - {
        hit[0].casefold() for hit in _PRONOUN.finditer(old)
    }
    return bool(pronouns) or any(not _is_in(owner, old) for owner in owners_in(new))


def owners_in(text: str) -> frozenset[str]:
    """Who has something in this sentence: ``Anna's``, ``my mother's``."""
    found = (hit[1] for pattern in (_OWNER, _GENITIVE) for hit in pattern.finditer(text))
    return frozenset(name for name in found if name.casefold() not in _NO_OWNER and not values_are(name))


def values_are(word: str) -> bool:
    """Whether a word is a date or the like: "Friday's" owns nothing."""
    return any(value.type not in _LOOSE for value in values_of(word))


@dataclass(frozen=True)
class _Sides:
    """What tells a sentence's things apart. ``before``, ``after``: by the stem of a word, what stands at its side."""

    stems: frozenset[str]
    names: frozenset[str]
    codes: frozenset[str]
    owners: frozenset[str]
    before: Mapping[str, set[_Word]]
    after: Mapping[str, set[_Word]]
    selves: bool
    others: frozenset[str]

    @classmethod
    @lru_cache(maxsize=_KEPT)
    def of(cls, text: str, apart: tuple[str, ...]) -> _Sides:
        masked = _masked(text, apart)
        tokens = [hit[0] for hit in _TOKEN.finditer(masked)]
        low = {token.casefold() for token in tokens}
        owners = owners_in(masked)
        names = {word for value in values_of(masked) if value.type == "name" for word in _bare_words(value.text)}
        words = [_word(token, at) for at, token in enumerate(tokens)]
        before: dict[str, set[_Word]] = defaultdict(set)
        after: dict[str, set[_Word]] = defaultdict(set)
        for at, word in enumerate(words):
            root = word.stem if word else stem(tokens[at])
            if word is None and root not in _DOING:
                continue
            if (neighbour := _preceding(tokens, words, at)) is not None:
                before[root].add(neighbour)
            if (neighbour := _following(tokens, words, at)) is not None:
                after[root].add(neighbour)
        capital = {name for name in owners if name[:1].isupper()}
        stems = frozenset(word.stem for word in words if word) | terms_of(masked)
        mine = bool(low & (_SELF | _SUBJECT))
        codes = frozenset(value.text for value in values_of(text) if is_code(value) and value.text not in apart)
        return cls(stems, frozenset(names | capital), codes, owners, before, after, mine, frozenset(low & _OTHERS))


def _masked(text: str, apart: tuple[str, ...]) -> str:
    """The text with a break in place of each value, so that no value tells things apart."""
    exact = [value.text for value in values_of(text) if value.type not in _LOOSE]
    for value in sorted((*exact, *apart), key=len, reverse=True):
        text = text.replace(value, " § ")
    return text


def _besides(text: str, apart: tuple[str, ...]) -> tuple[str, ...]:
    """Those values of a text that are not masked anyway; mostly there are none, and the answer for it is known."""
    exact = [value.text for value in values_of(text) if value.type not in _LOOSE and not is_code(value)]
    return tuple(value for value in apart if value in text and value not in exact)


def _bare_words(name: str) -> Iterator[str]:
    return (_OWNED.sub("", word) for word in name.split())


def _word(token: str, at: int) -> _Word | None:
    """A token that carries meaning."""
    bare = _OWNED.sub("", token)
    low = bare.casefold()
    if not bare.isalpha() or len(bare) < _TAIL or low in _SKIPPED or low in _LINKS or stem(low) in _DOING:
        return None
    owner = bare != token and low not in _NO_OWNER
    if is_common(low) and not owner:
        return None
    return _Word(low, stem(low), owner, bare[0].isupper() and at > 0)


def _preceding(tokens: list[str], words: list[_Word | None], at: int) -> _Word | None:
    """The word directly before, or whose it is."""
    back = at - 1
    while back >= 0 and tokens[back].casefold() in _SKIPPED:
        back -= 1
    if back < 0:
        return None
    low = tokens[back].casefold()
    if low in _OTHERS:
        return _Word(low, low, owner=True, named=False)
    if low in _SELF or low in _SUBJECT:
        return _Word("i" if low in _SUBJECT else "my", "my", owner=False, named=False)
    word = words[back]
    if word is not None and _CYRILLIC.search(word.text):
        first = back == 0 and not _VERB.search(word.text)
        return word if word.named or first or _ADJECTIVE.search(word.text) else None
    return word


def _following(tokens: list[str], words: list[_Word | None], at: int) -> _Word | None:
    """What a word is bound to: the flight *to Rome*, пароль *от склада*."""
    if at + 1 >= len(tokens) or tokens[at + 1].casefold() not in _LINKS:
        return None
    there = at + 2
    while there < len(tokens) and (tokens[there].casefold() in _ARTICLES or tokens[there].casefold() in _SKIPPED):
        there += 1
    return words[there] if there < len(words) else None


def _apart(mine: frozenset[str], others: frozenset[str]) -> bool:
    """Whether each side has a name that the other lacks."""
    return _some_lacks(mine, others) and _some_lacks(others, mine)


def _some_lacks(mine: Iterable[str], others: frozenset[str]) -> bool:
    return any(not any(_one_name(name, other) for other in others) for name in mine)


def _one_name(one: str, other: str) -> bool:
    """Whether two words are one name, perhaps in two cases (``Рим``, ``Риме``) or with an s."""
    first, second = sorted((one.casefold(), other.casefold()), key=len)
    if not _CYRILLIC.search(first):
        return second in (first, f"{first}s")
    same = next((at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), len(first))
    return same >= _TAIL and all(_CASE.fullmatch(word[same:]) for word in (first, second))


def _owners_differ(ours: _Sides, theirs: _Sides) -> bool:
    """Whether one thing is a named person's, and the other somebody else's."""
    new = {name for name in ours.owners if stem(name) not in theirs.stems}
    old = {name for name in theirs.owners if stem(name) not in ours.stems}
    if new and old:
        return True
    if (new and theirs.selves and not ours.selves) or (old and ours.selves and not theirs.selves):
        return not (ours.others or theirs.others)
    return _pronouns_differ(ours, theirs)


def _pronouns_differ(ours: _Sides, theirs: _Sides) -> bool:
    return bool(ours.others and theirs.others and ours.others.isdisjoint(theirs.others))


def _neighbours_differ(
    ours: _Sides, theirs: _Sides, mine: Mapping[str, set[_Word]], others: Mapping[str, set[_Word]]
) -> bool:
    for shared in mine.keys() & others.keys():
        pairs = [(one, other) for one in mine[shared] for other in others[shared]]
        if pairs and all(_tells_apart(one, other, ours, theirs) for one, other in pairs):
            return True
    return False


def _tells_apart(one: _Word, other: _Word, ours: _Sides, theirs: _Sides) -> bool:
    if _one_name(one.text, other.text) or one.stem == other.stem:
        return False
    for word, against in ((one, other), (other, one)):
        if word.stem == "my":  # "my rent" and "the rent" may be one; "my rent" and "her rent" are not
            others = against.owner or against.named
            return others or (word.text == "i" and against.stem not in ours.stems & theirs.stems)
    return one.stem not in theirs.stems and other.stem not in ours.stems


def _chinese_owners_differ(new: str, old: str) -> bool:
    """The last words before 的 on both sides, each missing on the other."""
    mine, others = _chinese_owners(new), _chinese_owners(old)
    if not mine or not others:
        return False
    return not any(_is_told(owner, old) for owner in mine) and not any(_is_told(owner, new) for owner in others)


def _chinese_owners(text: str) -> list[str]:
    found = (_LEAD.sub("", hit[1]) for hit in _OF.finditer(text))
    return [owner for owner in found if owner and not _TELLS_NOTHING.search(owner)]


def _is_told(owner: str, text: str) -> bool:
    if _ME.search(owner):
        return "我" in text or "咱" in text
    return owner[-_TAIL:] in text


def _is_in(name: str, text: str) -> bool:
    return any(_one_name(name, _OWNED.sub("", word)) for word in _NAME_LIKE.findall(text))
