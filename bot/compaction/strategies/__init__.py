"""One strategy a file, each a pure function from a page to a plan; `tiers` are the steps of `tiered`.

Their names are in ``STRATEGIES`` of :mod:`bot.compaction`. What a strategy may rely on is in
:mod:`bot.compaction.plan`; summaries are asked for by whoever carries a plan out, never here.
"""
