"""What a long conversation costs, and what share of it is read from the prompt cache."""
