"""The provider of the model, behind one adapter: requests, streams, waits, windows, errors in our words.

Only here is its SDK known. What is asked, and when, is decided by agents and workers.
"""
