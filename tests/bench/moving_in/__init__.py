"""How long it takes to bring 100 MB of each kind over, in how much memory, and whether what was said is found."""
