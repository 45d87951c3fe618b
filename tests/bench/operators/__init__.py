"""A large book, as operators of a busy program have it, and what its command line takes on it."""
