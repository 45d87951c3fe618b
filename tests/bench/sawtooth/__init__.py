"""The same conversation of 300 turns through every strategy, in the running program, and a picture of each."""
