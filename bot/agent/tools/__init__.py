"""What a model can do besides talking: one kind of tool a file, and the toolbox that runs them."""
