"""Logs: structlog, on standard error, as a console line or as JSON; the same keys everywhere, and no secrets."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import structlog

from bot.redact import redact
from bot.settings import Settings

_LOUD = (
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


def configure(settings: Settings, *, level: str | None = None, file: TextIO | None = None) -> None:
    """Log to standard error, or to ``file``. Lines of libraries come through the same door, from warning on."""
    target = file or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _Redactor(settings.secrets),
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
    ], foreign_pre_chain=shared))  # fmt: skip
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(wanted)
    for name in _LOUD:
        logging.getLogger(name).setLevel(max(wanted, logging.WARNING))


class _Redactor:
    """Takes secrets out of every value that is a text."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def __call__(self, _logger: Any, _method: str, event: Any) -> Any:
        return {key: redact(value, self._secrets) if isinstance(value, str) else value for key, value in event.items()}
