"""Benches: what compactions keep, and how long decisions take. Commands, not tests."""
