"""The Telegram that tests talk to: the Bot API over HTTP. `server` puts it together."""
