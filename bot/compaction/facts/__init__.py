"""What a conversation established, found in it without a model: candidates, then facts, then a checkpoint.

`fact` has the words, `life` what a turn adds, what goes and what was forgotten, `choice` what a checkpoint holds.
"""
