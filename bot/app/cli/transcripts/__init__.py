"""Transcripts that `palimpsest compact` and `palimpsest estimate` are given: read, written, and what changed in one."""
