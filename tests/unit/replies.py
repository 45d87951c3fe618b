"""Replies such as models write, and worse. A seed makes always the same one."""

from __future__ import annotations

import os
from random import Random

COUNT = int(os.environ.get("REPLIES", "200"))
"""How many replies the property tests try."""

_WORDS = """
the model answers snake_case_name 2 * 3 * 4 x*y*z a_b_ __init__ ~ ~~ || | <b>bold</b>
<@123> <#12> <:emoji:1> <t:0>
@everyone #tag C:\\path\\*.txt \\o/ AT&amp;T &lt; &#65; &nosuch; 5 > 3 1. 2) - + # $x$ [x]
[y](z) ![ ]( `` ` ``` ** * _
Grüße naïve e\u0301te\u0301 日本語の文章 你好，世界。 안녕하세요 مرحبا بالعالم שלום 👍 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️
🏴󠁧󠁢󠁳󠁣󠁴󠁿
https://example.org/a-b?c=d&e=1 http://example.org/p/(q) ... end. Really? Yes! :)
¯\\_(ツ)_/¯
"""
WORDS = _WORDS.split()
LINKS = (
    "https://example.org/",
    "https://example.org/a-(b)?q=*x*",
    "http://localhost:8000/x",
    "/relative/path",
    "mailto:someone@example.org",
    "tg://resolve?domain=example",
    "https://example.org/" + "long/" * 30,
)
CODE = (
    "x = 1",
    "def f(a, *b):",
    "    return a ** 2",
    "\tindented",
    "",
    "# a comment",
    "print('```')",
    "`",
    "日本語",
    "~~~",
)
JUNK = (
    "*",
    "**",
    "_",
    "`",
    "```\n",
    "[",
    "](",
    "|",
    "> ",
    "\n- ",
    "\n\n",
    "\ud83d",
    "\x07",
    "~~",
    "<",
    "\\",
    "&",
    "\n| a |\n",
)


def reply(seed: int) -> str:
    """A reply of some blocks; every second one is broken somewhere, and every fourth cut off."""
    random = Random(seed)
    text = "\n\n".join(_block(random, depth=0) for _ in range(random.randint(1, random.choice((3, 12, 60)))))
    if seed % 2:
        for _ in range(random.randint(1, 6)):
            place = random.randrange(len(text) + 1)
            text = text[:place] + random.choice(JUNK) + text[place + random.choice((0, 0, 1, 3)) :]
    return text[: random.randrange(len(text) + 1)] if seed % 4 == 3 else text


def _words(random: Random, most: int = 25) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randint(1, most)))


def _inline(random: Random) -> str:
    parts = []
    for _ in range(random.randint(1, 6)):
        words = _words(random, 8)
        marked = [words, words, words, f"**{words}**", f"*{words}*", f"~~{words}~~", f"`{words}`", f"_{words}_"]
        marked += [f"[{words}]({random.choice(LINKS)})", f"![{words}]({random.choice(LINKS)})", f"***{words}***"]
        marked += [f"<{LINKS[0]}>", f"**bold *both* `{words}`**", f"[`code`]({LINKS[0]})", "<someone@example.org>"]
        parts.append(random.choice(marked))
    return random.choice(("", " ", " ", " ", "\n", "  \n")).join(parts)


def _code(random: Random) -> str:
    fence = random.choice(("```", "~~~", "````"))
    lines = [random.choice(CODE) for _ in range(random.choice((1, 5, 5, 120)))]
    return "\n".join([fence + random.choice(("", "python", "c++", " sh extra")), *lines, fence])


def _table(random: Random) -> str:
    columns = random.randint(1, 5)
    rows = [[_words(random, 3).replace("|", "") for _ in range(columns)] for _ in range(random.randint(1, 8))]
    rows.insert(1, [random.choice(("---", ":--", "--:", ":-:")) for _ in range(columns)])
    rows[-1] = rows[-1][: random.randint(1, columns)] if len(rows) > 2 else rows[-1]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _list(random: Random, depth: int) -> str:
    marker = random.choice(("- ", "* ", "1. ", "7) ", "- [ ] ", "- [x] "))
    width = 2 if marker[0] in "-*" else 3
    items = []
    for _ in range(random.randint(1, 5)):
        content = _inline(random) if depth > 2 or random.random() < 0.6 else _block(random, depth + 1)
        items.append(marker + content.replace("\n", "\n" + " " * width))
    return random.choice(("\n", "\n", "\n\n")).join(items)


def _block(random: Random, depth: int) -> str:
    kind = random.randrange(12)
    if kind == 0:
        return "#" * random.randint(1, 7) + " " + _inline(random).replace("\n", " ")
    if kind == 1:
        return _code(random)
    if kind == 2:
        return _table(random)
    if kind in {3, 4}:
        return _list(random, depth)
    if kind == 5 and depth < 3:
        return "> " + _block(random, depth + 1).replace("\n", "\n> ")
    if kind == 6:
        return random.choice(("---", "***", "Title\n===", "    indented code"))
    return "\n".join(_inline(random) for _ in range(random.randint(1, 4)))
