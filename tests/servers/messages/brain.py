"""A model that remembers only what it can read, so that what a compaction lost shows.

A fact is a sentence "the X is Y" or "my X is Y". Asked "what is the X?" it answers from
the facts in the request and nothing else; asked for a summary it lists them, in a form
in which it can read them again.
"""

import re
from dataclasses import dataclass

from tests.servers.messages.wire import MessagesRequest, Reply

_NAME = r"(?P<name>(?:(?!\b(?:the|my|is)\b)[\w' -])+?)"
_FACT = re.compile(
    rf"""\b(?:the|my)\s+{_NAME}\s+is\s+(?P<value>[^\n?"<\\]{{1,400}}?)\s*"""
    r"""(?=\.(?:[\s"'<)\\]|$)|[\n"<\\]|$)""",
    re.IGNORECASE,
)
"""Neither part may hold a question mark, so a question is never taken for a fact. A quote,
a tag or a backslash ends one too, since a transcript may come as JSON or in tags."""
_QUESTION = re.compile(rf"\bwhat(?:\s+is|'s)\s+(?:the|my)\s+{_NAME}\s*\?", re.IGNORECASE)
_FILLER = "and so it goes on, at some length, as models do, "


def facts_in(text: str) -> dict[str, str]:
    """Name to value in order of first mention; of two values the later one holds."""
    return {_key(m["name"]): m["value"] for m in _FACT.finditer(text)}


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


@dataclass(frozen=True)
class RememberingBrain:
    """`filler` is how many characters an ordinary answer and a summary carry on for."""

    filler: int = 80
    summary_filler: int = 0

    def __call__(self, request: MessagesRequest) -> Reply:
        """Answer from what the request holds."""
        if request.is_summary:
            return Reply(self._summary(request))
        facts = facts_in(request.all_text)
        asked = _QUESTION.findall("\n".join(request.last_user_texts))
        if asked:
            return Reply(" ".join(self._answer(name, facts) for name in asked))
        return Reply(f"Noted ({request.index}). {_fill(self.filler)}".strip())

    @staticmethod
    def _answer(name: str, facts: dict[str, str]) -> str:
        value = facts.get(_key(name))
        return f"I do not know the {name}." if value is None else f"The {name} is {value}."

    def _summary(self, request: MessagesRequest) -> str:
        facts = facts_in(request.all_text)
        return "\n".join(
            [
                "## Where it stands",
                f"Latest request: {_latest_request(request)}",
                "",
                "## Facts",
                *(f"The {name} is {value}." for name, value in facts.items()),
                *([_fill(self.summary_filler)] if self.summary_filler else []),
            ]
        )


remembering_brain = RememberingBrain()


def _fill(characters: int) -> str:
    return (_FILLER * (characters // len(_FILLER) + 1))[:characters].strip()


def _latest_request(request: MessagesRequest) -> str:
    """What people last said before the instruction to summarise."""
    said = [
        text
        for message in request.messages
        if message.get("role") == "user"
        for text in MessagesRequest({"messages": [message]}, 0, 0).last_user_texts
    ]
    lines = (said[-2] if len(said) > 1 else "not known").split("\n")
    latest = next(line for line in [*reversed(lines), "not known"] if line.strip())
    # Cut short, "the code is 1234" would be read as another fact; a question is not.
    return latest if len(latest) <= 200 else latest[:200] + "…?"
