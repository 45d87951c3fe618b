"""What a model can do besides talking: one kind of tool a file; `choosing` says who has which.

The `toolbox` runs them, and bounds what comes of it; none leaves its folder (:mod:`bot.files.own_folder`). When a call
is made, and what people see of it, is the turn's.
"""
