"""The trace in the book: sections, whose words stand where they were said and are only named here (records), and the
requests that they tell of (requests)."""
