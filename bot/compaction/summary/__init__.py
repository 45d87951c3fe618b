"""What a model is told and shown when it summarises, and whether what it answers is a summary.

`checks` decides that one is none, `details` what it must not lose. The request itself is made by the workers.
"""
