"""Whether an error says that a context was too large: the published name of what :mod:`bot.model.overflow` knows."""

from bot.model.overflow.detection import is_context_overflow

__all__ = ["is_context_overflow"]
