"""One conversation: `turn` is the file to read first. `host` wakes agents, an `agent` runs one turn at a time.

Whatever lasts is written in a `step`. It never meets a gateway: answers go to the outbox.
"""
