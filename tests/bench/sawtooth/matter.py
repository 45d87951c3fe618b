"""What is talked about in the long conversation: a small publisher's autumn, in three languages, with its files."""

from __future__ import annotations

import random

PROJECTS = ("library", "bakery", "harbour", "museum", "clinic", "archive", "theatre", "garden", "ferry", "school")
MONTHS = ("March", "April", "May", "June", "July")

TALK = (
    "Good morning! The heating in the office is out again, so I am writing this with gloves on.",
    "Ha, thanks. I had not thought of it that way.",
    "Let us leave that for a moment, the printer just called and I have to think about paper first.",
    "ok",
    "Hm. I am not sure that people will read to the end of a page like that.",
    "The cat walked over my keyboard, please ignore what I sent before. 🐈😅🎉",
    "Сегодня весь день дождь, поэтому я остаюсь дома и разбираю старые письма.",
    "今天下雨，我在家里整理照片，晚上再和大家一起吃饭。",
    "Could you say that in one sentence? I want to put it on a card.",
    "Explain to me in a few sentences why a serif typeface suits long texts.",
    "My sister came by with plums, so work was slow, but it was a good afternoon.",
    "👍",
    "That reads better. Keep the shorter version for now, and we shall see what the others say.",
    "Explain to me how a colophon differs from an imprint, as you would to a pupil.",
    "Спасибо, это именно то, что нужно. Завтра покажу коллегам.",
    "谢谢，这样就很好。明天我再告诉你结果。",
    "I spent an hour looking for the old contract and it was in the drawer all along.",
    "Explain to me briefly what bleed means in printing, with an example in millimetres.",
)
RULES = (
    "From now on never use the word 'unique' in anything that we print.",
    "Please always write dates with the month as a word.",
    "You must not mention the sponsor in the subject line of a letter.",
    "Always give sums in euros, please, even when the invoice has another currency.",
)
_WORDS = """
paper ink binding margin column caption index proof sheet gather fold trim press plate colour letter spine cover
reader editor author draft layout folio signature quire woodcut type ligature grid gutter heading
"""
WORDS = _WORDS.split()
SETTINGS = ("retry limit", "page width", "queue depth", "batch size", "cache age", "line height")


def prose(rng: random.Random, sentences: int) -> str:
    """Plain sentences without any fact in them."""
    made = []
    for _ in range(sentences):
        words = rng.sample(WORDS, 6)
        made.append(
            f"Every {words[0]} and every {words[1]} needs a {words[2]} before a {words[3]}, so we check {words[4]}."
        )
    return " ".join(made)


def source_file(rng: random.Random, project: str, setting: str, value: int, functions: int) -> bytes:
    """A Python file of 200 to 300 characters a function, with one setting near its end."""
    parts = [f'"""Prints what the {project} ordered."""\n\nfrom __future__ import annotations\n']
    for number in range(functions):
        one, two, three = rng.sample(WORDS, 3)
        parts.append(
            f"\ndef {one}_{number}({two}: list[str], {three}: int = {number}) -> list[str]:\n"
            f'    """{one.capitalize()} each {two} of the {project}, {three} at a time."""\n'
            f"    ready = [item.strip() for item in {two} if item]\n"
            f"    return [item for item in ready if len(item) > {three}]\n"
        )
    parts.append(f"\n# the {project} {setting} is {value}\n")
    return "".join(parts).encode()


def log_file(rng: random.Random, project: str, setting: str, value: int, lines: int) -> bytes:
    """A log of 80 characters a line, with one setting in its middle."""
    made = [
        f"2026-11-{1 + number % 28:02} 08:{number % 60:02}:00 INFO press={project} sheet={rng.randrange(10**6):06} "
        f"{rng.choice(WORDS)} {rng.choice(WORDS)} done"
        for number in range(lines)
    ]
    made.insert(lines // 2, f"2026-11-14 08:00:00 WARN the {project} {setting} is {value}")
    return "\n".join(made).encode()
