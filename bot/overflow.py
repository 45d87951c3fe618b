"""Telling a context overflow from every other error of a provider.

By status and type first, then by wording: what it is *not* (a rate limit, a quota, a bill, a key, a refusal,
an answer that was asked to be too long) before what it is. The wordings are those of the five documents that
this program follows, and of Anthropic, OpenAI, Google, Bedrock, Vertex, Azure, Mistral, Cohere, xAI,
OpenRouter, LiteLLM, Ollama, llama.cpp, vLLM, SGLang, TGI, LM Studio, DashScope, Zhipu, Moonshot and MiniMax.
``tests/unit/test_overflow.py`` has an example of each.

Pure: errors of SDKs are read by their attributes, and no SDK is imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

_LONGEST = 8_000
"""Characters of a message that are read, half of them from its end: a body may quote the whole request."""

_DEEPEST_CAUSE = 4

_NEVER = frozenset({401, 402, 403, 404, 405, 408, 414, 431})
"""Key, bill, permission, unknown, timeout, and URLs or headers that are too large."""

_NOT_BY_TYPE = re.compile(r"authentication|permission|notfound|timeout|connection|cancelled|billing", re.IGNORECASE)
_RATE_LIMIT_TYPE = re.compile(r"rate_?limit|throttl|toomanyrequests", re.IGNORECASE)
_BY_TYPE = re.compile(
    r"context_?(window|length|size)_?exceeded|exceed_?context|requesttoolarge|modeloverflow|contextoverflow",
    re.IGNORECASE,
)

_CODE = re.compile(
    r"\b(context length exceeded|contextwindowexceeded\w*|exceed context size error"
    r"|model context window exceeded|model max prompt tokens exceeded)\b"
)
"""What a provider says to programs: certain, whatever else a gateway wraps around it."""

_STATUS_IN_TEXT = re.compile(r"(?:error code|status(?: code)?|http(?:/\d(?:\.\d)?)?)\s?[:=]?\s?(\d{3})\b")

_NEVER_WORDS = re.compile(
    r"""
    rate\ ?limit | too\ many\ requests | throttl | \bquotas?\b | concurren | overloaded | over\ capacity
    | per[ ]?(min|minute|second|sec|hour|day|week|month)\b | \b(tpm|rpm|tpd|rpd|itpm|otpm)\b | / ?min\b
    | \b(daily|monthly|weekly|hourly|today)\b | (retry|try\ again|wait)\ (after|in|at)\b
    | usage\ limit | retry\ ?(after|delay|info)\b
    | please\ (wait|slow\ down) | wait\ (before|a\ moment|and\ try)
    | billing | \bcredits?\b | balance | payment | afford | subscription | \bplan\b | paid\ (account|tier)
    | api\ ?key | unauthori[sz]ed | authentication | permission | forbidden | access\ denied
    | invalid\ token | \bjwt\b
    | content\ (policy|filter|management) | safety | moderation | responsible\ ai | prohibited
    | deadline\ exceeded | timed?\ ?out | took\ too\ long | context\ cancell?ed
    | out\ of\ memory | system\ memory | max\ retries\ exceeded | \bbudget\b | recursion | call\ stack | cuda
    | (image|picture|photo|video|audio|pdf|attachment|caption|header|uri|url|file\ ?name|user\ ?name|password
        )(s|\ \w+)?\ (is\ |are\ |dimensions\ |size\ |fields\ )?(exceed|too\ (long|large|big))
    | (\btools?\b|function|\bname\b|(?<!request\ )\bid\b|metadata|description|stop\ sequences?)\W
        ((?!prompt|input|context)[^.]){0,40}
        (too\ (long|many|large)|maximum\ length)
    | (?<!input\ )\barray\ too\ long | bad\ request:\ message\ is\ too\ long
    | 速率|频率|频繁|频次|限流|限速|并发|配额|额度|余额|欠费|充值|每分钟|每秒|每天|每日|稍后|鉴权|密钥
      |敏感|违规|安全
    """,
    re.VERBOSE,
)

_TOO_LONG_AN_ANSWER = re.compile(
    r"""
    max(imum)?\ (completion\ |output\ |new\ )?tokens\W{1,4}(is\ |are\ |was\ |value\ )?(\w+\ )?too\ (large
      |high|big|long)
    | maximum\ (allowed\ )?(number\ of\ )?(output|completion)\ tokens
    | (output|completion|response|generated|reasoning|thinking)\ tokens?\ (limit|count|length|budget|exceed)
    | at\ most\ \d+\ (completion|output)\ tokens
    | range\ of\ max\ tokens | max\ tokens\W{1,4}(must|should|has\ to|cannot|exceeds?)\b
    | exceeds?\ max\ output
    | (output|response|answer|reply)\ (is\ |was\ )?(too\ long|truncated)
    """,
    re.VERBOSE,
)
_ABOUT_CONTEXT = re.compile(r"context\ ?(length|window|size|limit)|inputs?\ (length|tokens)|prompt (length|tokens)")

_SURELY = re.compile(
    r"""
    context\ ?(length|window|size|limit)\ ?(has\ been\ |was\ |is\ |limit\ )?(exceed|overflow|reached|full)
    | exceed\w*\ [^.;]{0,80}context\ ?(length|window|size|limit) | exceeds?\ limit\ context
    | maximum\ (context|input)\b | context\ (length|window|size)\ of\ only
    | context\ (window|length)\ exceeds | context\ (the\ )?overflow | context\ shift\ is\ disabled
    | (longer|larger|greater|more|bigger)\ (in\ length\ )?than\ [^.;]{0,60}
        (context|model\ length|sequence\ length|maximum\ (input|prompt))
    | reached\ (the\ |its\ |your\ )?(\w+\ )?context\ (length|window|size|limit) | ran\ out\ of\ context
    | does\ ?n[o']t\ fit\ [^.;]{0,40}context
    | (prompt|inputs?|conversation|chat\ history|context|request\ input)(\ \([^)]{1,30}\))?
        \ (text\ |length\ |tokens?\ (length\ |count\ )?)?(is\ |are\ |was\ )?(much\ |far\ )?too\ (long
          |large|big)
    | messages\ are\ too\ long | prompt\ ?too\ ?long
    | (prompt|input)\ tokens?\ (count\ |length\ )?(\(?(of\ |is\ )?\d+\)?\ )?(exceed|cannot\ exceed
      |limit\ exceed)
    | (prompt|input)\ tokens\ exceeded | max\ prompt\ tokens
    | input\ token\ count\ is\ \d+\ but | (prompt|input)\ length[^.;]{0,30}\ exceed | range\ of\ input\ length
    | maximum\ (allowed\ )?prompt\ (length|size|tokens?) | maximum\ allowed\ input | max\ input\ tokens
    | prompt\ contains\ \d+\ tokens | inputs\ tokens\ \+\ | inputs\ must\ have\ less\ than
    | \d+\ tokens?\ >\ \d+ | trying\ to\ keep\ the\ first\ \d+\ tokens | tokens\ to\ keep\ from\ the\ initial
    | (reduce|shorten|decrease)\ (the\ |your\ )?((length|size)\ of\ )?(the\ |your\ |either\ )?(input\ )?
        (prompt|input|messages|conversation|context|one)\b
    | expected\ maxlength:\ \d+
    """,
    re.VERBOSE,
)

_PROBABLY = re.compile(
    r"""
    too\ many\ (input\ |prompt\ |total\ )?tokens
    | tokens?\b[^.;]{0,60}\ (exceed|over\ (the\ )?(limit|maximum)|cannot\ exceed)
    | exceed\w*\ [^.;]{0,60}\b(tokens?\b|token\ limit|sequence\ length)
    | token\ ?limit\ ?(is\ |was\ |has\ been\ )?(exceed|reached) | tokens\ limit\ reached
    | (over|above)\ the\ (token|model|context)\ limit | request\ ?too\ ?large
    | (request\ entity|payload|content|request\ body|body)\ (is\ )?too\ large
    | (payload|request|body)\ (body\ )?(size\ )?exceeds?\ the\ (maximum\ )?(allowed\ )?(size|limit)
    | string\ too\ long\.\ expected\ a\ string\ with\ maximum\ length\ \d{5,}
    | resource\ ?exhausted
    """,
    re.VERBOSE,
)

_CHINESE = re.compile(
    r"(上下文|输入|提示词|对话|会话|请求|文本|内容|消息|prompt|tokens?)[^。；，]{0,20}"
    r"(过长|太长|超长|超限|超出|超过|大于|达到上限|过大|超窗)"
    r"|(超出|超过|大于)[^。；，]{0,20}(上下文|窗口|输入长度|token|最大长度)"
)
_CHINESE_ANSWER = re.compile(r"max tokens|输出(长度|token)|响应超时")
_CHINESE_INPUT = re.compile("上下文|输入|提示词")

_SEPARATORS = re.compile(r"[\s_\-`'\"’“”\\*]+")


def is_context_overflow(error: BaseException | str, status: int | None = None) -> bool:
    """Whether ``error`` says that the request does not fit into the model's context window.

    ``error``: an exception (an ``anthropic.APIStatusError`` or anything like one; its causes are read too),
    a message, a JSON body, or a stop reason. ``status``: the HTTP status, where the exception does not carry
    it. A bare 400 is not an overflow; a bare ``RESOURCE_EXHAUSTED`` is one, and with a quota's wording it is
    none.
    """
    if isinstance(error, str):
        return _is_overflow(error, "", status)
    return any(
        _is_overflow(_text_of(cause), type(cause).__name__, status if status is not None else _status_of(cause))
        for cause in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _is_overflow(text: str, type_name: str, status: int | None) -> bool:
    words = _normalized(text)
    if status is None and (found := _STATUS_IN_TEXT.search(words)):
        status = int(found[1])
    if status in _NEVER or (type_name and _NOT_BY_TYPE.search(type_name)):
        return False
    if _CODE.search(words):
        return True
    if _NEVER_WORDS.search(words):
        return False
    if _TOO_LONG_AN_ANSWER.search(words) and not _ABOUT_CONTEXT.search(words):
        return False
    if _BY_TYPE.search(type_name) or _SURELY.search(words):
        return True
    if status == HTTPStatus.TOO_MANY_REQUESTS or _RATE_LIMIT_TYPE.search(type_name):
        return "resource exhausted" in words
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _PROBABLY.search(words):
        return True
    return bool(_CHINESE.search(words)) and (not _CHINESE_ANSWER.search(words) or bool(_CHINESE_INPUT.search(words)))


def _normalized(text: str) -> str:
    """Lower case, one space for white space, underscores, hyphens and quotes; long texts without their
    middle.
    """
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} {text[-_LONGEST // 2 :]}"
    return _SEPARATORS.sub(" ", text.replace("n't ", "nt ").lower()).strip()


def _status_of(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _text_of(error: BaseException) -> str:
    """What an exception says: its text, its message, and what its body says of the error."""
    pieces = [str(error)]
    for name in ("message", "code", "type"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            pieces.append(value)
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        pieces.append(json.dumps(inner, default=str, ensure_ascii=False))
    elif isinstance(body, str):
        pieces.append(body)
    return "\n".join(dict.fromkeys(pieces))


@dataclass(frozen=True)
class StatedNumbers:
    """What an overflow says of itself, in tokens; ``None`` where it does not."""

    asked: int | None
    """The size of the request, with the room for its answer where the provider counts that."""
    limit: int | None


_N = r"(\d[\d,]*)"
_ASKED_THEN_LIMIT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_N} tokens? > {_N}",
        rf"request \({_N} tokens\) exceeds [^(]{{0,60}}\({_N} tokens\)",
        rf"n prompt tokens\W{{1,4}}{_N}\W{{1,6}}n ctx\W{{1,4}}{_N}",
        rf"tokens? count \(?(?:of |is )?{_N}\)? (?:exceeds|but)\D{{1,80}}{_N}",
        rf"tokens? \({_N}\) exceeded\D{{1,60}}\({_N}",
        rf"prompt contains {_N} tokens.{{0,80}}?with {_N} maximum",
        rf"\(length {_N}\) is longer than\D{{1,60}}{_N}",
        rf"\({_N} tokens\) is (?:longer than|too long)\D{{1,60}}{_N}",
        rf"current length is {_N} while limit is {_N}",
        rf"input tokens {_N} cannot exceed\D{{1,60}}{_N}",
        rf"passed {_N} input tokens.{{0,80}}?context length is only {_N}",
        rf"(?:prompt|input) length \({_N}\) exceeds\D{{1,60}}{_N}",
        rf"prompt is too long: {_N}, model maximum context length: {_N}",
        rf"first {_N} tokens.{{0,120}}?context length of only {_N}",
    )
)
_LIMIT_THEN_ASKED = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rf"(?:context|prompt) length (?:is|of) {_N}(?: tokens)?\b.{{0,60}}?"
            rf"(?:resulted in|requested|requested a total of|contains|has)(?: about)? {_N}"
        ),
        rf"max input tokens: {_N}, request input token count: {_N}",
        rf"token limit: {_N} \(requested: {_N}",
        rf"limit of {_N} tokens\. your messages resulted in {_N}",
        rf"cannot exceed {_N} received {_N}",
    )
)
_SUM = re.compile(rf"{_N} \+ {_N} > {_N}")
_LIMIT_ONLY = re.compile(
    rf"(?:context (?:length|window|size)|token limit|prompt length)(?: is| of|:)?(?: only)? \(?{_N}"
    rf"|range of input length should be \[\d+, {_N}|max size: {_N} tokens"
)


def stated_numbers(text: str) -> StatedNumbers | None:
    """The tokens asked for and the limit, as a provider's wording states them; ``None`` where it states
    neither.
    """
    words = _normalized(text)
    if found := _SUM.search(words):
        return StatedNumbers(_number(found[1]) + _number(found[2]), _number(found[3]))
    for pattern in _ASKED_THEN_LIMIT:
        if found := pattern.search(words):
            return StatedNumbers(_number(found[1]), _number(found[2]))
    for pattern in _LIMIT_THEN_ASKED:
        if found := pattern.search(words):
            return StatedNumbers(_number(found[2]), _number(found[1]))
    if found := _LIMIT_ONLY.search(words):
        return StatedNumbers(None, _number(next(filter(None, found.groups()))))
    return None


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
