"""The terminal: `connector` with a prompt (`prompt`, `typeset`), `pipe` without one, `attach` for files in both.

Nothing is handed on from here: who asks over a pipe does not wait until a prompt is loaded.
"""
