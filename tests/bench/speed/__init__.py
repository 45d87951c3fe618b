"""How fast, how small and how quickly back: the program between a platform and a model, each a process of its own."""
