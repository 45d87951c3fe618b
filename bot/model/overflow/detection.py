"""Telling a context overflow from every other error of a provider (FEATURES P3, E1).

By status and type first, then by wording: what it is *not* (a rate limit, a quota, a bill, a key, a refusal, a picture
or a tool that is too large, an answer that was asked to be too long) before what it is. The patterns are built of the
few words that providers say it with, and not of their messages; ``tests/unit/provider_errors.jsonl`` holds those, each
with its source. Pure.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from bot.model.overflow.stated_numbers import StatedNumbers, stated_numbers
from bot.model.overflow.wording import Wording, wordings

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
_INPUT = r"(?:prompts?|inputs?|conversation|(?:chat\ )?history|messages|context|(?<!stop\ )sequence(?!\ (?:number|id)))"
_TOO_LONG = r"(?:too\ ?(?:long|large|big))"
_MORE = r"(?:(?:longer|larger|greater|more|bigger|higher)\ (?:in\ length\ )?than)"
_LESS = r"(?:<=?|(?:less|fewer|smaller|shorter)\ (?:in\ length\ )?than|at\ most|no\ more\ than|within)"
_EXCEEDS = (
    rf"(?:exceed\w*|surpass\w*|{_MORE}|\b(?:over|above|beyond|past)\ (?:the|its|your|this|an?|models?|max\w*|n)\b"
    rf"|\b(?:overflow\w*|overr[au]ns?\b)|{_TOO_LONG}\ (?:to\ fit|for)\b"
    r"|\b(?:does|do|did|will|can|could)\ ?(?:nt|not)\ fit\b)"
)
_ROOM = (
    r"(?:context(?:\ the)?\ ?(?:length|window|size|limit|budget|capacity)|n(?:um)?\ ctx|(?:max(?:imum)?\ )?"
    r"(?:(?:sequence|seq|input|prompt)\ ?(?:length|len|size)|model\ ?(?:length|len))"
    r"|max(?:imum)?\ (?:allowed\ )?(?:context|input|prompt)\b(?!\ (?:request|source|item|file|message)))"
)
_WHOLE = (
    rf"(?:{_INPUT}|transcript|tokens?\ (?:count|length|number)|request(?!s|\ (?:rate|count|queue|timeout))"
    r"|query(?!\ (?:string|param)))"
)
_BOUND = (
    rf"(?:{_ROOM}|(?:token|tokens|input|prompt|models?)\ (?:limits?|max(?:imum)?)\b|(?:max(?:imum)?|limit)\ "
    r"(?:(?:of|number|allowed|permitted|supported|total|input|prompt|context|[\d,]+)\ ){0,4}tokens?\b)"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE)


_CERTAIN = _pattern(
    rf"""
    \b((exceed\ )?context\ (size\ )?exceeded(?!\ (\w+\ )?(depth|time|deadline)) | exceed\ context\ size\ error
      | model\ max\ prompt\ tokens\ exceeded | prompt\ is\ too\ long | input\ is\ too\ long\ for\ requested\ model)\b
    | context[\ .]?(length|window|size|limit)(\ ?size|\ has\ been|\ was|\ is)?[\ .]?exceed
      (?!{_GAP}{{0,30}}\bv?(ram|memory)\b)
    | exceed(ed)?\ ?context\ ?(length|window|size|limit)
    | {_EXCEEDS}{_GAP}{{0,60}}\bcontext\ ?(length|window|size|limit)\b
    | (maximum|max)\ (context|prompt|model)\ length\ is\ [\d,]+ | input\ token\ count\ \(?[\d,]+\)?\ exceeds
    | ^\W*out\ of\ context\ error\W*$ | content\ length\ exceeds\ threshold
    | max\ tokens\ must\ be\ at\ least\ 1,\ got\ [1-9]
    """
)
"""What a provider says to programs, or of the context outright: certain, whatever else a gateway wraps around it.

(The last is vLLM's, of a negative number: the window less the prompt.)
"""

_NEVER_WORDS = _pattern(
    r"""
    rate\ ?limit | (request|call)\ rate | number\ of\ requests | too\ many\ requests | throttl | concurren | overloaded
    | \bquotas?\b(?!\ exceeded\ error:\ the\ input) | over\ capacity | tier\ capacity | high\ demand | peak\ load
    | (?<!token\ )(?<!tokens\ )request\ limit\ reached
    | tokens\ processed | \benqueued\b | (?<!position\ )\bembedding | \btransactions?\b | \b\d{2,5}\ ?[x×]\ ?\d{2,5}\b
    | \b\d+\ ?(seconds?|secs?|minutes?|mins?|hours?|days?)\b | \blifetime\b | \b(sign|log)\ in\b
    | \bexpired?\b | invalid\ characters?
    | \b(temperatur\w*|top\ [pk]|penalty|logit\ bias)\b(?!\ ?[:=]) | \binput\ parameters?\b | 输入的?参数 | 入力パラメ
    | per[ ]?(min|minute|second|sec|hour|day|week|month)\b | \b(tpm|rpm|tpd|rpd|itpm|otpm|qps|qpm)\b | /\ ?min\b
    | (this|current|next)\ (minute|hour|day|month|period) | \b(daily|monthly|weekly|hourly|today|tomorrow)\b
    | exceed\w*\ your\ (per|organi[sz]ation|account|team|project|workspace|tier)\b
    | (for|of|by|on|in)\ (your|this|the)\ (current\ )?(organi[sz]ation|account|team|project|workspace|tier|key)\b
    | (account|organi[sz]ation|team|workspace|project|user|you)\ (has|have)\ (exceeded|reached|used)\ (its|your|all)\b
    | (retry|try\ again|wait)\ (after|in|at|later)\b | usage\ (limit|size) | \bretry\ ?(after|delay|info)\b
    | please\ (wait|slow\ down) | wait\ (before|a\ moment|and\ try) | \bresets?\ (in|at)\b
    | billing | \bcredits?\b | \bbalance\b | payment | afford | subscription | \bplan\b | paid\ (account|tier) | arrears
    | free\ (tier|trial|users?|accounts?) | upgrade\ (to|your)\ (\w+\ )?(pro|plus|team|max|tier|account)\b
    | spend(ing)?\ limit | api\ ?key | unauthori[sz]ed | authenticat | permission | forbidden | access\ denied
    | (access|auth\w*|refresh|bearer|session|security|id|csrf)\ token | invalid\ token | token\ has\ expired | \bjwt\b
    | content\ (policy|filter|management) | safety | moderation | responsible\ ai | prohibited | sensitive\ content
    | deadline\ exceeded | timed?\ ?out\b | took\ too\ long | context\ cancell?ed
    | (out\ of|insufficient|system|gpu|device|available|enough)\ memory | \bv?ram\b | kv\ cache | n\ ctx\ train
    | training\ context | (message|frame)\ larger\ than\ max | max\ retries\ exceeded | cuda
    | (?<!context\ )(?<!output\ )\bbudget\b | recursion | call\ stack | max\ ?buffer | derived\ max\ model\ len
    | \bcontexts\b | context\ management | prompt\ (template|library|id|name)\b | \bdatabase\b | upload\ (limit|size)
    | \b(max(imum)?|limit|allowed|most)\ ([\w,]+\ ){0,3}(variables|entries|items|rows|columns|results|attempts|retries
        |participants|dimensions?|edits|fields|properties|parameters|members|connections|users|devices|threads|redirects)\b
    | window\ (is\ )?too\ (small|short) | too\ short
    | (image|picture|photo|video|audio|pdf|attachment|caption|header|uri|url|file|file\ ?name|user\ ?name|password|media
        |document|upload|schema|label|title)(s|\ \w+)?
        \ (\([^)]{1,40}\)\ )?(is\ |are\ |dimensions\ |size\ |fields\ |count\ )?(exceed|too\ (long|large|big))
    | exceed\w*\ [^.;]{0,30}\b(upload|file|image|pages?|pixels|characters?\ limit|character)\b
    | too\ (many|much)\ (images|media|documents|files|pages|tools|messages|inputs|stop|functions)
    | (\btools?\b|function|\bname\b|(?<!request\ )\bid\b|metadata|description|stop\ sequences?|cache\ key|\buser\b
        )\W((?!prompt|input|context|payload)[^.;,{}]){0,40}(too\ (long|many|large)|maximum\ length)
    | (?<!input\ )\barray\ too\ long | bad\ request:\ message\ is\ too\ long | (?<!or\ )\bbatch\b(?!\ generation)
    | max(imum)?\ \d+\ tokens\ per\ request | tokens\ per\ request\ \( | \d\ message\ limit
    | (number|count)\ of\ (messages|items|tools|images|inputs)\b[^.;]{0,30}(exceed|too\ |limit|max)
    | 速率|频率|频繁|频次|限流|限速|并发|配额|额度|余额|欠费|充值|每分钟|每秒|每天|每日|每周|每月|稍后|鉴权|密钥
      |敏感|违规|安全|令牌(?!数)|超时|负载|饱和|套餐|次数|条数|轮数|今日|当日|本月|已截断|工具返回|工具输出|速度|太快|资源|流控|业务量|访问量|限额|授权
      |(工具|图片|消息|文件|请求|会话|对话|连接|任务)(总?数量?|个数).{0,6}(超|过|上限)
    | (图片|图像|文件|文档|附件|音频|视频|页数|文件名|用户名|昵称|姓名|手机号|邮箱|地址
      |名称|标题|描述|密码|字段|标签|函数名|工具名)
      [^。；，]{0,12}(过长|太长|超长|超限|超出|超过|大于|过大)
    """
)

_ANOTHER_CONTEXT = re.compile(
    r"\b(security|browser|execution|audio|tls|ssl|(web)?gl|cuda|device|rendering|react|kubectl\W.{0,20}) ?context"
)
"""Of a program, and not of a model."""

_TOO_LONG_AN_ANSWER = _pattern(
    rf"""
    max(imum)?\ (completion\ |output\ |new\ )?tokens\b(?!\ of){_GAP}{{0,40}}
      (too\ (large|high|big|long)|exceed|must|should|has\ to|cannot|can\ not|not\ valid|below|above|beyond|than)
    | maximum\ (allowed\ )?(number\ of\ )?(output|completion)\ tokens | maximum\ output | {_EXCEEDS}\ max\ output
    | (output|completion|response|generated|reasoning|thinking)\ tokens?
      \ (is\ |are\ |has\ |have\ )?
      (limit|count|length|budget|max|exceed|provided|above|over|too|greater|more|larger|longer)
    | at\ most\ \d+\ (completion|output)\ tokens | range\ of\ max\ tokens | max\ output\ tokens
    | (output|response|answer|reply|completion)\ (\([^)]{{1,30}}\)\ )?(is\ |was\ |has\ )?(too\ long|truncated|exceed)
    """
)
_ABOUT_CONTEXT = _pattern(r"context\ ?(length|window|size|limit)|(inputs?|prompt)\ (length|tokens?|and|\+|plus)\b")

_ABOUT_THE_ROOM = _pattern(
    rf"""
    {_EXCEEDS}{_GAP}{{0,80}}\b{_ROOM}
    | exceeds?\ limit\ context | maximum\ (context|input)\b(?!\ (request|source|item|file|message|depth|value))
    | \b(has|have|contains?|requested|sent|used)\ [\d,]+\ tokens{_GAP}{{0,60}}\b({_ROOM}|context\ of)
    | {_ROOM}\ (has\ been\ |was\ |is\ |limit\ )?(exceed|overflow|reached|full)
    | {_ROOM}{_GAP}{{0,20}}\ exceed\w*
    | context\ (the\ )?overflow\w*\ ?($|[:;.,(!}}]|(in|during|while|on|at|error|detected)\b)
    | context\ shift\ is\ disabled | {_TOO_LONG}\ (to\ fit|for){_GAP}{{0,60}}context
    | \b({_WHOLE}|tokens|text|content|body|payload){_GAP}{{0,40}}\ ?{_TOO_LONG}\ (to\ fit|for){_GAP}{{0,60}}model\b
    | reached\ (the\ |its\ |your\ )?(\w+\ )?{_ROOM} | (does|do|did|will|can|could)\ ?(nt|not)\ fit{_GAP}{{0,40}}context
    | (run|ran|runs|running)\ out\ of\ (\w+\ )?(in\ )?(the\ )?{_GAP}{{0,20}}context
    | {_LESS}\ (\w+\ ){{0,3}}{_ROOM}\ of\ the\ model | must\ be\ {_LESS}{_GAP}{{0,40}}{_ROOM}
    | context\ (window|length|size)\ (is|of){_GAP}{{0,40}}\b(requested|has|have|contains|used|sent|resulted)
    | slot\ context:\ \d+\ tokens | context\ (length|window|size)\ (is|of)\ only
    | reached\ its\ (conversation|token)\ limit
    | cannot\ truncate\ (to\ \d+,\ required|prompt) | not\ enough\ context\ (space|length|window|size|room)
    | more\ tokens\ than\ (the\ |its\ )?(available\ |allowed\ |maximum\ )?(context|models?|n\ ctx|limit)\b
    """
)
_ABOUT_THE_INPUT = _pattern(
    rf"""
    {_INPUT}(\ \([^)]{{1,30}}\))?\ (text\ |length\ |content\ |tokens?\ (length\ |count\ )?)?
      (is\ |are\ |was\ |were\ )?((much|far|way)\ )?{_TOO_LONG}
    | (messages|input|prompt|request(\ is|\ was)?)\ ?{_TOO_LONG} | {_TOO_LONG}\ an?\ (input|prompt)
    | \b{_WHOLE}{_GAP}{{0,60}}{_EXCEEDS}{_GAP}{{0,60}}\b{_BOUND}
    | \b{_INPUT}{_GAP}{{0,40}}\ exceed\w*{_GAP}{{0,60}}\b(tokens?|length|len|limit|maximum|max)\b
    | (prompt|input)\ tokens?\ (count\ |length\ )?(\(?(of\ |is\ )?\d+\)?\ )?(exceed|cannot\ exceed|limit\ exceed)
    | max\ prompt\ tokens | (range|limit)\ of\ input\ length
    | input\ token\ count\ is\ \d+\ but | maximum\ (allowed\ )?prompt\ (length|size|tokens?)
    | max\ input\ (tokens|characters) | max(imum)?\ length\ of\ (the\ )?(current\ )?(question|input|prompt|messages)\b
    | message\ you\ submitted\ was\ too\ long | \bmessage{_GAP}{{0,30}}\ exceed\w*{_GAP}{{0,40}}\b(chat|conversation)\b
    | prompt\ contains\ \d+\ tokens | inputs\ tokens\ \+\ | inputs\ must\ have\ less\ than
    | length\ of\ (prompt|input)\ tokens | \d\ tokens?\ >\ \d | too\ many\ total\ text\ bytes
    | (prompt|input|text)\ length\ is\ \d+{_GAP}{{0,20}}\ outside\ the\ range
    | (prompt|input)\ (tokens?|length)\ must\ (be|have)\ {_LESS} | conversation\ (length\ )?(is\ |was\ )?exceeded
    | tokens\ in\ (your\ |the\ )?(request|prompt|input|messages){_GAP}{{0,40}}({_EXCEEDS}|{_TOO_LONG})
    | trying\ to\ keep\ the\ first\ \d+\ tokens | tokens\ to\ keep\ from\ the\ initial
    | (reduce|shorten|decrease)\ (the\ |your\ )?((length|size)\ of\ )?(the\ |your\ |either\ )?(input\ )?
        (prompt|input|messages|conversation|context|one)\b
    | \d\ tokens\ too\ (long|many|large)
    | (requests?|{_WHOLE})\ (with|of|over|above)\ (more\ than\ )?[\d,]+\ tokens{_GAP}{{0,20}}
        \bnot\ (supported|allowed|accepted)
    | \b{_INPUT}{_GAP}{{0,40}}\ {_MORE}\ ((is\ |are\ )?(allowed|permitted|supported)|(the\ |its\ )?(\w+\ )?context\b)
    | \binput\ length\ error\b | \b(prompt|conversation|history|transcript){_GAP}{{0,30}}\ {_MORE}\ (the\ )?max(imum)?\b
    | \b({_INPUT}|tokens)\ (is\ |are\ )?(over|above|beyond)\ (the\ )?(limit|maximum)
    | (^|\berror\ ?:\W{{0,6}}(message\ ?:\ ?)?|\{{\ message\ :\ )(too\ long|over\ (the\ )?limit)\W*(,|$)
    | expected\ max\ ?length:\ \d+ | max\ tokens\ of\ \d+\ exceeded
    """
)

_ALONE = re.compile(r"\bcontext length\b(?! ?[:=] ?\d+\b(?! ?[/>]))")
"""The one phrase that is enough by itself (eunice's ``contains("context length")``), unless it is a field's name."""
_ALONE_NOT = _pattern(
    r"""
    unexpected | unknown | unrecogni[sz]ed | unsupported | \bnot\ (\w+\ ){0,2}support | \b(doesnt|dont|isnt)\ support
    | \b(argument|parameter|keyword|attribute|property|field|key|option|flag|variable|column)s?\b
    | \binvalid\b(?!\ (request|argument\ error))
    | \b(must|should|has\ to|needs?\ to|can\ ?not|cant)\ be\ (an?\b|one\b|positive|negative|null|set|changed|between
        |greater|larger|more|at\ least|divisible|specified|given|determined|read|found|parsed|detected|zero|empty)
    | \b(integer|numeric|float|string)\b | \bmissing\b | \brequired\ field | undefined | deprecat
    | \bnot\ (been\ )?(set|found|available|known|specified|configured|loaded|defined|given|determined)\b
    | config | setting | memory | vram | \bload(s|ed|ing)?\b | minimum | \bsmall(er)?\b | \bdefault
    | increas(e|ed|ing)\ (to|from) | \b(changed|set|updated|extended|raised|reduced)\ to\b
    | \b(determine|detect|infer|parse|resolve|look\ up|fetch|verify)\b
    | \b(is|are|was|looks)\ (ok|okay|fine|valid|within|sufficient|enough|correct)\b | \bwithin\b
    """
)
_PROBABLY = _pattern(
    rf"""
    too\ many\ (input|prompt|total)\ tokens | \btokens\ (are\ )?too\ (long|many)\b
    | (?<!with\ )too\ many\ tokens\ ?($|[^\w\ ]|(were\ |was\ )?(requested|sent|given|provided)
      |((in|for|per)\ )?((the|your|this|a|our)\ )?
      (chat|context|conversation|history|input|messages?|model|prompt|request)\b)
    | \b(tokens|token(?=\ (counts?|limits?|lengths?|numbers?|quantity|size)))\b{_GAP}{{0,60}}
      \ (exceed|(over|above)\ (the\ )?(allowed\ )?(limit|maximum)|cannot\ exceed)
    | \btokens\b{_GAP}{{0,60}}{_EXCEEDS}{_GAP}{{0,60}}\b{_BOUND}
    | exceed\w*\ {_GAP}{{0,60}}\b(tokens?\b|token\ limit|sequence\ length)
    | tokens?\ ?limits?\ ?(is\ |was\ |has\ been\ )?(exceed|reached)
    | (over|above)\ the\ (token|context)\ limit | request\ ?too\ ?large
    | (request\ entity|payload|content|request\ body|body)\ (is\ )?too\ large
    | (payload|request|body)\ (body\ )?(size\ )?exceeds?\ the\ (maximum\ )?(allowed\ )?(size|limit)
    | string\ too\ long\.\ expected\ a\ string\ with\ maximum\ length\ \d{{5,}}
    """
)
_COUNTED = re.compile(r"\btokens?\b|\b(context|prompt|input|current) (length|size)\b")
_EXHAUSTED = re.compile(r"resource ?exhausted")
_NOT_BARE = re.compile(r"again|(?<!is )retr|limit|capacity|usage|busy|queue")

_CHINESE = re.compile(
    r"(上下文|输入|輸入|提示词|提示詞|对话|對話|会话|會話|文本|内容|內容|消息|prompt|tokens?|令牌数)[^。；，;]{0,20}"
    r"(过长|過長|太长|太長|超长|超長|超限|超出|超过|超過|大于|大於|过大|過大|超窗|[达達]到[^。；，;]{0,12}上限)"
    r"|(超出|超过|超過|大于|大於)[^。；，;]{0,20}(上下文|窗口|输入长度|輸入長度|token|令牌数|最大长度|最大長度)"
    r"|(请求|請求)体?(过长|太长|超长|过大|太大|過長|過大)"
    r"|上下文(长度|窗口|空间)不足|上下文[^。；，;]{0,8}(已满|已滿|满了|滿了|溢出|用尽|耗尽)|压缩上下文"
    r"|最大(上下文|输入|長度|长度)[^。；;]{0,30}但[^。；;]{0,20}(包含|请求|請求|输入|輸入)"
)
_CHINESE_ANSWER = re.compile(r"max tokens|输出|輸出|回复")
_CHINESE_INPUT = re.compile("上下文|输入|輸入|提示词")
_ELSEWHERE = re.compile(
    r"(コンテキスト|トークン|入力|プロンプト|会話)[^。]{0,20}(超え|超過|長すぎ|大きすぎ)"
    r"|(컨텍스트|토큰|입력|프롬프트|대화)[^.]{0,20}(초과|너무 (길|깁|긴|큽|많))"
    r"|(контекст|токен|промпт|входн\w* данн)[^.]{0,30}(превы|слишком (длин|велик|больш)|переполн|исчерпан)"
    r"|(превы|переполн|не (помещ|умещ|влез))[^.]{0,30}(контекст|токен)"
    r"|(kontext|eingabe|prompt|token)[^.]{0,30}(überschr|zu (lang|groß)\b)"
    r"|(überschr|passt nicht)[^.]{0,30}(kontext|token)"
    r"|(contexto|contexte|entrada|entrée|prompt|tokens|jetons)"
    r"[^.]{0,30}(exced|excèd|supera|dépass|trop long|demasiado larg|muito long)"
    r"|(exced|supera|dépass)[^.]{0,40}(contexto|contexte|tokens|jetons)"
)
"""Japanese, Korean, Russian, German, Spanish, Portuguese, French: as gateways and clients translate it."""
_ELSEWHERE_NOT = re.compile(
    r"レート|リクエスト(数|回)|回数|出力|回答|画像|ファイル|時間|分あた|일일|월간|사용량|요청 (수|횟수|한도)|출력"
    r"|응답|이미지|파일|분당|시간"
    r"|лимит(?! (токенов модели|контекст|длин))|запросов|частот|минут|час\b|день|сутки|дневн|суточн"
    r"|месяч|тариф|квот|баланс|выход|ответ|изображ|файл|anfragen|ausgabe|antwort|minut|stunde|tag\b|bild|datei"
    r"|solicitud|salida|respuesta|respostas?|saída|imagen|archivo|cuota|sortie|réponse|fichier|heure|jour\b|día\b|diari|mensual"
)


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
    if _BY_TYPE.search(type_name) or (_CERTAIN.search(words) and not _ANOTHER_CONTEXT.search(words)):
        return True
    if _ANOTHER_CONTEXT.search(words) or _NEVER_WORDS.search(words):
        return False
    if _TOO_LONG_AN_ANSWER.search(words) and not _ABOUT_CONTEXT.search(words):
        return False
    if _ABOUT_THE_ROOM.search(words):
        return True
    if _is_alone(words):
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
        or bool(_ELSEWHERE.search(words) and not _ELSEWHERE_NOT.search(words))
        or _states_more_than_fits(words)
    )


def _is_alone(words: str) -> bool:
    """Whether it names the context's length, and says nothing else of it."""
    return bool(_ALONE.search(words)) and not _ALONE_NOT.search(words) and not _TOO_LONG_AN_ANSWER.search(words)


def _in_chinese(words: str) -> bool:
    if not _CHINESE.search(words):
        return False
    return not _CHINESE_ANSWER.search(words) or bool(_CHINESE_INPUT.search(words))


def _states_more_than_fits(words: str) -> bool:
    """Two numbers, and the greater is asked for: whatever stands between them."""
    stated = stated_numbers(words)
    if stated is None or stated.asked is None or stated.limit is None:
        return False
    of_the_answer = _CHINESE_ANSWER.search(words) and not _CHINESE_INPUT.search(words)
    return stated.asked > stated.limit and bool(_COUNTED.search(words)) and not of_the_answer
