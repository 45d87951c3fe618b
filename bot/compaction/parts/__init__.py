"""What strategies take a page apart into: bundles, segments, files and their outlines, what tools returned.

Nothing here decides what goes; that is a strategy's.
"""
