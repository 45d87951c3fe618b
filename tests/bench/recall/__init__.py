"""How long it takes to find what was said, in a large book."""
