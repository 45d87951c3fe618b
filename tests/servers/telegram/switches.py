"""How this server differs from the usual one."""

import time
from collections.abc import Callable


class Switches:
    """Mixed into the server, so that tests set them on it, before or while the bot runs."""

    def __init__(self) -> None:
        super().__init__()
        self.knows_rich = True
        """False: a server from before Bot API 10.1, without rich messages."""
        self.knows_drafts = True
        """False: a server from before message drafts."""
        self.privacy_mode = True
        """Whether the bot sees only what is meant for it in groups, unless it is an administrator there."""
        self.flood_control: float | None = None
        """Seconds that one message or edit takes in each chat; `None` is no limit."""
        self.group_flood_control = False
        """Whether a group takes only 20 messages and edits a minute."""
        self.clock: Callable[[], float] = time.monotonic
        """What drafts and flood control measure seconds by."""
