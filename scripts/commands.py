"""Writes the table of commands into `docs/commands.md`: `make docs`.

It is made from `bot.agent.commands.table`. Only what a command answers while something is under way is said here, where
that is more than that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bot.agent.commands.table import TABLE, CommandSpec, Runs, Who

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
_MEANWHILE: Mapping[str, tuple[str, str]] = {
    "abort": ("stops it", "stops the compaction; the message that waits for it is answered"),
}
"""While an answer is written, and while a compaction runs."""
_MADE = re.compile(r"(?<=-->\n\n)\| command \| what it does \|.*?(?=\n\n<!--)", re.DOTALL)


def page(text: str) -> str:
    """The page with the table as the commands make it. Raises ``ValueError`` where the place for it is gone."""
    if len(_MADE.findall(text)) != 1:
        raise ValueError("docs/commands.md: the table of commands should stand between its two comments.")
    return _MADE.sub(lambda _: made(), text)


def made() -> str:
    """The table, and which commands are the same as others."""
    shown = [spec for spec in TABLE if spec.who is Who.EVERYBODY]
    head = ["| command | what it does | while an answer is written | while a compaction runs |", "|---|---|---|---|"]
    same = [f"`/{other}` the same as `/{spec.name}`" for spec in shown for other in spec.synonyms]
    return "\n".join([*head, *map(_row, shown), "", f"{', '.join(same)}.".replace("` the", "` is the", 1)])


def _row(spec: CommandSpec) -> str:
    forms = ", ".join(f"`{form}`" for form in spec.forms or [f"/{spec.name}"])
    answers = "says that it is busy" if spec.runs is Runs.OF_THE_PAST else "answers"
    return f"| {' | '.join([forms, spec.details, *_MEANWHILE.get(spec.name, (answers, answers))])} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
