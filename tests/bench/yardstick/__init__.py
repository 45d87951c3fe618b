"""What is left of a conversation after a compaction: the values that later steps need, what people said must hold, and
whether what was replaced or cancelled is shown as if it still stood.

``python -m tests.bench.yardstick --help``. What is measured, and the figures: docs/quality.md.
"""
