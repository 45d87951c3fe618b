"""What the adapter uses of Anthropic's SDK, imported by name: with all its types it would take three times as long and
three times as much memory. Who debugs the SDK by its variable ``ANTHROPIC_LOG`` gets it whole, since that is read by
the part that is not run here."""

from __future__ import annotations

import os

from bot.runtime.named_imports import by_name

if not os.environ.get("ANTHROPIC_LOG"):
    by_name(
        "anthropic",
        "anthropic:AsyncAnthropic",
        "anthropic:APIStatusError",
        "anthropic:DefaultAsyncHttpxClient",
        "anthropic.resources.messages:AsyncMessages",  # what the client imports when it is first used
        "anthropic.resources.models:AsyncModels",
    )

from anthropic import (  # by name, from here on
    AnthropicError,
    APIConnectionError,
    APIError,
    APIResponseValidationError,
    APIStatusError,
    AsyncAnthropic,
    DefaultAsyncHttpxClient,
    NotFoundError,
    Timeout,
)

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIResponseValidationError",
    "APIStatusError",
    "AnthropicError",
    "AsyncAnthropic",
    "DefaultAsyncHttpxClient",
    "NotFoundError",
    "Timeout",
]
