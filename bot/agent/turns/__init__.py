"""The parts of a turn: it begins with what is incoming, room is made, tools run, people steer it, it ends.

The order of these is :mod:`bot.agent.turn`'s; what is done after it is `runner`'s.
"""
