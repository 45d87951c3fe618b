"""The exports of other programs, read as conversations: ChatGPT, Claude, Telegram Desktop, OpenClaw, Hermes.

`recognising` says whose a file is, one module a program reads it, `files` knows files, zip archives and streams of
JSON. Nothing is written here: :mod:`bot.app.archive.moving_in` puts what is read into the book.
"""

from bot.app.archive.foreign.conversation import ForeignConversation, ForeignMessage, FormatName, Piece, Reader
from bot.app.archive.foreign.files import BadExport, Part, Source, source_at
from bot.app.archive.foreign.recognising import READERS, reader_of

__all__ = [
    "READERS",
    "BadExport",
    "ForeignConversation",
    "ForeignMessage",
    "FormatName",
    "Part",
    "Piece",
    "Reader",
    "Source",
    "reader_of",
    "source_at",
]
