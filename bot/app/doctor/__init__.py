"""`palimpsest doctor`: looks at every part that the settings name, and says what to do about what it finds.

Each check is a file here, however small, with a function from a :class:`~bot.app.doctor.case.Case` to findings;
`examine` has the list of them. Checks only look: nothing is started that stays, nothing is confirmed, taken or changed,
so they may run beside the program. Whoever wants one check (`setup`) imports that alone: what each needs takes a while
to load.
"""
