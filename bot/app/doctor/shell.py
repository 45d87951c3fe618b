"""The shell: is what confines it there, and what does it mean that nothing does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.agent.tools.shell_confinement import find_bubblewrap, works
from bot.app.doctor.case import Case
from bot.runtime.checks import Finding, ok, problem, warning

PART = "shell"
_OTHERWISE = "TOOLS__SHELL=off turns the shell off; TOOLS__SHELL=unconfined runs it with all that the program may do."


async def check_shell(case: Case) -> Sequence[Finding]:
    """Nothing where it is off."""
    match case.settings.tools.shell:
        case "off":
            return []
        case "unconfined":
            sentence = "TOOLS__SHELL=unconfined: a command of an admin's conversation can do all that the program may."
            return [warning(PART, sentence, "Install bubblewrap and set TOOLS__SHELL=on to confine it.")]
    program = find_bubblewrap()
    if program is None:
        advice = f"Install bubblewrap (apt install bubblewrap, dnf install bubblewrap). {_OTHERWISE}"
        return [problem(PART, "TOOLS__SHELL=on, but bubblewrap is not installed: every command is refused.", advice)]
    if not await asyncio.to_thread(works, program):
        sentence = f"TOOLS__SHELL=on, but {program} cannot confine here: every command is refused."
        return [problem(PART, sentence, f"Containers often forbid user namespaces: allow them. {_OTHERWISE}")]
    network = " and reaches the network" if case.settings.tools.shell_network else ""
    return [ok(PART, f"A command sees the system and its conversation's folder{network}, by {program}.")]
