"""How long it is from an installer to the first answer, and how many keys a person presses on the way: ours beside
others that are installed from the package index, each by what its own documentation tells a newcomer."""
