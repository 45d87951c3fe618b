"""The Telegram connector, against a Bot API over HTTP."""
