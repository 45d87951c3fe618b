"""Markdown, as a model writes it, in each platform's own form and cut at its limits. Pure.

``for_telegram``, ``rich_markdown`` and ``for_discord`` are what a connector calls. They read the text (``parsing``)
into a tree (``tree``), lay it out as what people see with marked stretches (``layout``, ``spans``), cut that
(``cutting``), and write it in the platform's form. ``split`` and ``shorten`` cut Markdown as it stands.
``tables`` and ``quoting`` are small and apart: what they write can stand in any text.
"""

from __future__ import annotations

from connectors.text.discord import for_discord
from connectors.text.fences import shorten, split
from connectors.text.measure import ELLIPSIS, Measure, utf16_length
from connectors.text.quoting import quotation
from connectors.text.rich import rich_markdown
from connectors.text.telegram import Entity, Formatted, for_telegram

__all__ = [
    "ELLIPSIS",
    "Entity",
    "Formatted",
    "Measure",
    "for_discord",
    "for_telegram",
    "quotation",
    "rich_markdown",
    "shorten",
    "split",
    "utf16_length",
]
