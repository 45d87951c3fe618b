"""The book: everything that must last, in SQL (SQLite or PostgreSQL). Only this package knows SQL.

A caller opens a transaction and passes it to the functions of the modules here::

    async with database.fenced(agent_id, epoch) as tx:  # fails with StaleEpoch when another host has the agent
        await histories.append(tx, agent_id, entries)
        await inbox.close(tx, turn_id)
"""

from bot.store.database import Database
from bot.store.tx import Tx

__all__ = ["Database", "Tx"]
