"""Who says what in the entry of a person: the name before the words, where several people talk, and quotations. Pure.

Of a message in a group only the first line begins with a name, which the block knows, too; the others are indented, so
that nobody can write a line that reads as another person's message.

A quotation is what a message answers, at the head of its entry, in a block of its own.

::

    {"type": "text", "text": "> Ada: It is old.", "quotes": {"person": "7", "key": "message:1:4"}}
    {"type": "text", "text": "Grace: How old?"}

The words are somebody else's, so they go when those go, and the block says whose they are and from which message. A
model reads both as one text. Quotations of earlier versions stand in one text with the words, and say no more than
their first line does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from bot.messages import Block, Quote, text_block

QUOTES = "quotes"
SPEAKER = "speaker"
_LINE_ENDS = re.compile("\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Whatever a reader may take for the end of a line."""
_GOES_ON = "\n  "
GONE = "> [removed]"
"""Stands where a quotation was taken out."""
_IN_ONE_TEXT = re.compile(r"((?:>[^\n]*\n)*>[^\n]*)\n\n(?=\S)")
_MARK = re.compile(r"^>[ ]?", re.MULTILINE)
_HEADING = re.compile(r"[^:\n]{1,100}:\s+")
"""Whose words it holds: names are told without a colon."""
_FILES = re.compile(r"(?:\[[^\]\n]{1,255}\]\s*)+")
_CUT = "…"


def spoken_by(speaker: str, words: str) -> Block:
    """Words as a message of this person, where several talk."""
    return {**text_block(f"{speaker}: {_LINE_ENDS.sub(_GOES_ON, words)}"), SPEAKER: speaker}


def speaker_in(blocks: Sequence[Block]) -> str:
    """Who says the words of an entry, as people are told apart where several talk; empty where one alone does, and in
    entries of earlier versions."""
    return next((str(block[SPEAKER]) for block in blocks if block.get(SPEAKER) and block.get("type") == "text"), "")


def quotation_block(quote: Quote) -> Block:
    """The quotation as the first block of an entry."""
    return {**text_block(quote.text), QUOTES: {"person": quote.person, "key": quote.key}}


def quoted_in(blocks: Sequence[Block]) -> Quote | None:
    """What an entry quotes; None where nothing is quoted, or not in a block of its own."""
    if not blocks or not _is_quotation(blocks[0]):
        return None
    of = blocks[0][QUOTES]
    return Quote(str(blocks[0]["text"]), key=str(of["key"]), person=str(of["person"]))


def as_read(blocks: Sequence[Block]) -> list[Block]:
    """The blocks as a model reads them: a quotation and the words after it are one text."""
    read, quotation = list[Block](), ""
    for written in blocks:
        block = {name: written[name] for name in written if name != SPEAKER} if SPEAKER in written else written
        if _is_quotation(block):
            read += [text_block(quotation)] if quotation else []
            quotation = block["text"]
        elif quotation and block.get("type") == "text":
            read.append({**block, "text": f"{quotation}\n\n{block['text']}"})
            quotation = ""
        else:
            read += [text_block(quotation), block] if quotation else [block]
            quotation = ""
    return [*read, text_block(quotation)] if quotation else read


def _is_quotation(block: Block) -> bool:
    of = block.get(QUOTES)
    return isinstance(of, Mapping) and {"key", "person"} <= of.keys() and block.get("type") == "text"


def apart(blocks: Sequence[Block]) -> tuple[Quote, tuple[Block, ...]] | None:
    """What the entry of a person quotes, and the rest of it; None where it quotes nothing. Also of an earlier version's
    entry, which does not tell a quotation from lines that the person wrote so."""
    if quote := quoted_in(blocks):
        return quote, tuple(blocks[1:])
    found = _IN_ONE_TEXT.match(str(blocks[0].get("text", ""))) if blocks else None
    if found is None:
        return None
    rest = {**blocks[0], "text": blocks[0]["text"][found.end() :]}
    return Quote(found[1]), (rest, *blocks[1:])


def without(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The entry of a person in which it no longer says what it quoted, but that it did."""
    found = apart(blocks)
    return (quotation_block(Quote(GONE)), *found[1]) if found else tuple(blocks)


def names(quotation: str, speakers: Collection[str]) -> bool:
    """Whether its first line says that the words are one of these people's."""
    return any(f"{quotation}\n".startswith((f"> {one}: ", f"> {one}:\n")) for one in speakers)


def repeats(quotation: str, said: str) -> bool:
    """Whether it quotes this message, from its beginning: whole, or cut."""
    words = _MARK.sub("", quotation)
    return any(_is_same(quoted, text) for quoted in _readings(words) for text in (said, *_readings(said)))


def _readings(text: str) -> Iterator[str]:
    """The text without the name before it, and without the names of files before that."""
    heading = _HEADING.match(text)
    bare = text[heading.end() :] if heading else text
    yield bare
    if files := _FILES.match(bare):
        yield bare[files.end() :]


def _is_same(quoted: str, said: str) -> bool:
    one, other = " ".join(quoted.split()), " ".join(said.split())
    if one.endswith(_CUT) and other.startswith(one.removesuffix(_CUT).rstrip()):
        return one != _CUT
    return bool(one) and one == other
