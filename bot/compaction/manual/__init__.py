"""Compaction by hand: messages in, fewer messages out, and the seven statistics.

`compact_history` is handed on by :mod:`bot.compaction`. It has no book, no agent and no model of its own.
"""
