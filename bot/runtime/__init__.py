"""What every process has, whatever its role: settings, logs, counts, tasks that have an owner, an end.

Settings are read and checked here, and nowhere else; whoever counts or times something tells `telemetry`. Nothing here
knows a conversation, the book or the bell.
"""
