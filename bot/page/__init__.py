"""The page of those who run the program: server-rendered, offline, and behind a door of its own."""
