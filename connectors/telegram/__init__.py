"""Telegram: private chats, groups and topics; `connector` puts it together.

In: `polling` or `webhook`, over `receiver`, read by `incoming`, `content`, `unreadable`. Out: `writer` and `files`, as
`looks` has it, on `screen`. A flood limit is read in `errors`, and waited for where it was met: by `polling`, or by
:mod:`bot.gateway.chat_delivery` with the message, in its chat alone. `library` loads aiogram, before all of them.
"""

from connectors.telegram import library

library.load()

from connectors.telegram.connector import Telegram  # noqa: E402  # it imports aiogram

__all__ = ["Telegram"]
