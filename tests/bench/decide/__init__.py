"""How long it takes to decide: the estimate, the page and the plan of every strategy, on long agent histories."""
