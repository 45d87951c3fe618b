"""What a newer sentence does to a rule: it allows what was forbidden, ends what was to be done always. Pure."""

from __future__ import annotations

import re

from bot.compaction.facts.cues import CORRECTION
from bot.compaction.facts.stances import FORBIDDING, LIFTING, STOPPING
from bot.compaction.facts.subjects import differ, names_another
from bot.compaction.facts.words import is_ideographic, terms_of, values_of

_LANGUAGE = re.compile(
    r"\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|turkish|ukrainian|russian|chinese|mandarin"
    r"|japanese|korean|arabic|hindi|latin)\b"
    r"|\bпо-[а-я]{2,12}[сц]ки\b|\bна\s+[а-я]{3,14}ск(?:ом|ий)\b|[英德法俄中日韩汉]语|中文|英文|德文|法文|俄文|日文|韩文|西班牙语|意大利语",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:answer|reply|respond|write|speak|talk|отвеча\w*|ответ\w*|пиши\w*|писать|говори\w*)\b|回答|回复|说|写|交流|答复",
    re.IGNORECASE,
)
_ENDING_WORDS = terms_of(
    "stop quit cease allowed enough rule fine feel free anytime перестань хватит снова опять можно разрешаю прекрати"
)
_MOST = 0.5
_MOST_IDEOGRAPHS = 0.3


def may_end_a_rule(text: str) -> bool:
    """Whether a sentence may be about a rule that is over."""
    return LIFTING.marks(text) or STOPPING.marks(text) or bool(_LANGUAGE.search(text) and _TELLS.search(text))


def are_opposed(new: str, old: str) -> bool:
    """Whether one of two sentences forbids something and the other does not: then neither has the other's value."""
    return FORBIDDING.marks(new) is not FORBIDDING.marks(old)


def is_lifted(new: str, old: str) -> bool:
    """Whether ``new`` says that the rule ``old`` is over."""
    forbids = FORBIDDING.marks(old)
    if forbids and not (LIFTING.marks(new) and not FORBIDDING.marks(new)):
        return False
    if not forbids and not STOPPING.marks(new):
        return False
    if any(value.type != "name" and value.text not in old for value in values_of(new)):
        return False
    return _is_about(new, old) and not names_another(new, old) and not differ(new, old)


def speaks_another_language(new: str, old: str) -> bool:
    """Whether both say in which language to answer, and not in the same one."""
    one, other = _LANGUAGE.findall(new), _LANGUAGE.findall(old)
    if not (len(one) == len(other) == 1 and _TELLS.search(new) and _TELLS.search(old)):
        return False
    again = CORRECTION.marks(new) or len(terms_of(new)) <= len(terms_of(old)) + 1
    return again and one[0].casefold() != other[0].casefold() and not differ(new, old, (one[0], other[0]))


def _is_about(new: str, old: str) -> bool:
    mine = terms_of(new) - _ENDING_WORDS
    least = _MOST_IDEOGRAPHS if is_ideographic(new) else _MOST
    return bool(mine) and len(mine & terms_of(old)) >= least * len(mine)
