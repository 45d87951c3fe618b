"""The chat page: conversations of the web's own, in which whoever runs the program talks to it.

It writes the inbox and reads the book like any other platform's people; it knows no agent.
"""
