"""Taking a conversation or everything along: `exporting` and `importing` one, `backup` of all, `forgetting` for ever.

Here are the files and the folders; rows are :mod:`bot.store.archive`'s. The commands are in `bot/app/cli`.
"""
