"""`palimpsest setup`: which model answers, where people reach it, who runs it; what is answered is kept in a `.env`.

The steps are :class:`~bot.app.setup.model_step.ModelStep` and :class:`~bot.app.setup.platform_step.PlatformStep`, which
know neither a terminal nor HTML and try what is answered with the doctor's probes; `terminal` and `browser` ask.
"""

from bot.app.setup.settings_file import SettingsFile, chosen_file
from bot.app.setup.standing import is_set_up, places, standing

__all__ = ["SettingsFile", "chosen_file", "is_set_up", "places", "standing"]
