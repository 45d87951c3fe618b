"""How many bytes compactions leave behind."""
