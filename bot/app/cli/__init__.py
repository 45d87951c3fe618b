"""`palimpsest`, one command a file. Everything heavy is imported inside of the commands.

What a command does is done elsewhere; here are its flags, its words and its exit code.
"""
