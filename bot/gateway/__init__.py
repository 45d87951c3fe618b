"""One connector: what comes in is stored, what goes out is delivered, by whoever has the lease.

It never meets an agent: `intake` writes the inbox, `delivery` reads the outbox. Platforms are behind
:mod:`bot.connector`.
"""
