"""What a test can set about the platform; mixed into the server."""


class Terms:
    """Limits in seconds and bytes, with the values of the real one."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        self.down = False
        """Every connection is cut before it is answered."""
        self.message_content_allowed = True
        """Whether the privileged intent is switched on for the bot."""
        self.heartbeat_interval = 41.25
        self.interaction_deadline = 3.0
        self.token_lifetime = 15 * 60.0
        self.nonce_window = 180.0
        self.largest_file = 10 * 1024 * 1024
