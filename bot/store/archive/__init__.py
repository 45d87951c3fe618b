"""Rows that leave the book, come back or go for ever: backups, exports, and forgetting.

The files beside them, and the archives themselves, are :mod:`bot.app.main.archive`'s.
"""
