"""The Discord that tests talk to: HTTP and gateway, as discord.py meets them. `server` puts it together."""
