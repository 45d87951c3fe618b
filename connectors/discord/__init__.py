"""Discord: direct messages, channels and threads; `connector` puts it together.

In: `receiver`, `missed`, `interactions`, read by `reader` and `said`, stored by `arrivals`. Out: `writer`, over `rest`;
`signals` are apart, because they may fail. Rate limits are obeyed in `limits`, as Discord tells them; what takes
longer is said by `failures`, and waited for by :mod:`bot.gateway.chat_delivery`.
"""

from connectors.discord.connector import Discord

__all__ = ["Discord"]
