"""What a model is told and shown when it summarises, and whether what it answers is a summary.

`checks` decides that one is none, `details` what stands below it, `frames` knows what the program writes around it. The
request itself is made by the workers.
"""
