"""One folder a platform, behind the Protocol of :mod:`bot.connector`; `memory` is for tests, `text` is what they share.

A further platform is a module or a folder here, and a few lines in :mod:`bot.app.platforms`; one is written in
docs/writing-a-connector.md. It keeps nothing that must last, and decides nothing: who may talk, in which order and how
often is tried is the gateway's. Its platform's refusals are translated once (`errors`, `failures`), and
:mod:`bot.gateway.chat_delivery` acts on them.
"""
