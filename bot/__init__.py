"""Palimpsest: an assistant that can be talked to for ever, because it compacts its own context."""

__version__ = "0.1.0"
