"""Finding what was said: a text as words, the index of them, and the part that shows why it was found.

Which conversation may be searched is decided by who asks.
"""
