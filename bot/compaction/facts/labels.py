"""What a person's sentence is called where people read it: a rule, a decision, a goal. Data, and one look at it. Pure.

A label gives a line its kind in `/memory`, in `/rules` and on the page. It decides nothing about what stays, nor where
it stands, so that a language that is not here loses nothing but the name. Words stand between commas, or
between blanks where a language is written without them; a word ends anywhere after ``*``, and ``^`` is where a sentence
begins. A question is no rule.
"""

from __future__ import annotations

import re
from functools import cache

from bot.compaction.facts.fact import FactKind

_RULES = {
    "en": """
        must, mustn['’]?t, never, always, do not, don['’]?t (?!know|think|see|worry|have|mind|understand|remember),
        only, at (?:most|least), no (?:more|less|fewer|later|earlier) than, make sure, be sure to, avoid, from now
        on, under no circumstances, not allowed, forbidden, unless, prefer*, allerg*, vegetarian, vegan, stick to,
        stay away, call me, (?:answer|reply|respond|write) (?:me )?in, please (?:keep|use|remember), remember,
        cannot, budget, limit, hands off, whatever happens
    """,
    "ru": """
        нельзя, никогда, всегда, только, обязательно, долж(?:ен|на|но|ны), не
        (?:надо|нужно|более|больше|позже|раньше), не \\w{3,20}й(?:те)?, предпочита*, запрещ*, аллерги*, отвечай*,
        пиши*, называй*, бюджет*, срок*
    """,
    "zh": "必须 不要 不能 不得 不许 禁止 只能 务必 一定 最多 至少 不超过 总是 永远 千万 从现在起 绝不 预算 过敏",
    "de": """
        muss, müssen, niemals, nie, immer, nur, höchstens, mindestens, darf, dürfen, nicht mehr als, ab jetzt,
        keinesfalls, auf keinen fall, bitte nicht, vermeide*, sollst, allergi*
    """,
    "es": """
        nunca, siempre, solo, sólo, debe*, no (?:me
        )?(?:uses|hagas|toques|llames|envíes|pongas|digas|cambies|olvides), como máximo, al menos, evita*, a partir
        de ahora, prohibido, tiene que, bajo ningún concepto, alérgic*
    """,
    "fr": """
        jamais, toujours, seulement, uniquement, doi[ts]*, ne \\w{3,15}(?:s|ez)? (?:pas|jamais), au (?:plus|moins),
        évite*, désormais, interdit, il faut, allergique
    """,
    "pt": """
        nunca, sempre, somente, apenas, deve*, não (?:use|faça|toque|ligue|envie|mande|altere|esqueça), no máximo,
        pelo menos, evite*, a partir de agora, proibido
    """,
    "it": """
        mai, sempre, soltanto, solo, deve*, non \\w{3,15}(?:are|ere|ire), al massimo, almeno, evita*, d['’]ora in
        poi, vietato
    """,
    "ja": "必ず 決して 絶対に してはいけない しないで ないでください 常に 禁止",
    "ar": "لا ت\\w{2,20}, يجب, دائما, دائماً, أبدا, أبداً, ممنوع, فقط",
}
_DECISIONS = {
    "en": """
        decid*, agreed, settled (?:on|for), (?:we|i) chose, opted for, (?:go|going|went) with, let['’]?s
        (?:use|go|take|stick), picked, approved, final decision, signed off
    """,
    "ru": "реш(?:или|ил|ила|ено), договорились, выбрали, остановились на, утвердили, бер[её]м",
    "zh": "决定 选定 同意 定下 就用 采用 商定 敲定",
    "de": "entschieden, beschlossen, vereinbart, wir nehmen, einigten, ausgewählt",
    "es": "decid(?:í|imos|ido), acordamos, acordado, elegimos, nos quedamos con, hemos elegido",
    "fr": "décidé, convenu, choisi, nous prenons, on prend, retenu",
    "pt": "decidi*, combinamos, escolhemos, ficamos com",
    "it": "deciso, concordato, scelto, prendiamo",
    "ja": "決めた 決定 決まりました にしました 合意",
    "ar": "قررنا, اتفقنا, اخترنا",
}
_GOALS = {
    "en": """
        please, (?:can|could|would|will) you, help me, i(?: would|['’]d) like, i (?:want|need)(?: to)?, remind me,
        my goal, ^(?:also,?
        )?(?:book|find|write|create|add|fix|build|make|send|schedule|set|update|change|check|order|prepare|draft
        |plan|arrange|reserve|buy|translate|implement|review|design|compare|show|delete|cancel|rename|calculate|explain)
    """,
    "ru": """
        пожалуйста, хочу, нужно, надо, помоги*, сделай*, найди*, забронируй*, закажи*, подготовь*, составь*, мне
        нуж*, напомни*
    """,
    "zh": "请 帮我 我想 我要 我需要 麻烦 能不能 目标 提醒我",
    "de": "bitte, kannst du, können sie, ich (?:will|möchte|brauche), hilf mir, erinnere mich, buche, mein ziel",
    "es": "por favor, puedes, podrías, quiero, necesito, ayúdame, recuérdame, reserva*, mi objetivo",
    "fr": """
        s['’]il (?:te|vous) plaît, peux-tu, pouvez-vous, je (?:veux|voudrais), j['’]ai besoin, aide*-moi,
        rappelle*-moi
    """,
    "pt": "por favor, pode, quero, preciso, ajuda*, lembre*",
    "it": "per favore, puoi, voglio, vorrei, ho bisogno, aiutami, ricordami",
    "ja": "お願い ください したい てほしい 手伝って",
    "ar": "من فضلك, أريد, أحتاج, ساعدني, هل يمكنك, ذكرني",
}
_ASKS = ("?", "？", "؟", "՞")


def label_of(sentence: str) -> FactKind:
    """What a sentence of a person is called; a statement, where nothing says otherwise."""
    text, asks = sentence.casefold(), sentence.rstrip("\"'”’»)」 ").endswith(_ASKS)
    if not asks and _any(FactKind.CONSTRAINT).search(text):
        return FactKind.CONSTRAINT
    return FactKind.GOAL if _any(FactKind.GOAL).search(text) else FactKind.STATEMENT


@cache
def _any(kind: FactKind) -> re.Pattern[str]:
    """A rule or a decision (a person holds to both), or a goal, in any of the languages."""
    lists = (_GOALS,) if kind is FactKind.GOAL else (_RULES, _DECISIONS)
    return re.compile("|".join(_pattern(words) for languages in lists for words in languages.values()))


def _pattern(words: str) -> str:
    plain = " ".join(words.split())
    apart = ", " if ", " in plain else " "
    by_letter: dict[str, list[str]] = {}
    for part in (part.strip().replace("*", r"\w*") for part in plain.split(apart)):
        first = part[0] if part[0].isalpha() and part[1:2] not in ("?", "{") else ""
        by_letter.setdefault(first, []).append(part.removeprefix(first))
    either = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in by_letter.items())  # a letter is tried once
    return rf"\b(?:{either})\b" if apart == ", " else f"(?:{either})"
