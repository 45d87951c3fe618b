"""Telling a context overflow from every other error of a provider, by its status, its fields and its words.

What is then done about it is the agent's. The published name is :func:`bot.overflow.is_context_overflow`.
"""
