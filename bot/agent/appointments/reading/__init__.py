"""Times in words: which points in time, and which rules, a person's phrase may mean. Pure: the moment is passed in."""
