"""`/usage` and the page over a million requests."""
