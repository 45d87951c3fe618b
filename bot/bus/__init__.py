"""Redis, as the bell between processes and as arq's queue: it wakes, locks and carries what is gone in a moment.

`bus` is the way in, `topics` names what rings, `events` is all that crosses, `leases` says what is held and for how
long, `jobs` is the queue. Nothing here lasts: what must is in the book (`bot.store`). Who else knows Redis: the
embedded server, and the workers, whose arq raises its errors.
"""
