"""`palimpsest doctor`: looks at every part that the settings name, and says what to do about what it finds.

Each check is a file here with a function from a :class:`~bot.doctor.case.Case` to findings. Checks only look: nothing
is started that stays, nothing is confirmed, taken or changed, so they may run beside the program.
"""

from bot.doctor.case import Case
from bot.doctor.examine import examine
from bot.runtime.checks import Finding

__all__ = ["Case", "Finding", "examine"]
