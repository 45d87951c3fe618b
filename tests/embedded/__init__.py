"""The servers that come with the program, killed and broken in every way that a machine knows."""
