"""`palimpsest`: one command a file, however small, called from `main`.

What a command does is done elsewhere; here are its flags, its words and its exit code (`process`). Everything heavy is
imported inside of the commands.
"""
