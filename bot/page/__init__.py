"""The site of those who run the program: made by the server, offline, behind a door of its own (`access/`).

`routes` has all of it; a place of it is a module (`overview`, `conversation`, `compactions`, `search`, `parked`,
`people`) or a folder (`chat/`) and a file in `templates/`. It reads the book, and gives commands by the inbox like
anybody else: it knows no agent, and holds nothing that is not in the book.
"""
