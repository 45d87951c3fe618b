"""arq: where summaries are written.

`main` is the worker, `shift` what it takes on and how it ends, `vetting` keeps what is no job of ours from it. `job` is
one run with its heart, `summary` and `extraction` how its text is come by, by `requests` to the model; `desk` is what
all of them work with. A job writes into the row of its
run and changes nothing else; what a summary must hold is decided in :mod:`bot.compaction.summary`.
"""
