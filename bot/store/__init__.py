"""The book: everything that must last, in SQL (SQLite or PostgreSQL). Only this package knows SQL; what the rows mean,
and when they are written, is decided by those who ask.

- messages on their way: `inbox`, `outbox`, `chats`, `tenures` (who may send);
- conversations: `agents`, `work`, `turns`, `histories`, `runs`, `facts`, `quotations`, `vectors`;
- beside them: `people`, `sessions`, `outages`, `windows`, `installation`, `volume`;
- `search`, what `operators` read, what leaves or comes back (`archive`);
- the database itself: `database`, `tx`, `schema`, `servers`, `migrations`; `book` opens the one that settings name.

A subject has a module here however short it is (`tenures`, `vectors`, `archive.settled`, `operators.orders` have one
user each), since that user may not hold SQL.

A caller opens a transaction and passes it to the functions of the modules here::

    async with database.fenced(agent_id, epoch) as tx:  # fails with StaleEpoch when another host has the agent
        await histories.append(tx, agent_id, entries)
        await inbox.close(tx, turn_id)
"""

from bot.store.database import Database
from bot.store.tx import Tx

__all__ = ["Database", "Tx"]
