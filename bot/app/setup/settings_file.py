"""The file that setup writes: which one it is, the settings that it would make, and writing it in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from bot.app.setup.env_lines import Changes, changed, names_in
from bot.errors import ConfigurationError
from bot.runtime.env_file import (
    ENV_FILE,
    env_file,
    is_of_another_program,
    read_env_file,
    user_data_folder,
    user_env_file,
)
from bot.runtime.settings import Settings, load_settings, variables

_NOTHING: Changes = MappingProxyType({})
_MARK = "\ufeff"
_FIRST_LINES = (
    "# What `palimpsest setup` was answered. Change it by hand as you like; `palimpsest doctor` looks at it.\n"
)
_FIRST_LINES_ONCE = (
    "# What `palimpsest setup` was answered. Change it by hand as you like; all settings: docs/configuration.md\n"
)
_TOKENS = ("TELEGRAM_TOKEN", "DISCORD_TOKEN")


class SettingsFile:
    """A `.env` that settings are read from. ``first``: what a new one sets besides."""

    def __init__(self, path: Path, first: Changes = _NOTHING) -> None:
        self.path = path
        self._first = first
        self.is_changed = False
        """Whether this run wrote to it."""

    @property
    def exists(self) -> bool:
        """Whether it is there already."""
        return self.path.exists()

    @property
    def begins_as_new(self) -> bool:
        """Whether it begins as one that was made here."""
        return self._read().startswith((_FIRST_LINES, _FIRST_LINES_ONCE))

    def settings(self, changes: Changes = _NOTHING, *, whole: bool = False) -> Settings:
        """Those of a program that is started with these changes. A platform's token that cannot be one, and is none of
        these, is left out, unless it is to be the ``whole``: one step is not to break on what another one asks for.
        Raises ConfigurationError."""
        read_env_file(self.path)
        try:
            return self._loaded(changes)
        except ConfigurationError:
            others = [] if whole else self.names(name for name in _TOKENS if name not in changes)
            for left_out in (*((name,) for name in others), others):
                with suppress(ConfigurationError):
                    return self._loaded({**dict.fromkeys(left_out), **changes})
            raise

    def _loaded(self, changes: Changes) -> Settings:
        with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
            trial = Path(folder) / ENV_FILE
            trial.touch(mode=0o600)
            trial.write_text(self._text(changes, ""), encoding="utf-8")
            return load_settings(_env_file=trial)

    def keep(self, changes: Changes, *, heading: str = "") -> None:
        """Write them, at once and as a whole: whoever reads it meanwhile, and whoever comes after a power cut, finds
        the file as it was or as it is. Only this user can read it. Raises ConfigurationError."""
        text = self._text(changes, heading)
        try:
            if not self.exists or text != self._read():
                self._write(text)
                self.is_changed = True
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} cannot be written: {error.strerror}. Let this user write it."
            ) from error

    def names(self, among: Iterable[str]) -> tuple[str, ...]:
        """Those of these names that it sets."""
        there = names_in(self._read().removeprefix(_MARK))
        return tuple(name for name in among if name in there)

    def overruled(self, changes: Changes) -> tuple[str, ...]:
        """The names that the environment sets to something else: it wins over the file."""
        given = {name.upper(): value for name, value in os.environ.items() if value.strip()}
        return tuple(name for name, value in changes.items() if name in given and given[name] != value)

    def given(self) -> Mapping[str, str]:
        """What is set now, here and in the environment, by names in capitals."""
        return {name.upper(): value.strip() for name, value in variables(self.path).items() if value.strip()}

    def _text(self, changes: Changes, heading: str) -> str:
        text = self._read()
        mark, text = (_MARK, text.removeprefix(_MARK)) if text.startswith(_MARK) else ("", text)
        if not self.exists:
            text = changed(_FIRST_LINES, self._first)
        return mark + changed(text, changes, heading=heading)

    def _read(self) -> str:
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def _write(self, text: str) -> None:
        target = Path(os.path.realpath(self.path))  # a link stays one
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=target.parent, prefix=".env.")  # only this user can read it
        new = Path(name)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
                if target.exists() and os.geteuid() == 0:
                    there = target.stat()
                    os.fchown(file.fileno(), there.st_uid, there.st_gid)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)


def chosen_file(*, here: bool = False) -> SettingsFile:
    """The `.env` that counts. Where there is none yet, or it is another program's: that of the current folder if it
    looks like one in which the program lives, or ``here`` says so; else that of this user, which counts wherever
    the program is called, but in a folder that has a `.env` of its own."""
    counts = env_file()
    theirs = counts == ENV_FILE and counts.exists() and is_of_another_program()
    if here or (counts.exists() and not theirs) or _is_for_it(Path()):
        return SettingsFile(ENV_FILE.absolute() if here else counts.absolute())
    return SettingsFile(user_env_file(), {} if "DATA_DIR" in os.environ else {"DATA_DIR": str(user_data_folder())})


def is_made_by_setup(path: Path) -> bool:
    """Whether there was no such file before setup was answered."""
    return SettingsFile(path).begins_as_new


def _is_for_it(folder: Path) -> bool:
    """A clone, or a folder in which it ran."""
    return (folder / "data/palimpsest.db").exists() or _has_our_example(folder)


def _has_our_example(folder: Path) -> bool:
    """Many programs have a file of this name."""
    try:
        return "palimpsest" in (folder / ".env.example").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
