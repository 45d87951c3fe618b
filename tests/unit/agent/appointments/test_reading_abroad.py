"""A time of day beside a day in a language that is not read is asked about, and never taken for all of it."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module

import pytest
from dateparser.data.languages_info import language_order

from bot.agent.appointments.reading.abroad import may_say_time
from bot.agent.appointments.reading.guessing import guess
from bot.agent.appointments.reading.reading import Asked, Now, Understood
from bot.agent.appointments.reading.splitting import split
from bot.agent.appointments.reading.words import plain
from bot.agent.appointments.schedule import instant

ZONE = "Europe/Lisbon"
NOW = Now(instant(datetime(2027, 3, 10, 14, 30), ZONE), ZONE)
AS_IF_TOLD_NOTHING_ELSE = datetime(2027, 3, 11, 9)
DAYS = ("monday", "tuesday", "thursday", "friday", "saturday", "sunday")
PLACES = ("9:00 {} xuqo", "{} 9:00 xuqo", "xuqo {} 9:00", "xuqo 9:00 {}", "9:00 xuqo vela {}")


def named_days(language: str) -> list[str]:
    """Days of the week in full, tomorrow, and what else the tables have of days to come."""
    info = import_module(f"dateparser.data.date_translation_data.{language}").info
    found = [max(info[day], key=len) for day in DAYS if info.get(day)]
    relative = info.get("relative-type", {})
    found += [name for key in ("in 1 day", "in 2 day", "in 1 week") for name in relative.get(key, ())]
    letters = {name: "".join(filter(str.isalpha, plain(name))) for name in found}
    return [name for name, plain_letters in letters.items() if len(plain_letters) > 3 or not plain_letters.isascii()]


def test_no_day_of_two_hundred_languages_is_left_over_beside_a_time() -> None:
    wrong, count = list[str](), 0
    for language in language_order:
        for day in named_days(language):
            for place in PLACES:
                count += 1
                found = split(place.format(day), NOW) or guess(place.format(day), NOW)
                if found is None or not isinstance(found.outcome, Understood) or day not in found.what:
                    continue
                if found.outcome.schedule.local == AS_IF_TOLD_NOTHING_ELSE:
                    wrong.append(f"{language}: {place.format(day)}")
    assert count > 5_000
    assert wrong == []


@pytest.mark.parametrize(
    "written",
    [
        "9:00 send the Monday report",
        "send the Monday report at 9:00",
        "9:00 torstaina jumppa",
        "9:00 jumppa torstaina",
        "joi 9:00 dentist",
        "poryt 9:00 dantistas",
        "9:00 poryt dantistas",
        "9:00 zítřejší porada",
        "18:00 á föstudaginn kóræfing",
        "9:00 keshokutwa daktari",
        "Tante Erna am 24. zum Geburtstag gratulieren, 8 Uhr",
        "um 9 und Freitag Müll",
        "at 9:00 send the Monday report",
        "9pm bukas pulong",
        "pasadomañá ás 9:00 dentista",
        "9:00 javen tjeter takim",
        "18:30 call mum",
    ],
)
def test_such_a_word_anywhere_beside_a_bare_time_is_asked_about(written: str) -> None:
    found = split(written, NOW)
    assert found is None or isinstance(found.outcome, Asked)


@pytest.mark.parametrize(
    "written",
    [
        "at 18:30 call mum",
        "dentist at 16:45",
        "at 17:00 take the dog for a walk",
        "9pm feed the cat",
        "18 Uhr Wäsche aufhängen und so",
        "um 18:30 Onkel Karl anrufen",
        "à 18h30 appeler le médecin à propos des résultats",
        "18h30 sortir les poubelles",
        "a las 18:30 llamar al dentista",
        "comprar leche y huevos a las 19:00",
        "às 18h30 ligar para o João",
        "buscar as crianças às 17h",
        "tomorrow 9:00 send the Monday report",
        "in 20 minutes look at Friday's figures",
    ],
)
def test_what_says_nothing_of_a_day_is_not(written: str) -> None:
    found = split(written, NOW)
    assert found
    assert isinstance(found.outcome, Understood)


def test_letters_that_none_of_the_languages_has_may_say_anything() -> None:
    assert may_say_time("xłu")
    assert may_say_time("щука")
    assert not may_say_time("xuqo café müde coração señor l'été")
