"""SQL that a process compiles once for all its tests.

Each test has a book of its own, and so an engine, which would compile every statement of the program anew: a tenth of
what the tests take. A running program has one engine, and SQLAlchemy keeps what it has compiled for that.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event
from typing_extensions import override

_MOST = 3_000


class _Compiled(dict[Any, Any]):
    """What SQLAlchemy keeps for one dialect object, kept for all that speak the same SQL."""

    @override
    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_for_all(key), default)

    @override
    def __setitem__(self, key: Any, compiled: Any) -> None:
        if len(self) >= _MOST:
            self.clear()
        super().__setitem__(_for_all(key), compiled)


def _for_all(key: Any) -> Any:
    dialect, *statement = key
    return (dialect.name, dialect.driver, dialect.server_version_info, *statement)


_KEPT = _Compiled()


def compile_once() -> None:
    """From now on, in this process."""
    event.listen(Engine, "engine_connect", _share)


def _share(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_KEPT)
