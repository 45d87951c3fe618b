"""The commands of people: what they are called, what they do, and what is said.

`dispatch` has one handler for each, `texts` their words. Commands are answered at once, whatever runs.
"""
