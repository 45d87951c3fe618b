"""Before a command runs: does it look for a folder that the memory knows? Then it gets its path.

`gate` decides, `reading_commands` says which commands do nothing but read. Whether it is asked is up to the agent.
"""
