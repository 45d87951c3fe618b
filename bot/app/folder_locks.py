"""Who else works on this DATA_DIR: locks on files, which the kernel forgets when a process dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bot.errors import ConfigurationError
from bot.messages import Address
from bot.runtime.settings import Settings


@contextmanager
def only_terminal_of(settings: Settings, address: Address) -> Iterator[None]:
    """One terminal a conversation. Raises ConfigurationError in a second one."""
    folder = settings.data_dir / "agents" / address.agent_id
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (folder / ".terminal.lock").open("w")
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR={settings.data_dir} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"The conversation {address.agent_id} is open in another terminal. Close that one, or start another "
                "conversation: `palimpsest chat --agent NAME`."
            ) from error
        yield


@contextmanager
def beside_others(settings: Settings) -> Iterator[bool]:
    """Whether another `palimpsest run` works on this DATA_DIR, which it may; whoever starts until the end of the block
    sees this one."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (settings.data_dir / ".run.lock").open("a")
    except OSError:  # whoever needs the folder says so
        yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            others = False
        except OSError:
            others = True
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield others
