"""The tour: a conversation that the real program has in front of whoever looks, in under a minute, without a key.

`play` starts the program as a process of its own (`stage`), which talks to a scripted model (`script`), and asks it,
stops it with SIGKILL and starts it again. What it shows is what that process delivered: `screen` shows it in a
terminal, `recording` makes the picture of the README from it.
"""
