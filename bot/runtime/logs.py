"""Logs: structlog, on standard error, as a console line or as JSON; the same keys everywhere, and no secrets.

docs/logs.md lists the events. Connectors know no structlog: they log by the standard library, an event's name with its
keys in ``extra``, and get here like the lines of other people's libraries.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import structlog

from bot.runtime.redact import redact
from bot.runtime.settings import Settings
from bot.runtime.telemetry import telemetry

LOUD = (
    "aiogram",
    "arq",
    "discord",
    "httpx",
    "httpx2",
    "httpcore2",
    "anthropic",
    "alembic",
    "uvicorn",
    "asyncio",
    "redis",
)
"""Libraries that chat: they are heard from warning on, whatever the level."""


def configure(settings: Settings, *, level: str | None = None, file: TextIO | None = None) -> None:
    """Log to standard error, or to ``file``. Lines of libraries come through the same door, from warning on."""
    target = file or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _Cleaner(settings.secrets),
        _counted,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    wanted = logging.getLevelNamesMapping()[level or settings.log_level]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(wanted),
        logger_factory=structlog.PrintLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[
        structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer,
    ], foreign_pre_chain=[_origin, *shared]))  # fmt: skip
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(wanted)
    for name in LOUD:
        logging.getLogger(name).setLevel(max(wanted, logging.WARNING))


_OWN = "connectors."
_RECORD = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None)))
_COUNTED = {"warning": "warning", "error": "error", "exception": "error", "critical": "error"}
_STACKS = frozenset({"exception", "stack"})
_MOVES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
"""Letters that move a terminal's cursor, colour it, or turn its text around; not a line break and a tab."""
_BREAKS = re.compile(r"[\n\t]")


def _origin(_logger: Any, _method: str, event: Any) -> Any:
    """Who logged this by the standard library: a connector of ours, whose keys are taken over, or a library."""
    record: logging.LogRecord = event["_record"]
    if not record.name.startswith(_OWN):
        event["logger"] = record.name
        return event
    event.setdefault("connector", record.name.split(".")[1])
    event.update((key, value) for key, value in vars(record).items() if key not in _RECORD and key not in event)
    return event


def _counted(_logger: Any, _method: str, event: Any) -> Any:
    if level := _COUNTED.get(event["level"]):
        telemetry.logged(level)
    return event


class _Cleaner:
    """Takes out of every text what nobody is to read (secrets), and what would act on a terminal or look like another
    line of the log: people, models and servers choose names."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def __call__(self, _logger: Any, _method: str, event: Any) -> Any:
        return {key: self._clean(value, breaks=key in _STACKS) for key, value in event.items()}

    def _clean(self, value: Any, *, breaks: bool = False) -> Any:
        if isinstance(value, str):
            text = redact(value, self._secrets)
            if text.isprintable():
                return text
            text = _MOVES.sub(_shown, text)
            return text if breaks else _BREAKS.sub(_shown, text)
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self._clean(item) for key, item in value.items()}
        return value


def _shown(letter: re.Match[str]) -> str:
    return letter[0].encode("unicode_escape").decode()
