"""What is said in the tour, and by whom: the person's lines, and the scripted model, which knows what it reads.

The model has no memory of its own. It answers from the request that it is sent, so that where a detail was lost it
would have to say so.
"""

from __future__ import annotations

import re

from bot.messages import Address, Message, text_of
from bot.model.scripted import Answer, Asked, Line

HERE = Address("terminal", "tour")
LIMIT = 1_000
"""Tokens of the conversation: so few, that a minute is enough to fill them."""
GROWING = (
    (
        "We move house on Friday. The van is booked for 8:30, its number is KR 4821, and Ms Okafor on the second floor "
        "has the key to the yard. What goes into the van first?"
    ),
    "The piano weighs 212 kilos, and the stairs turn twice. How do we get it down?",
    "There are five of us. Who does what?",
    "And what do we do with the plants?",
)
"""One after the other; the last of them brings the conversation to where it is compacted ahead of time."""
DETAIL = "What was the number of the van?"
CUT_SHORT = "Write the list for Friday morning."
"""In the middle of its answer the program is killed."""

_ANSWERS = """
Load what is heavy and square first, against the wall behind the driver: the washing machine, the fridge, then
the shelves flat along the sides. Books go on the floor in small boxes, never higher than two. Mattresses stand
at the edge and hold the rest in place. Keep lamps, pictures and the plants for last, and one box with kettle,
tools, paper and soap that you can reach without climbing.

With four people, two straps and no hurry. Take off the lid and the pedals, wrap the body in blankets and put it
on its long side on a piano board. The two strongest walk below, because they carry most of it; the two above
only brake. At each turn set it down, stand it up on its short side, turn it on the landing, and lay it down
again. One person speaks, and stop means stop for everybody. Where a landing is too narrow for that, ask a firm.

Two carry from the flat to the landing, two from the landing to the yard, and one stays in the van and stacks,
because whoever stacks must see everything that comes. Change places every half hour, since the stairs are the
hard part. The one in the van also keeps the list and ticks off each box. For the piano all of you stop, and
four take the straps. Make one break at half past ten, before anybody is tired: most things break in the last
hour.

Do not water them from Wednesday on: dry soil is half as heavy, and does not run out. Put the tall ones into
open boxes with paper around the pot, and pull a bag over the leaves against the wind in the yard. They go in
last and come out first, never behind the piano. On Friday evening give them a place out of the sun, and water
them only the next morning. They may drop some leaves in the first week; that is the move, and no illness.
"""
_LIST = (
    "7:45 breakfast, and the kettle into the open box. 8:15 one of you fetches the key to the yard and opens the gate. "
    "8:30 the van comes: the heavy and square things first, against the wall behind the driver. 9:30 the piano, with "
    "four people, two straps and one who speaks. 10:30 a break with something to eat. 11:00 boxes and shelves, with "
    "the list in the van. 12:00 mattresses, lamps, pictures, and the plants last of all. 12:30 sweep, read the meters, "
    "give back the key."
)
_NUMBER = re.compile(r"\bnumber is ([A-Z]+ \d+)")
_FACT = re.compile(r"\d|five|Okafor")
_SENTENCE = re.compile(r"[^.?!]+[.?!]*")


class Script:
    """What the model says, by what it reads. ``pace``: seconds for each word."""

    def __init__(self, pace: float) -> None:
        self._pace = pace

    def __call__(self, asked: Asked) -> Line:
        """See :data:`bot.model.scripted.Script`."""
        if not asked.who:
            return Answer(summary_of(asked.messages), delay=20 * self._pace)
        if asked.text.rstrip().endswith(CUT_SHORT):
            return Answer(_LIST, pace=max(0.05, 2 * self._pace))  # slow enough to be killed in it
        return Answer(self._answer(asked), pace=self._pace)

    def _answer(self, asked: Asked) -> str:
        for question, answer in zip(GROWING, _ANSWERS.split("\n\n"), strict=True):
            if asked.text.rstrip().endswith(question):
                return " ".join(answer.split())
        found = _NUMBER.search(_all_of(asked.messages))
        return f"{found[1]}, booked for 8:30." if found else "I do not know: I cannot read it any more."


def summary_of(messages: tuple[Message, ...]) -> str:
    """What people said that has a number or a name in it, and what they asked."""
    said = [text_of(message["content"]) for message in messages[:-1] if message["role"] == "user"]
    told = [sentence.strip() for text in said for sentence in _SENTENCE.findall(text)]
    asked = [one for one in told if one.endswith("?")]
    facts = [one for one in told if one not in asked and _FACT.search(one)]
    return "\n".join(
        ("## Asked, and answered", *(f"- {one}" for one in asked), "## Exact details", *(f"- {one}" for one in facts))
    )


def _all_of(messages: tuple[Message, ...]) -> str:
    return "\n".join(text_of(message["content"]) for message in messages)
