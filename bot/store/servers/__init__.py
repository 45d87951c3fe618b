"""The two databases that the book may be in, and their errors in our words.

Everything else in :mod:`bot.store` is the same for both.
"""
