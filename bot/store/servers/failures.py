"""What goes wrong at either database, translated where it enters: an outage is waited for, anything else is a defect.

An outage says something of the database (it is away, full, only reads, is in nobody's state), and nothing of what it
was given: whoever meets one keeps what they have, and tries again. A defect says something of what it was given, and
comes again with every try. No error that leaves the store has a value in it: those are what people said.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlalchemy import ExceptionContext
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from bot.errors import StoreUnavailable

PASSES: Final = ("08", "57P", "40001", "40P01", "55P03", "57014", "25P03", "25P04", "53300")
"""SQLSTATEs, or how they begin, of a server that is away, starts, ends or is in a hurry: the next try may do.
https://www.postgresql.org/docs/current/errcodes-appendix.html"""
SAYS_NO: Final = ("53", "58", "25006", "28", "3D", "3F", "42501", "42P01", "26000", "42P05", "F0", "XX001", "XX002")
"""... of one that takes nothing until somebody looks after it: full, read-only, closed to us, damaged, without its
tables, or with a pooler before it that we do not know of."""
_SQLITE_OUTAGES = frozenset(
    {
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_ABORT, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB,
    }
)  # fmt: skip
"""https://www.sqlite.org/rescode.html"""
_ONLY_READS = "25006"
_DAMAGED = "stop everything, and put a backup in its place"
_POOLER = (
    "a pooler such as PgBouncer stands before it: set DATABASE_POOLER=transaction (or session, where its pool_mode is "
    "that)"
)
_ADVICE: Final = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "make room on the disk of DATA_DIR",
    sqlite3.SQLITE_IOERR: "look whether the disk of DATA_DIR is full or broken",
    sqlite3.SQLITE_CANTOPEN: "look whether DATA_DIR can be written by this user",
    sqlite3.SQLITE_READONLY: "look whether DATA_DIR can be written by this user",
    "53100": "make room on the disk of the PostgreSQL server",
    "53300": "raise max_connections of the server, or lower DATABASE_CONNECTIONS",
    _ONLY_READS: "DATABASE_URL leads to a server that only reads, such as a standby, or its disk is nearly full",
    "42501": "give this user the right to write these tables",
    "42P01": "its tables are gone: look whether a backup is being restored",
    "26000": _POOLER,
    "42P05": _POOLER,
}
"""What to do, by SQLite's primary codes and by SQLSTATE."""
_UNKNOWN_PARAMETER = "unsupported startup parameter"
_STALE_PLANS = "InvalidCachedStatementError"
_OF_VALUES = "22"
_TELLING = ("detail", "context", "internal_query")
_HIDDEN = "(what it was given is not shown)"
_QUOTED = re.compile(r"['\":].*", re.DOTALL)
"""From where on a message may quote."""


@contextmanager
def translated(where: str = "") -> Iterator[None]:
    """Outages become StoreUnavailable; all else passes, without values. ``where`` the database is, for people."""
    try:
        yield
    except StoreUnavailable:
        raise
    except Exception as error:  # of any driver, and whatever it calls its errors
        if not is_outage(error):
            raise
        raise StoreUnavailable(reason_of(error), may_pass=may_pass(error), where=where) from error


def is_outage(error: BaseException) -> bool:
    """Whether it says something of the database, and nothing of what it was given."""
    if isinstance(error, OSError | NoConnectionFree | PendingRollbackError):
        return True
    if isinstance(_driver_error(error), sqlite3.Error):
        return _is_sqlite_outage(_driver_error(error))
    if state := sqlstate_of(error):
        return state.startswith((*PASSES, *SAYS_NO)) or _is_stale_plan(error)
    if any(isinstance(cause, ValueError | TypeError) for cause in _causes(error)):
        return False  # the driver cannot even send it
    return isinstance(error, DBAPIError)  # the driver has lost its server in the middle of something


def may_pass(error: BaseException) -> bool:
    """Whether the next try may do, without anybody looking after it."""
    driver = _driver_error(error)
    if isinstance(driver, sqlite3.Error):
        return _sqlite_code(driver) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    if _is_unknown_parameter(error):
        return False
    state = sqlstate_of(error)
    return not state or state.startswith(PASSES) or _is_stale_plan(error)


def reason_of(error: BaseException) -> str:
    """One line, with what to do where that is known; the driver's TimeoutError has no words of its own."""
    cause = getattr(error, "orig", None) or error
    if isinstance(error, NoConnectionFree):
        return "no answer: all connections of this process are in use"
    said = next(iter(str(cause).splitlines()), "") or (
        "no answer" if isinstance(cause, TimeoutError) else type(cause).__name__
    )
    code = sqlstate_of(error) or _sqlite_code(_driver_error(error))
    advice = _POOLER if _is_unknown_parameter(error) else _ADVICE.get(code)
    return f"{said}: {advice}" if advice else said


def sqlstate_of(error: BaseException) -> str:
    """PostgreSQL's code of an error, wherever in its causes; empty where there is none."""
    return next((state for cause in _causes(error) if (state := _state(cause))), "")


def see_what_it_means(context: ExceptionContext) -> None:
    """For engines of PostgreSQL, as the listener of `handle_error`: take out what the error says of values, and let go
    of connections that are of no use any more.

    A server that said goodbye while nobody asked it for anything is gone, also before the connection is closed: who
    asks then hears of the driver only that it is in no state to ask (asyncpg's InternalClientError). One that only
    reads was the primary before: the next connection finds the new one.
    """
    causes = list(_causes(context.sqlalchemy_exception or context.original_exception))
    _hide_values(causes)
    for cause in causes:
        if type(cause).__name__ == "InternalClientError" or getattr(cause, "sqlstate", None) == _ONLY_READS:
            context.is_disconnect = True


def _hide_values(causes: Sequence[BaseException]) -> None:
    """Which values there were is told in details ("Failing row contains (…)"), and in the message itself where they
    are of no form that the column takes."""
    is_of_value = any(isinstance(one, ValueError) or _state(one).startswith(_OF_VALUES) for one in causes)
    for one in causes:
        for told in _TELLING:
            if getattr(one, told, None):
                setattr(one, told, None)
        if is_of_value and one.args:
            one.args = (f"{_QUOTED.sub('', str(one.args[0])).strip()} {_HIDDEN}", *one.args[1:])


def _state(error: BaseException) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def _is_sqlite_outage(error: BaseException | None) -> bool:
    """Of the driver's own errors, one without a code was raised by the driver or by us: the file is closed."""
    code = _sqlite_code(error)
    if code == sqlite3.SQLITE_ERROR:
        return "no such table" in str(error)
    return code in _SQLITE_OUTAGES or (not code and type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError))


def _sqlite_code(error: BaseException | None) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_stale_plan(error: BaseException) -> bool:
    """Its tables were changed by somebody else just now; the driver plans anew."""
    return any(type(cause).__name__ == _STALE_PLANS for cause in _causes(error))


def _is_unknown_parameter(error: BaseException) -> bool:
    return any(_UNKNOWN_PARAMETER in str(cause) for cause in _causes(error))


def _driver_error(error: BaseException) -> BaseException | None:
    return getattr(error, "orig", None) or error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """It, what SQLAlchemy made it of, and what that came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "orig", None) or error.__cause__
