"""Models behind Chat Completions endpoints: `client` asks over `wire`, `conversion` makes a request of a head and a
history, `chunks` a reply of what is streamed. What an endpoint wants otherwise is data:
:class:`bot.runtime.providers.Quirks`. Nothing is decided here by a provider's name.
"""
