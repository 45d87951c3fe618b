"""How large a request was and how much would have fitted, as an overflow says of itself (FEATURES P3).

Numbers of fewer than three digits are the names of models and the counts of messages, except where the wording
leaves no other reading; a context is larger. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.model.overflow.wording import normalized


@dataclass(frozen=True)
class StatedNumbers:
    """What an overflow says of itself, in tokens; ``None`` where it does not."""

    asked: int | None
    """The size of the request, with the room for its answer where the provider counts that."""
    limit: int | None


_N = r"(?<![a-z\d])(\d{1,3}(?:,\d{3}){1,3}|\d{3,9}|\d{1,4}k)(?![a-z\d])"
_ANY = r"\b(\d{1,3}(?:,\d{3}){1,3}|\d{1,9})\b"
_SAYS_MORE = (
    r"(?:exceed\w*|cannot exceed|is (?:longer|larger|greater|more) than"
    r"|(?:is )?too large|is too long|must be less than)"
)

_ASKED_IN_TWO = (
    (re.compile(rf"{_ANY} \+ {_ANY} (?:>|is greater than|exceeds)\D{{1,40}}{_ANY}"), (1, 2, 3)),
    (re.compile(rf"\({_N} > {_N} {_N}\)"), (1, 3, 2)),
    (re.compile(rf"\({_N}\) \+ [a-z ]{{1,30}}\({_N}\) exceeds? [a-z ]{{1,30}}\({_N}\)"), (1, 2, 3)),
    (re.compile(rf"must be <= {_N}\. given: {_N} inputs tokens and {_N}"), (2, 3, 1)),
)
"""The request in two parts, and which groups are the parts and the limit.

The second is vLLM's ``answer > limit - input``; normalizing takes the minus away.
"""

_ASKED_THEN_LIMIT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_ANY} tokens? > {_ANY}",
        rf"\({_N} (?:>|/) {_N}\)",
        rf"n keep\W{{1,2}}{_N}\)? ?>= n ctx\W{{1,2}}{_N}",
        rf"tokens \({_N}\) >=? n ctx \({_N}\)",
        rf"n prompt tokens\W{{1,4}}{_N}\W{{1,6}}n ctx\W{{1,4}}{_N}",
        rf"prompt contains {_N} tokens.{{0,80}}?with {_N} maximum",
        rf"passed {_N} input tokens.{{0,80}}?context length is only {_N}",
        rf"current length is {_N} while limit is {_N}",
        rf"prompt is too long: {_N}, model maximum context length: {_N}",
        rf"first {_N} tokens.{{0,120}}?context length of only {_N}",
        rf"prompt={_N} limit={_N}",
        rf"\({_N} tokens, max {_N}\)",
        rf"exceeded: {_N} > {_N}",
        rf"has {_N} tokens, but .{{0,40}}?context size is {_N}",
        rf"count is {_N} but\D{{1,80}}{_N}",
        rf"has {_N} tokens, max prompt/context tokens is {_N}",
        rf"\({_N}\) > (?:context|model|max\w*)\D{{1,20}}{_N}",
        rf"{_N} tokens > (?:n|num) ctx {_N}",
        rf"{_N} requested, {_N} available",
        rf"used {_N}/{_N}",
        rf"当前\D{{0,4}}{_N}\D{{0,12}}最大\D{{0,6}}{_N}",
        rf"{_N}[^。；;\d]{{0,12}}(?:超过|超出|大于|超過)[^。；;\d]{{0,20}}{_N}(?! ?(?:个?字|bytes|[mk]b))",
        rf"{_N} tokens,? (?:while|but|and) \D{{0,30}}(?:at most|only|up to|maximum|limit) (?:of |is )?{_N}",
        rf"{_N} tokens, more than \D{{0,20}}{_N}",
        rf"{_N}\)?(?: tokens?\)?)?(?:, which)? {_SAYS_MORE}\D{{1,80}}{_N}",
    )
)
_LIMIT_THEN_ASKED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"context length is {_N} tokens.{{0,160}}? for a total of (?:at least )?{_N}",
        (
            rf"(?:context|prompt) (?:length|window|size) (?:is|of) {_N}(?: tokens)?\b.{{0,60}}?"
            rf"(?:resulted in|requested|requested a total of|contains|has|was)(?: about)? {_N}"
        ),
        rf"max input tokens: {_N}, request input token count: {_N}",
        rf"token limit: {_N} \(requested: {_N}",
        rf"limit of {_N} tokens\. your messages resulted in {_N}",
        rf"cannot exceed {_N} received {_N}",
        rf"must be (?:no more than|at most|less than) {_N}, got {_N}",
        rf"must have less than {_N} tokens\. given: {_N}",
        rf"slot context: {_N} tokens, prompt {_N}",
        rf"cannot truncate to {_N}, required {_N}",
        rf"token limit: {_N} tokens current usage: {_N}",
        rf"最大上下文长度\D{{0,3}}{_N}[^。;；]{{0,20}}?(?:包含|请求了?|共)\D{{0,6}}{_N}",
        rf"(?:only|at most|up to) (?:process |handle |accept |take )?{_N} tokens,? but\D{{1,40}}{_N}",
    )
)
_LIMIT_ONLY = re.compile(
    r"(?:context (?:length|window|size)|token limit|(?:prompt|model) length|configured limit)(?: is| of|:)?(?: only)?"
    rf" \(?{_N}"
    rf"(?!\)?(?: tokens?\)?)? {_SAYS_MORE})"
    rf"|range of input length should be \[\d+, {_N}|max size: {_N} tokens|max tokens of {_N} exceeded"
    rf"|too large for model with {_N} maximum"
    rf"|exceed\w* (?!limit \()(?:(?!by )[^.,:;\d]){{0,50}}\(?{_N}(?! (?:bytes|characters|mb|kb))"
)
_ASKED_ONLY = re.compile(rf"context window exceeded: requested {_N} tokens|\({_N} tokens\) exceeds")


def stated_numbers(text: str) -> StatedNumbers | None:
    """The tokens asked for and the limit, as a provider's wording states them; ``None`` where it states neither."""
    words = normalized(text)
    for pattern, (one, other, limit) in _ASKED_IN_TWO:
        if found := pattern.search(words):
            return StatedNumbers(_number(found[one]) + _number(found[other]), _number(found[limit]))
    for pattern in _ASKED_THEN_LIMIT:
        if found := pattern.search(words):
            return StatedNumbers(_number(found[1]), _number(found[2]))
    for pattern in _LIMIT_THEN_ASKED:
        if found := pattern.search(words):
            return StatedNumbers(_number(found[2]), _number(found[1]))
    if found := _LIMIT_ONLY.search(words):
        return StatedNumbers(None, _number(next(filter(None, found.groups()))))
    if found := _ASKED_ONLY.search(words):
        return StatedNumbers(_number(next(filter(None, found.groups()))), None)
    return None


def _number(digits: str) -> int:
    return int(digits.replace(",", "")) if digits[-1] != "k" else int(digits[:-1]) * 1_000
