"""A section of the trace: its parts, how it stands in a daily file, and how the book keeps it. Pure.

What a section says of a run is put together by the agent (:mod:`bot.agent.compacting.trace`).
"""

from bot.compaction.trace.lines import Lines
from bot.compaction.trace.markdown import HEADING, BrokenTrace, appended, in_full, sections_in
from bot.compaction.trace.pieces import Key, Sources, keys_in, text_from
from bot.compaction.trace.section import Body, Section, lines_of

__all__ = [
    "HEADING",
    "Body",
    "BrokenTrace",
    "Key",
    "Lines",
    "Section",
    "Sources",
    "appended",
    "in_full",
    "keys_in",
    "lines_of",
    "sections_in",
    "text_from",
]
