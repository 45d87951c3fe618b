"""The bell: Redis wakes, locks and carries what is gone in a moment; and arq's queue. Nothing here has to last.

Only here is Redis known. `topics` has every name in it, `events` what crosses it, `leases` how long one is held.
"""
