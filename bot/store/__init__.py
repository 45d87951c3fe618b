"""The book: everything that must last, in SQL (SQLite or PostgreSQL), which is known only here.

A caller opens a transaction and passes it on: `async with database.fenced(agent_id, epoch) as tx` fails with StaleEpoch
when another host has the agent. Each subject is a module, however short, since whoever asks may not hold SQL: messages
on their way are in `inbox` and `outbox`, what was said in `histories`, compactions in `runs`. `search`, what
`operators` read, what leaves or comes back (`archive`) and what the two databases do not share (`servers`) are apart.
What rows mean, and when they are written, is decided by those who ask.
"""

from bot.store.database import Database
from bot.store.tx import Tx

__all__ = ["Database", "Tx"]
