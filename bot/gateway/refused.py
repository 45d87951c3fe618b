"""What people get of a message that their platform refuses as it is: the same without marks, as a file, or at least a
sentence. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot.messages import Edit, OutFile, Say

IN_A_FILE = "This chat does not take my answer as a message, so it is in this file."
SORRY = "I have an answer that this chat takes neither as a message nor as a file. Ask me to put it in another way."
FILE_NAME = "answer.md"


def other_words(said: Say | Edit, answer: OutFile) -> Iterator[Say | Edit]:
    """What to try, one after the other. ``answer``: a file that holds its text.

    A message of the program is tried once more, plain; what it says can be asked for again.
    """
    file = said.file if isinstance(said, Say) else None
    if file is not None:
        text = f"{said.text}\n\n(📎 {file.name} could not be sent.)".strip()
        yield _plain(replace(said, text=text), "words")
    elif said.text.strip():
        yield _plain(said, "plain")
    if not said.notice and file is None:
        yield Say(said.address, IN_A_FILE, f"{said.token}:file", notice=True, file=answer)
    if not said.notice:
        yield replace(_plain(said, "sorry"), text=SORRY)


def _plain(said: Say | Edit, way: str) -> Say | Edit:
    """Without marks and buttons, and without saying what it answers: one of them may be to blame."""
    plain = replace(said, token=f"{said.token}:{way}", notice=True, buttons=(), answers="")
    return replace(plain, file=None) if isinstance(plain, Say) else plain
