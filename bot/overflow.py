"""Telling a context overflow from every other error of a provider (FEATURES P3, E1).

By status and type first, then by wording: what it is *not* (a rate limit, a quota, a bill, a key, a refusal, a picture
or a tool that is too large, an answer that was asked to be too long) before what it is. The patterns are built of the
few words that providers say it with, and not of their messages; ``tests/unit/provider_errors.jsonl`` holds those, each
with its source. Pure.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from bot.stated_numbers import StatedNumbers, stated_numbers
from bot.wording import Wording, wordings

__all__ = ["StatedNumbers", "is_context_overflow", "stated_numbers"]

_NEVER = frozenset({401, 402, 404, 405, 408, 414, 431})
"""Key, bill, unknown, timeout, and URLs or headers that are too large."""
_DOUBTFUL = frozenset({403, 429})
"""Only words about the context itself count. Together documents 403 for an overflow."""

_NOT_BY_TYPE = re.compile(r"authentication|notfound|timeout|connection|cancelled|billing|payment|header", re.IGNORECASE)
_DOUBTFUL_TYPE = re.compile(r"rate_?limit|throttl|toomanyrequests|permission", re.IGNORECASE)
_BY_TYPE = re.compile(
    r"context_?(window|length|size)\w*(exceed|overflow)|exceed_?context|context_?overflow|model_?overflow|prompt_?too_?long",
    re.IGNORECASE,
)
_BY_TYPE_UNLESS_WORDED = re.compile(r"(request|content|payload|body)_?too_?large", re.IGNORECASE)

# What patterns are made of. A full stop ends a thought, unless it stands in a number or a name.
_GAP = r"(?:[^.;]|\.(?=\w))"
_INPUT = r"(?:prompts?|inputs?|conversation|(?:chat\ )?history|messages|context|sequence)"
_TOO_LONG = r"(?:too\ (?:long|large|big))"
_MORE = r"(?:(?:longer|larger|greater|more|bigger|higher)\ (?:in\ length\ )?than)"
_LESS = r"(?:<=?|(?:less|fewer|smaller|shorter)\ (?:in\ length\ )?than|at\ most|no\ more\ than|within)"
_EXCEEDS = rf"(?:exceed\w*|surpass\w*|{_MORE}|over\ the|beyond)"
_ROOM = (
    r"(?:context(?:\ the)?\ ?(?:length|window|size|limit|budget|capacity)|n\ ctx|(?:max(?:imum)?\ )?"
    r"(?:model|sequence|seq|input|prompt)\ ?(?:length|len|size)|max(?:imum)?\ (?:allowed\ )?(?:context|input|prompt)\b"
    r"(?!\ (?:request|source|item|file|message)))"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE)


_CERTAIN = _pattern(
    rf"""
    \b(context\ length\ exceeded | contextwindowexceeded\w* | (exceed\ )?context\ (size\ )?exceeded\b
      | exceed\ context\ size\ error | model\ max\ prompt\ tokens\ exceeded | out\ ?of\ ?context\ ?err\w*
      | prompt\ is\ too\ long | input\ is\ too\ long\ for\ requested\ model)\b
    | \bcontext\ ?(length|window|size|limit)(\ has\ been|\ was|\ is)?\ exceed
    | {_EXCEEDS}{_GAP}{{0,60}}\bcontext\ ?(length|window|size|limit)\b
    | (maximum|max)\ (context|prompt|model)\ length\ is\ [\d,]+ | input\ token\ count\ \(?[\d,]+\)?\ exceeds
    | max\ tokens\ must\ be\ at\ least\ 1,\ got\ [1-9]
    """
)
"""What a provider says to programs, or of the context outright: certain, whatever else a gateway wraps around it.

(The last is vLLM's, of a negative number: the window less the prompt.)
"""

_NEVER_WORDS = _pattern(
    r"""
    rate\ ?limit | too\ many\ requests | throttl | \bquotas?\b | concurren | overloaded | over\ capacity
    | tier\ capacity | high\ demand | peak\ load | (?<!token\ )(?<!tokens\ )request\ limit\ reached
    | tokens\ processed
    | per[ ]?(min|minute|second|sec|hour|day|week|month)\b | \b(tpm|rpm|tpd|rpd|itpm|otpm|qps|qpm)\b | /\ ?min\b
    | (this|current|next)\ (minute|hour|day|month|period) | \b(daily|monthly|weekly|hourly|today|tomorrow)\b
    | exceed\w*\ your\ (per|organi[sz]ation|account|team|project|workspace|tier)\b
    | (account|organi[sz]ation|team|workspace|project|user|you)\ (has|have)\ (exceeded|reached|used)\ (its|your|all)\b
    | (retry|try\ again|wait)\ (after|in|at|later)\b | usage\ (limit|size) | \bretry\ ?(after|delay|info)\b
    | please\ (wait|slow\ down) | wait\ (before|a\ moment|and\ try) | \bresets?\ (in|at)\b
    | billing | \bcredits?\b | \bbalance\b | payment | afford | subscription | \bplan\b | paid\ (account|tier) | arrears
    | spend(ing)?\ limit | api\ ?key | unauthori[sz]ed | authenticat | permission | forbidden | access\ denied
    | (access|auth\w*|refresh|bearer|session|security|id|csrf)\ token | invalid\ token | token\ has\ expired | \bjwt\b
    | content\ (policy|filter|management) | safety | moderation | responsible\ ai | prohibited | sensitive\ content
    | deadline\ exceeded | timed?\ ?out\b | took\ too\ long | context\ cancell?ed
    | out\ of\ memory | insufficient\ memory | system\ memory | kv\ cache | max\ retries\ exceeded | cuda
    | (?<!context\ )\bbudget\b | recursion | call\ stack | maxbuffer | derived\ max\ model\ len
    | window\ (is\ )?too\ (small|short) | too\ short
    | (image|picture|photo|video|audio|pdf|attachment|caption|header|uri|url|file|file\ ?name|user\ ?name|password|media
        |document|upload|schema|label|title)(s|\ \w+)?
        \ (\([^)]{1,40}\)\ )?(is\ |are\ |dimensions\ |size\ |fields\ |count\ )?(exceed|too\ (long|large|big))
    | exceed\w*\ [^.;]{0,30}\b(upload|file|image|pages?|pixels|characters?\ limit|character)\b
    | too\ (many|much)\ (images|media|documents|files|pages|tools|messages|inputs|stop|functions)
    | (\btools?\b|function|\bname\b|(?<!request\ )\bid\b|metadata|description|stop\ sequences?|cache\ key|\buser\b
        )\W((?!prompt|input|context|payload)[^.;]){0,40}(too\ (long|many|large)|maximum\ length)
    | (?<!input\ )\barray\ too\ long | bad\ request:\ message\ is\ too\ long | \bbatch\b
    | max(imum)?\ \d+\ tokens\ per\ request | tokens\ per\ request\ \( | \d\ message\ limit
    | (number|count)\ of\ (messages|items|tools|images|inputs)\b[^.;]{0,30}(exceed|too\ |limit|max)
    | 速率|频率|频繁|频次|限流|限速|并发|配额|额度|余额|欠费|充值|每分钟|每秒|每天|每日|每周|每月|稍后|鉴权|密钥
      |敏感|违规|安全|令牌|超时|负载|饱和|套餐|次数|条数|轮数
      |(工具|图片|消息|文件|请求)数量.{0,6}(超|过|上限)
    | (图片|图像|文件|文档|附件|音频|视频|页数|文件名)[^。；，]{0,12}(过长|太长|超长|超限|超出|超过|大于|过大)
    """
)

_TOO_LONG_AN_ANSWER = _pattern(
    rf"""
    max(imum)?\ (completion\ |output\ |new\ )?tokens\b(?!\ of){_GAP}{{0,40}}
      (too\ (large|high|big|long)|exceed|must|should|has\ to|cannot|can\ not|not\ valid|less\ than|below|above)
    | maximum\ (allowed\ )?(number\ of\ )?(output|completion)\ tokens | maximum\ output | {_EXCEEDS}\ max\ output
    | (output|completion|response|generated|reasoning|thinking)\ tokens?\ (limit|count|length|budget|exceed|provided)
    | at\ most\ \d+\ (completion|output)\ tokens | range\ of\ max\ tokens | max\ output\ tokens
    | (output|response|answer|reply)\ (is\ |was\ )?(too\ long|truncated)
    """
)
_ABOUT_CONTEXT = _pattern(
    r"context\ ?(length|window|size|limit)|inputs?\ (length|tokens?)|prompt\ (length|tokens?)|\(prompt\ and"
)

_ABOUT_THE_ROOM = _pattern(
    rf"""
    {_EXCEEDS}{_GAP}{{0,80}}\b{_ROOM}
    | exceeds?\ limit\ context | maximum\ (context|input)\b(?!\ (request|source|item|file|message))
    | \b(has|have|contains?|requested|sent|used)\ [\d,]+\ tokens{_GAP}{{0,60}}\b{_ROOM}
    | {_ROOM}\ (has\ been\ |was\ |is\ |limit\ )?(exceed|overflow|reached|full)
    | {_ROOM}{_GAP}{{0,20}}\ exceed\w* | context\ (the\ )?overflow\w*\ ?($|[:;.,(!]) | context\ shift\ is\ disabled
    | {_TOO_LONG}\ (to\ fit|for){_GAP}{{0,60}}(context|model\b)
    | reached\ (the\ |its\ |your\ )?(\w+\ )?{_ROOM} | (does|do|did|will)\ ?nt\ fit{_GAP}{{0,40}}context
    | (run|ran|runs|running)\ out\ of\ (\w+\ )?(in\ )?(the\ )?{_GAP}{{0,20}}context
    | {_LESS}\ (\w+\ ){{0,3}}{_ROOM}\ of\ the\ model | must\ be\ {_LESS}{_GAP}{{0,40}}{_ROOM}
    | context\ (window|length|size)\ (is|of){_GAP}{{0,40}}\b(requested|has|have|contains|used|sent|resulted)
    | slot\ context:\ \d+\ tokens | context\ (length|window|size)\ (is|of)\ only
    | reached\ its\ (conversation|token)\ limit
    | cannot\ truncate\ (to\ \d+,\ required|prompt)
    """
)
_ABOUT_THE_INPUT = _pattern(
    rf"""
    {_INPUT}(\ \([^)]{{1,30}}\))?\ (text\ |length\ |content\ |tokens?\ (length\ |count\ )?)?
      (is\ |are\ |was\ |were\ )?((much|far|way)\ )?{_TOO_LONG}
    | (messages|input|prompt|request(\ is)?)\ ?{_TOO_LONG} | {_TOO_LONG}\ an?\ (input|prompt)
    | \b{_INPUT}{_GAP}{{0,40}}\ exceed\w*{_GAP}{{0,60}}\b(tokens?|length|len|limit|maximum|max)\b
    | (prompt|input)\ tokens?\ (count\ |length\ )?(\(?(of\ |is\ )?\d+\)?\ )?(exceed|cannot\ exceed|limit\ exceed)
    | max\ prompt\ tokens | (range|limit)\ of\ input\ length
    | input\ token\ count\ is\ \d+\ but | maximum\ (allowed\ )?prompt\ (length|size|tokens?)
    | max\ input\ (tokens|characters)
    | prompt\ contains\ \d+\ tokens | inputs\ tokens\ \+\ | inputs\ must\ have\ less\ than
    | length\ of\ (prompt|input)\ tokens | \d\ tokens?\ >\ \d | too\ many\ total\ text\ bytes
    | (prompt|input|text)\ length\ is\ \d+{_GAP}{{0,20}}\ outside\ the\ range
    | (prompt|input)\ (tokens?|length)\ must\ (be|have)\ {_LESS} | conversation\ (length\ )?(is\ |was\ )?exceeded
    | tokens\ in\ (your\ |the\ )?(request|prompt|input|messages){_GAP}{{0,40}}({_EXCEEDS}|{_TOO_LONG})
    | trying\ to\ keep\ the\ first\ \d+\ tokens | tokens\ to\ keep\ from\ the\ initial
    | (reduce|shorten|decrease)\ (the\ |your\ )?((length|size)\ of\ )?(the\ |your\ |either\ )?(input\ )?
        (prompt|input|messages|conversation|context|one)\b
    | expected\ maxlength:\ \d+ | max\ tokens\ of\ \d+\ exceeded
    """
)

_PROBABLY = _pattern(
    rf"""
    too\ many\ (input\ |prompt\ |total\ )?tokens
    | \btokens?\b{_GAP}{{0,60}}\ (exceed|over\ (the\ )?(limit|maximum)|cannot\ exceed)
    | exceed\w*\ {_GAP}{{0,60}}\b(tokens?\b|token\ limit|sequence\ length)
    | tokens?\ ?limits?\ ?(is\ |was\ |has\ been\ )?(exceed|reached)
    | (over|above)\ the\ (token|model|context)\ limit | request\ ?too\ ?large
    | (request\ entity|payload|content|request\ body|body)\ (is\ )?too\ large
    | (payload|request|body)\ (body\ )?(size\ )?exceeds?\ the\ (maximum\ )?(allowed\ )?(size|limit)
    | string\ too\ long\.\ expected\ a\ string\ with\ maximum\ length\ \d{{5,}}
    """
)
_EXHAUSTED = re.compile(r"resource ?exhausted")
_NOT_BARE = re.compile(r"again|retr|limit|capacity|usage|busy|queue")

_CHINESE = re.compile(
    r"(上下文|输入|提示词|对话|会话|请求|文本|内容|消息|prompt|tokens?)[^。；，]{0,20}"
    r"(过长|太长|超长|超限|超出|超过|大于|达到上限|过大|超窗)"
    r"|(超出|超过|大于)[^。；，]{0,20}(上下文|窗口|输入长度|token|最大长度)|压缩上下文"
)
_CHINESE_ANSWER = re.compile(r"max tokens|输出(长度|token)")
_CHINESE_INPUT = re.compile("上下文|输入|提示词")


def is_context_overflow(error: BaseException | str, status: int | None = None) -> bool:
    """Whether ``error`` says that the request does not fit into the model's context window.

    ``error``: an exception (an ``anthropic.APIStatusError`` or anything like one; its causes are read too), a message,
    a JSON body, or a stop reason. ``status``: the HTTP status, where the exception does not carry it. A bare 400 is not
    an overflow; a bare ``RESOURCE_EXHAUSTED`` is one, and with a quota's wording it is none.
    """
    return any(_is_overflow(wording) for wording in wordings(error, status))


def _is_overflow(wording: Wording) -> bool:
    words, type_name, status = wording.words, wording.type_name, wording.status
    if status in _NEVER or _NOT_BY_TYPE.search(type_name):
        return False
    if _BY_TYPE.search(type_name) or _CERTAIN.search(words):
        return True
    if _NEVER_WORDS.search(words) or (_TOO_LONG_AN_ANSWER.search(words) and not _ABOUT_CONTEXT.search(words)):
        return False
    if _ABOUT_THE_ROOM.search(words):
        return True
    if _EXHAUSTED.search(words):
        return bool(_ABOUT_THE_INPUT.search(words)) or not _NOT_BARE.search(words)
    if status in _DOUBTFUL or _DOUBTFUL_TYPE.search(type_name):
        return False
    return (
        status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        or bool(_BY_TYPE_UNLESS_WORDED.search(type_name))
        or bool(_ABOUT_THE_INPUT.search(words) or _PROBABLY.search(words))
        or _in_chinese(words)
    )


def _in_chinese(words: str) -> bool:
    if not _CHINESE.search(words):
        return False
    return not _CHINESE_ANSWER.search(words) or bool(_CHINESE_INPUT.search(words))
