"""The program: the composition root, the command line, the doctor, the servers that come with it.

`main` puts everything together, and `resources` opens what a process needs. Nobody else imports connectors.
"""
