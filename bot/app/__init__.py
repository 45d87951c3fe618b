"""The program: what is put together, and what is called from outside.

`main` is the composition root (`platforms`, `chat` and `resources` are parts of it), `cli/` the commands of
`palimpsest`, `doctor/` what `palimpsest doctor` looks at, `archive/` exports, backups and forgetting, `embedded/` the
servers that come with the program. `health`, `gauges` and `http` say how a process stands; `probe` asks it, alone in
its container and without the rest of the program. Nothing is decided here about a conversation, and nobody imports
this room but `workers`, for `resources`.
"""
