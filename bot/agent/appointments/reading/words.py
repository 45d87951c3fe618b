"""How five languages say when, in one set of signs: what the grammar reads. Pure.

Each table has the words of a language as they are once capitals and accents are gone, and the signs that they stand
for. A word that is in no table ends what is said of a time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

LANGUAGES = ("en", "de", "fr", "es", "pt")


@dataclass(frozen=True)
class Sign:
    """``text``: one sign, or several with spaces between them; where the words of it end in what was written."""

    text: str
    start: int
    end: int


def signs(text: str, language: str) -> list[Sign]:
    """What these words say in this language, up to the first that says nothing of a time."""
    pieces = list(_pieces(text, language))
    table, longest = TABLES[language], _LONGEST[language]
    found: list[Sign] = []
    at = 0
    while at < len(pieces):
        if pieces[at].is_sign:
            found.append(Sign(pieces[at].text, pieces[at].start, pieces[at].end))
            at += 1
            continue
        for count in range(min(longest, len(pieces) - at), 0, -1):
            some = pieces[at : at + count]
            sign = table.get(" ".join(piece.text for piece in some))
            if sign is not None:
                found.append(Sign(sign, some[0].start, some[-1].end))
                at += count
                break
        else:
            return found
    return found


def plain(word: str) -> str:
    """Without capitals and accents."""
    apart = unicodedata.normalize("NFKD", word.casefold().replace("’", "'"))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


@dataclass(frozen=True)
class _Piece:
    text: str
    start: int
    end: int
    is_sign: bool = False


_ISO = r"(?P<iso>\d{4}-\d{2}-\d{2})(?:[Tt](?=\d))?"
_SLASHED = r"(?P<slashed>\d{1,2}/\d{1,2}(?:/\d{4})?)(?![\d/])"
_DOTTED = r"(?P<dotted>\d{1,2}\.\s?\d{1,2}\.(?:\s?\d{4})?)(?!\d)"
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?:\s?h\b)?(?!\d|:\d)"
_SHORT = r"(?P<short>\d{1,4}\s?(?:min|hrs?|h|m|d)(?:\s?\d{1,2}\s?(?:min|m))?)(?!\w)"
"""So long, as people abbreviate it: 30m, 2h, 1h 30min. In French 14h30 is a time of day before it is a while."""
_TWELVE = r"(?P<twelve>\d{1,2}(?:[:.]\d{2})?)\s?(?P<half>[ap])(?:\.\s?m\.|m)(?!\w)"
_UHR = r"(?P<uhr>\d{1,2}\.\d{2})(?=\s?uhr\b)"
_WITH_H = r"(?P<with_h>\d{1,2}\s?h\s?\d{2}|\d{1,2}\s?h)(?!\w)"
_ORDINAL = {
    "en": r"(?P<ordinal>\d{1,2})(?:st|nd|rd|th)(?!\w)",
    "de": r"(?P<ordinal>\d{1,2})\.(?![\d\w])",
    "fr": r"(?P<ordinal>\d{1,2})(?:er|ere|e|ème|eme)(?!\w)",
    "es": r"(?P<ordinal>\d{1,2})[ºª°](?!\w)",
    "pt": r"(?P<ordinal>\d{1,2})[ºª°](?!\w)",
}
_COUNTED = re.compile(r"(\d+)\s?([a-z])[a-z]*", re.IGNORECASE)
_NUMBER = r"(?P<number>\d{1,4})(?![\w.:/])"
_WORD = r"(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*)"
_GAP = r"(?P<gap>[\s,]+)"
_OWN = {"en": [_TWELVE], "de": [_UHR, _WITH_H], "fr": [_WITH_H], "es": [_TWELVE, _WITH_H], "pt": [_WITH_H]}
_LEXERS = {
    language: re.compile(
        "|".join([_ISO, _SLASHED, _DOTTED, *_OWN[language], _CLOCK, _SHORT, _ORDINAL[language], _NUMBER, _WORD, _GAP]),
        re.IGNORECASE,
    )
    for language in LANGUAGES
}


def _pieces(text: str, language: str) -> Iterator[_Piece]:
    at, lexer = 0, _LEXERS[language]
    while at < len(text) and (found := lexer.match(text, at)):
        at = found.end()
        if found.lastgroup == "gap":
            continue
        sign = _sign(found)
        yield _Piece(sign or plain(found[0]), found.start(), found.end(), is_sign=bool(sign))


def _sign(found: re.Match[str]) -> str:
    kind, given = found.lastgroup or "", {name: value for name, value in found.groupdict().items() if value}
    if "twelve" in given:
        hour, _, minute = given["twelve"].replace(".", ":").partition(":")
        return f"@{hour}:{minute or '00'}{given['half'].lower()}m"
    value = given.get(kind, "")
    if kind == "with_h":
        hour, _, minute = value.lower().replace(" ", "").partition("h")
        return f"@{hour}:{minute or '00'}{'h' if minute else 'o'}"
    if kind == "short":
        return " ".join(f"{count} U{unit[0].lower()}" for count, unit in _COUNTED.findall(value))
    signs_of = {
        "iso": f"#{value}",
        "slashed": f"/{value}",
        "dotted": f".{value.replace(' ', '')}",
        "clock": f"@{value}",
        "uhr": f"@{value.replace('.', ':')}",
        "ordinal": f"{value}th",
        "number": value,
    }
    return signs_of.get(kind, "")


def _table(*parts: Mapping[str, str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for part in parts:
        for words, sign in part.items():
            for one in words.split("|"):
                found[one.strip()] = sign
    return MappingProxyType(found)


def _names(prefix: str, first: int, names: Sequence[str]) -> Mapping[str, str]:
    return {name: f"{prefix}{number}" for number, name in enumerate(names, first)}


_EN = _table(
    _names("W", 0, ["monday|mon", "tuesday|tue|tues", "wednesday|wed", "thursday|thu|thurs", "friday|fri",
                    "saturday|sat", "sunday|sun"]),
    _names("S", 0, ["mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"]),
    _names("M", 1, ["january|jan", "february|feb", "march|mar", "april|apr", "may", "june|jun", "july|jul",
                    "august|aug", "september|sep|sept", "october|oct", "november|nov", "december|dec"]),
    _names("", 1, ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]),
    {"a|an": "1", "fifteen": "15", "twenty": "20", "thirty": "30", "forty-five": "45", "a couple of": "2"},
    {"second|seconds|sec|secs": "Us", "minute|minutes|min|mins": "Um", "hour|hours|hr|hrs": "Uh", "day|days": "Ud",
     "week|weeks": "Uw", "month|months": "UM", "year|years": "Uy"},
    {"in": "IN", "from now": "FROMNOW", "and": "AND", "at": "AT", "on": "ON", "the": "THE", "of": "OF",
     "three quarters of an hour": "45 Um",
     "o'clock": "OCLOCK", "every|each": "EVERY", "other|second": "OTHER", "daily": "EVERY Ud", "weekly": "EVERY Uw",
     "monthly": "EVERY UM", "yearly|annually": "EVERY Uy", "hourly": "EVERY Uh", "this": "THIS", "next": "NEXT",
     "next week": "NEXTWEEK", "this morning": "TODAY OFmorning", "this afternoon": "TODAY OFafternoon",
     "this evening": "TODAY OFevening", "new year's eve|new years eve": "31 M12", "christmas eve": "24 M12",
     "mon-fri|monday-friday|mon to fri": "EVERY WORKDAY",
     "today": "TODAY",
     "tomorrow|tmrw|tmr|tomorow|tommorow": "TOMORROW", "day after tomorrow": "DAY2", "yesterday": "YESTERDAY",
     "tonight": "TODAY OFnight", "first": "1st", "third": "3st", "fourth": "4st", "fifth": "5st", "last": "LAST",
     "weekday|working day|workday": "WORKDAY", "weekdays|working days|workdays": "EVERY WORKDAY",
     "weekend": "WEEKEND", "weekends": "EVERY WEEKEND", "in the morning": "OFmorning", "morning": "Pmorning",
     "in the afternoon": "OFafternoon", "afternoon": "Pafternoon", "in the evening": "OFevening",
     "evening": "Pevening", "at night": "OFnight", "night": "Pnight", "noon|midday": "NOON", "midnight": "MIDNIGHT",
     "half an hour": "30 Um", "a half hour": "30 Um", "an hour and a half": "90 Um", "half past": "HALFPAST",
     "quarter past|a quarter past": "QPAST", "quarter to|a quarter to": "QTO",
     "of the month|of each month|of every month": "OFMONTH",
     "for": "FOR", "until|till": "TILL", "from monday to friday": "EVERY WORKDAY",
     "monday to friday": "EVERY WORKDAY", "every weekday": "EVERY WORKDAY"},
)  # fmt: skip

_DE = _table(
    _names("W", 0, ["montag|mo", "dienstag|di", "mittwoch|mi", "donnerstag|do", "freitag|fr", "samstag|sa|sonnabend",
                    "sonntag|so"]),
    _names("S", 0, ["montags", "dienstags", "mittwochs", "donnerstags", "freitags", "samstags", "sonntags"]),
    _names("M", 1, ["januar|jan|janner", "februar|feb", "marz|maerz", "april|apr", "mai", "juni|jun", "juli|jul",
                    "august|aug", "september|sep|sept", "oktober|okt", "november|nov", "dezember|dez"]),
    _names("", 1, ["eins", "zwei", "drei", "vier", "funf|fuenf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
                   "zwolf|zwoelf"]),
    {"ein|eine|einer|einem|einen|ner|nem": "1", "zwanzig": "20", "dreissig|dreißig": "30", "funfzehn|fuenfzehn": "15"},
    {"sekunde|sekunden|sek": "Us", "minute|minuten|min": "Um", "stunde|stunden|std": "Uh", "tag|tage|tagen": "Ud",
     "woche|wochen": "Uw", "monat|monate|monaten": "UM", "jahr|jahre|jahren": "Uy"},
    {"in": "IN", "und": "AND", "um": "AT", "am": "ON", "der|die|das|dem|den": "THE", "uhr": "OCLOCK",
     "jeden|jede|jedes|jeder|alle": "EVERY", "kommenden|kommende|kommender": "COMING",
     "nachste woche|naechste woche": "NEXTWEEK", "silvester": "31 M12", "heiligabend": "24 M12",
     "zweiten|zweite|zweites": "OTHER", "taglich|taeglich": "EVERY Ud",
     "wochentlich": "EVERY Uw", "monatlich": "EVERY UM", "jahrlich": "EVERY Uy", "stundlich": "EVERY Uh",
     "diesen|diese|dieses|diesem": "THIS", "nachsten|nachste|nachstes|nachster|naechsten": "NEXT",
     "heute|heut": "TODAY",
     "morgen": "TOMORROW", "ubermorgen|uebermorgen": "DAY2", "gestern": "YESTERDAY",
     "ersten|erster|erste": "1st", "dritten": "3st", "vierten": "4st", "funften": "5st",
     "letzten|letzter|letzte": "LAST", "werktag": "WORKDAYS?", "werktags": "EVERY WORKDAYS?",
     "wochenende": "WEEKEND", "am wochenende": "ON WEEKEND", "morgens": "OFmorning", "vormittags": "OFmorning",
     "fruh|frueh": "OFmorning", "vormittag": "Pmorning", "nachmittags": "OFafternoon", "nachmittag": "Pafternoon",
     "abends": "OFevening", "abend": "Pevening", "nachts": "OFnight", "nacht": "Pnight", "heute nacht": "TONIGHT?",
     "mittag": "Pmidday", "mitternacht": "MIDNIGHT", "einer halben stunde|ner halben stunde": "30 Um",
     "einer dreiviertelstunde|ner dreiviertelstunde": "45 Um", "anderthalb stunden": "90 Um",
     "eineinhalb stunden": "90 Um", "halb": "DEHALF", "viertel nach": "QPAST", "viertel vor|dreiviertel": "QTO",
     "im monat|des monats|jeden monats|jedes monats": "OFMONTH", "montag bis freitag|mo-fr|mo bis fr": "EVERY WORKDAY",
     "von montag bis freitag": "EVERY WORKDAY", "mittags": "OFmidday", "fur|fuer": "FOR", "bis": "TILL"},
)  # fmt: skip

_FR = _table(
    _names("W", 0, ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"]),
    _names("w", 0, ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"]),
    _names("S", 0, ["lundis", "mardis", "mercredis", "jeudis", "vendredis", "samedis", "dimanches"]),
    _names("M", 1, ["janvier", "fevrier", "mars", "avril", "mai", "juin", "juillet", "aout", "septembre", "octobre",
                    "novembre", "decembre"]),
    _names("", 1, ["un|une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze",
                   "douze"]),
    {"quinze": "15", "vingt": "20", "trente": "30"},
    {"seconde|secondes": "Us", "minute|minutes|min": "Um", "heure|heures": "Uh", "jour|jours": "Ud",
     "semaine|semaines": "Uw", "mois": "UM", "an|ans|annee|annees": "Uy"},
    {"dans": "IN", "et": "AND", "a": "AT", "le|la": "LE", "les": "THE", "tous les|toutes les|ts les|chaque": "EVERY",
     "de": "OF",
     "la semaine prochaine|de la semaine prochaine": "NEXTWEEK", "tous les jours de semaine": "EVERY WORKDAY",
     "ce|cet|cette": "THIS", "prochain|prochaine": "NEXT", "aujourd'hui": "TODAY", "demain|dem1|2main": "TOMORROW",
     "apres-demain|apres demain": "DAY2", "hier": "YESTERDAY", "ce soir": "TODAY OFevening",
     "ce matin": "TODAY OFmorning", "cet apres-midi": "TODAY OFafternoon", "cette nuit": "TONIGHT?",
     "premier|premiere": "1st", "deuxieme": "2st", "troisieme": "3st", "quatrieme": "4st", "cinquieme": "5st",
     "dernier|derniere": "LAST", "du matin": "OFmorning", "matin": "Pmorning",
     "de l'apres-midi": "OFafternoon", "apres-midi": "Pafternoon", "du soir": "OFevening", "soir": "Pevening",
     "midi": "NOON", "midi et demi|midi et demie": "@12:30h", "trois quarts d'heure": "45 Um",
     "minuit": "MIDNIGHT", "une demi-heure|une demie heure|une demi heure": "30 Um",
     "une heure et demie": "90 Um", "et demie|et demi": "PLUSHALF", "et quart": "PLUSQUARTER",
     "moins le quart": "LESSQUARTER",
     "du mois|de chaque mois|tous les mois": "OFMONTH", "du lundi au vendredi": "EVERY WORKDAY",
     "pendant|durant": "FOR", "jusqu'a|jusqu'au": "TILL",
     "jours ouvrables": "WORKDAYS?", "les jours ouvrables": "EVERY WORKDAYS?", "week-end": "WEEKEND"},
)  # fmt: skip

_ES = _table(
    _names("W", 0, ["lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"]),
    _names("w", 0, ["lun", "mar", "mie", "jue", "vie", "sab", "dom"]),
    _names("M", 1, ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre|setiembre",
                    "octubre", "noviembre", "diciembre"]),
    _names("", 1, ["un|una|uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once",
                   "doce"]),
    {"quince": "15", "veinte": "20", "treinta": "30"},
    {"segundo|segundos": "Us", "minuto|minutos|min": "Um", "hora|horas": "Uh", "dia|dias": "Ud",
     "semana|semanas": "Uw", "mes|meses": "UM", "ano|anos": "Uy"},
    {"en|dentro de": "IN", "y": "AND", "a las|a la|alas": "AT", "el": "ON", "los": "EVERY", "de|del": "OF",
     "cada|todos los|todas las": "EVERY", "este|esta": "THIS", "proximo|proxima": "NEXT", "que viene": "COMING",
     "la semana que viene|de la semana que viene|la proxima semana|de la proxima semana": "NEXTWEEK",
     "el dia": "THEDAY", "nochevieja": "31 M12", "nochebuena": "24 M12",
     "hoy": "TODAY", "manana|mnn|mna": "TOMORROW", "pasado manana": "DAY2", "ayer": "YESTERDAY",
     "esta noche": "TODAY OFnight", "esta tarde": "TODAY OFafternoon", "esta manana": "TODAY OFmorning",
     "primer|primero|primera": "1st", "segundo": "2st", "tercer|tercero": "3st", "cuarto": "4st", "quinto": "5st",
     "ultimo|ultima": "LAST", "de la manana": "OFmorning", "por la manana": "OFmorning", "de la tarde": "OFevening",
     "por la tarde": "OFevening", "de la noche": "OFnight", "por la noche": "OFnight",
     "de la madrugada": "OFmorning", "al mediodia|a mediodia": "Pmidday", "del mediodia": "OFmidday",
     "durante|por": "FOR", "hasta": "TILL",
     "a medianoche|a la medianoche|medianoche": "MIDNIGHT", "media hora": "30 Um", "tres cuartos de hora": "45 Um",
     "una hora y media": "90 Um",
     "y media": "PLUSHALF", "y cuarto": "PLUSQUARTER", "menos cuarto": "LESSQUARTER",
     "del mes|de cada mes|de todos los meses": "OFMONTH", "de lunes a viernes": "EVERY WORKDAY",
     "fin de semana": "WEEKEND", "fines de semana": "WEEKEND",
     "findes": "WEEKEND", "finde": "WEEKEND", "dia de": "ON"},
)  # fmt: skip

_PT = _table(
    _names("W", 0, ["segunda|segunda-feira", "terca|terca-feira", "quarta|quarta-feira", "quinta|quinta-feira",
                    "sexta|sexta-feira", "sabado", "domingo"]),
    _names("w", 0, ["seg", "ter", "qua", "qui", "sex", "sab", "dom"]),
    _names("S", 0, ["segundas|segundas-feiras", "tercas|tercas-feiras", "quartas|quartas-feiras",
                    "quintas|quintas-feiras", "sextas|sextas-feiras", "sabados", "domingos"]),
    _names("M", 1, ["janeiro", "fevereiro", "marco", "abril", "maio", "junho", "julho", "agosto", "setembro",
                    "outubro", "novembro", "dezembro"]),
    _names("", 1, ["um|uma", "dois|duas", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze",
                   "doze"]),
    {"quinze": "15", "vinte": "20", "trinta": "30"},
    {"segundo|segundos": "Us", "minuto|minutos|min": "Um", "hora|horas": "Uh", "dia|dias": "Ud",
     "semana|semanas": "Uw", "mes|meses": "UM", "ano|anos": "Uy"},
    {"em|daqui a|dentro de": "IN", "e": "AND", "as|a": "AT", "na|no|nas|nos": "ON", "o": "THE",
     "no dia|dia": "THEDAY", "todo dia": "EVERY Ud",
     "na proxima semana|da proxima semana|da semana que vem|na semana que vem": "NEXTWEEK",
     "de|do|da": "OF", "a cada|cada|todos os|todas as|toda|todo": "EVERY",
     "este|esta|nesta|neste": "THIS", "proxima|proximo": "NEXT", "que vem": "NEXT", "hoje|hj": "TODAY",
     "amanha": "TOMORROW", "depois de amanha": "DAY2", "ontem": "YESTERDAY", "diariamente": "EVERY Ud",
     "semanalmente": "EVERY Uw", "mensalmente": "EVERY UM", "anualmente": "EVERY Uy",
     "esta noite|hoje a noite": "TODAY OFnight", "esta tarde|hoje a tarde": "TODAY OFafternoon",
     "ultimo dia": "LAST Ud", "primeiro|primeira": "1st", "terceiro|terceira": "3st", "ultimo|ultima": "LAST",
     "da manha": "OFmorning", "de manha": "OFmorning", "da madrugada": "OFmorning", "da tarde": "OFevening",
     "a tarde|de tarde": "OFevening", "da noite": "OFnight", "a noite|de noite": "OFnight",
     "ao meio-dia|meio-dia|ao meio dia": "NOON", "a meia-noite|meia-noite": "MIDNIGHT", "meia hora": "30 Um",
     "tres quartos de hora": "45 Um", "ao meio dia e meia|ao meio-dia e meia|meio-dia e meia": "@12:30h",
     "uma hora e meia": "90 Um", "e meia": "PLUSHALF", "e um quarto|e quarto": "PLUSQUARTER",
     "menos um quarto": "LESSQUARTER", "do mes|de cada mes|de todos os meses": "OFMONTH",
     "de segunda a sexta|de segunda a sexta-feira": "EVERY WORKDAY", "todos os dias uteis": "EVERY WORKDAY",
     "dias uteis|dia util": "WORKDAY", "todo dia util": "EVERY WORKDAY",
     "durante|por": "FOR", "ate": "TILL", "fim de semana|fins de semana": "WEEKEND"},
)  # fmt: skip

TABLES: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": _EN, "de": _DE, "fr": _FR, "es": _ES, "pt": _PT})
_LONGEST = {language: max(len(words.split()) for words in table) for language, table in TABLES.items()}
