"""Rows that leave the book, come back or go for ever: backups, exports, forgetting, and what is settled.

`own` says whose the rows of each table are. The files beside them, and the archives themselves, are
:mod:`bot.app.archive`'s.
"""
