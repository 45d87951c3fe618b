"""One compaction of an agent, seen through by `compactor`: plan, row, job, layer, status message, trace. What is asked
between compactions, and gives way to them, is an `errand`: the `running_summary` and the `extraction` of facts.

What to hide and what to keep is decided in :mod:`bot.compaction`; the summary is written by a worker.
"""
