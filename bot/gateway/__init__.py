"""One connector: what comes in is stored, what goes out is delivered, by whoever has its lease.

`gateway` puts together `intake` (with `admission`: who may come in, and how often), `attachments`, `delivery` (one
`chat_delivery` for each chat) and `lease`, where one gateway's time begins and ends (with `delivery_fence`). Platforms
are not known here but behind :mod:`bot.connector`, and an agent is never met: they share the book and the bell.
"""
