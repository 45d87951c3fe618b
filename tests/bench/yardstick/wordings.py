"""How people say things, by language and set: wordings.toml, and the values that are put into its slots."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any, Literal

Language = Literal["en", "ru", "zh"]
SetName = Literal["A", "B", "C"]

LANGUAGES: tuple[Language, ...] = ("en", "ru", "zh")
SETS: tuple[SetName, ...] = ("A", "B", "C")

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Wordings:
    """One language in one set. ``labels`` are pairs of a label and the kind of its value."""

    labels: list[tuple[str, str]]
    says: list[str]
    updates: list[str]
    asks: list[str]
    asks_again: list[str]
    reports: list[str]
    reports_again: list[str]
    rules: list[str]
    decisions: list[str]
    tasks: list[str]
    cancels: list[str]
    notes: list[str]
    small_talk: list[str]
    thinking: list[str]
    answers: list[str]
    things: list[str]

    @classmethod
    def of(cls, language: Language, name: SetName) -> Wordings:
        """As wordings.toml has them."""
        return cls(**_DATA[language][name])

    def sentences(self) -> list[str]:
        """Every template."""
        return [
            text
            for field in fields(self)
            if field.name not in ("labels", "things")
            for text in getattr(self, field.name)
        ]


def filled(template: str, language: Language, dice: Random) -> tuple[str, str]:
    """A template whose one slot names a kind of value: the sentence and the value."""
    found = _SLOT.search(template)
    assert found, template
    value = value_of(found[1], language, dice)
    return template.replace(found[0], value), value


def value_of(kind: str, language: Language, dice: Random) -> str:
    """A new value of this kind, as people write it in this language."""
    number, letters = dice.randint(1_013, 9_899), "".join(dice.choices("BCDFGHJKLMNPQRSTVWXZ", k=3))
    word = "".join(_pick("word", dice))
    match kind:
        case "code":
            return dice.choice((f"{letters}-{number}", f"{number}{letters}", f"{word[:6]}_{number}", str(number * 97)))
        case "money":
            amount = f"{number // 1000},{number % 1000:03}"
            return {"en": f"${amount}", "ru": f"{number} руб", "zh": f"{number} 元"}[language]
        case "person":
            given, family = _pick(f"person_{language}", dice)
            return f"{given}{family}" if language == "zh" else f"{given} {family}"
        case "date":
            month, day = dice.randint(1, 12), dice.randint(1, 28)
            return f"{month}月{day}日" if language == "zh" else f"2027-{month:02}-{day:02}"
        case "time":
            return f"{dice.randint(6, 19)}:{dice.choice(('05', '20', '35', '50'))}"
        case "path":
            return f"/srv/{word}/{letters.lower()}-{number % 100}"
        case "email":
            return f"{word}.{number % 100}@example.org"
        case "host":
            return f"{word}-{number % 100}.internal"
        case "phone":
            return f"+44 20 7946 {number}"
        case _:
            return " ".join(_pick(kind, dice))


def _pick(kind: str, dice: Random) -> list[str]:
    return [dice.choice(part) for part in _DATA["names"][kind]]
