"""The parts of a turn: what was said comes in, room is made, tools run, and it ends in one of four ways.

The order of these is :mod:`bot.agent.turn`'s.
"""
