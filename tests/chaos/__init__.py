"""Real processes, random kill -9: what is promised of restarts, tried."""
