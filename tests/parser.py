"""A Parser without children, for tests of whatever has a file opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.files import parser_process
from bot.files.parser_pool import CannotOpen, Parsed, understood


class ParserHere:
    """Opens files in this process, without bounds."""

    async def parse(self, path: Path, *, of: str, room: int = 0) -> Parsed:
        """See :class:`bot.files.parser_pool.Parser`."""
        answer = await asyncio.to_thread(parser_process.answer_to, {"path": str(path), "room": room})
        found = understood(answer, path)
        if isinstance(found, str):
            raise CannotOpen(found)
        if isinstance(found, CannotOpen):
            raise found
        return found


HERE = ParserHere()
