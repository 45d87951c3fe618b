"""Appointments: what is said, or what the agent is woken for, at a time.

`reading` understands phrases and `schedule` knows the next instant (both pure); `due` takes what is due, in fenced
steps. Rows are the store's.
"""
