"""How far the estimate of tokens is from counts that are known."""
