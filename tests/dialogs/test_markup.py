"""Replies whose markup is broken, or meant as none: they arrive, read as they were written, and ping nobody."""

from __future__ import annotations

from tests.dialogs.behind import thinks
from tests.dialogs.conftest import Play
from tests.dialogs.stages import everywhere
from tests.dialogs.table import ada, bot, nobody_pinged

BROKEN = {
    "a fence that nothing closes": ("Look:\n```python\nprint(1)\nprint(2)", "Look: *print(1) print(2)"),
    "a fence within a line": ("Use ``` and then nothing closes it", "Use * and then nothing closes it"),
    "stray asterisks": ("5 * 3 * 2 = 30, and **bold never ends", "5 * 3 * 2 = 30, and *bold never ends"),
    "underscores": ("snake_case_name and _ alone and __init__.py", "snake_case_name and _ alone and *init*.py"),
    "HTML": ("<b>Not bold</b> & <i>broken, a < b && b > c", "*Not bold* & *broken, a < b && b > c"),
    "a link that nothing closes": ("See [this](http://example.org and [that]", "See *this*example.org and *that*"),
    "mentions": ("Hello @everyone, @here, <@1001> and <@&55>!", "Hello *everyone, *here, *1001* and *55*!"),
    "a spoiler and a quote": ("||one and\n> two\n>>> three", "*one and*two*three*"),
    "formatted": ("# Title\n\n**bold** *italic* `code`\n\n- one\n- two", "Title bold italic code *one*two"),
}


@everywhere()
async def test_broken_markup_is_shown_as_text_and_nobody_is_pinged(play: Play) -> None:
    await play(
        *(step for what, (said, seen) in BROKEN.items() for step in (thinks(said), ada(f"now {what}"), bot(seen))),
        nobody_pinged(),
    )
