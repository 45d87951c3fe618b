"""One conversation: `turn` is the file to read first. `host` wakes agents, an `agent` runs one turn at a time.

Who is made of what is in `assembly`, the one place that sees all `services`; whatever lasts is written in a `step` of
the `context`. What is known of a conversation is in `memory`, what was tried too often is put aside by `retries`. It
never meets a gateway: answers go to the outbox.
"""
