"""Do pinned rules survive? Scripted conversations in four languages, compacted again and again by every strategy."""
