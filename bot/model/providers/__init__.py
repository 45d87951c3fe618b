"""What is known of models before one is asked: how large their windows are, as their servers say or documentation does.

The providers themselves are a table that settings read too: :mod:`bot.runtime.providers`. No SDK is known here, and no
request of a model is made.
"""
