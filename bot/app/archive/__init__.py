"""Taking a conversation or everything along: archives, backups, exports, and forgetting with its files.

Rows are :mod:`bot.store.archive`'s.
"""
