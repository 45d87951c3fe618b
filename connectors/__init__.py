"""One platform each, behind the Protocol of :mod:`bot.connector`."""
