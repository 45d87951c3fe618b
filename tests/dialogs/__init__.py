"""Conversations as tables of who says what, played on every platform."""
