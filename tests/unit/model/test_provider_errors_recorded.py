"""What providers answer besides answers, as their documentation and their users show it: providers/errors.jsonl and
providers/usage.jsonl, each row with its page.

None of it could be tried against the real service; where ``wording`` is ``memory``, the page has the status and the
kind, and the words are from memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import Cause, ModelRefused
from bot.model import SettingNames
from bot.model.chat.chunks import usage_of
from bot.model.provider_errors import TryAgain, of_status
from bot.runtime.providers import providers

HERE = Path(__file__).parent / "providers"
NAMES = SettingNames("SOME_API_KEY", "SOME_BASE_URL")
WITHOUT_USAGE = {"anthropic", "custom"}
"""Of another wire, and of no provider."""


class Refused(Exception):
    """What both SDKs raise, as far as anybody looks at it."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__("Error")
        self.message = "Error"
        self.status_code = row["status"]
        self.body = row["body"]
        self.response = SimpleNamespace(headers=row.get("headers", {}))


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


ERRORS, USAGE = rows("errors.jsonl"), rows("usage.jsonl")


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"{row['provider']}-{row['status']}-{row['cause']}")
def test_an_error_is_translated(row: Mapping[str, Any]) -> None:
    found = of_status(Refused(row), "a-model", NAMES)
    assert found.cause is Cause(row["cause"])
    if found.cause in (Cause.BUSY, Cause.AWAY):
        assert isinstance(found, TryAgain)
        assert found.wait == row.get("wait", 0)
        return
    assert isinstance(found, ModelRefused)
    assert found.of_content is (found.cause is Cause.REQUEST)
    if found.cause in (Cause.KEY, Cause.FORBIDDEN):
        assert "Check SOME_API_KEY" in str(found)
    if found.cause is Cause.MODEL:
        assert "MODEL" in str(found)
    assert row.get("words", "") in str(found)


@pytest.mark.parametrize(
    ("model", "base", "is_said"),
    [
        ("anthropic/claude-sonnet-5", "ANTHROPIC_BASE_URL", True),
        ("claude-sonnet-5", "ANTHROPIC_BASE_URL", False),
        ("anthropic/claude-sonnet-5", "OPENROUTER_BASE_URL", False),
    ],
)
def test_a_name_that_is_not_known_may_have_a_prefix_too_many(model: str, base: str, *, is_said: bool) -> None:
    body = {"error": {"type": "not_found_error", "message": f"model: {model}"}}
    found = of_status(Refused({"status": 404, "body": body}), model, SettingNames("ANTHROPIC_API_KEY", base))
    hint = ": beside ANTHROPIC_BASE_URL the whole of it is the name, which may be claude-sonnet-5 there."
    assert str(found).endswith(f" Check MODEL and {base}{hint if is_said else '.'}")


def test_a_page_that_takes_no_requests_is_no_model_server() -> None:
    page = {"status": 405, "body": "<html><body>Hello</body></html>"}
    found = of_status(Refused(page), "a-model", SettingNames("SOME_API_KEY", "SOME_BASE_URL"))
    assert str(found) == "There is no model's server of this kind at this address (Hello). Check SOME_BASE_URL."


def test_who_has_no_key_is_not_told_that_theirs_is_refused() -> None:
    row = {"status": 401, "body": {"error": {"message": "Invalid API Key"}}}
    found = of_status(Refused(row), "a-model", SettingNames("SOME_API_KEY", "SOME_BASE_URL", has_key=False))
    assert str(found) == (
        "The model's server wants a key, and SOME_API_KEY is not set (Invalid API Key). Set SOME_API_KEY."
    )


@pytest.mark.parametrize("row", USAGE, ids=lambda row: str(row["provider"]))
def test_usage_is_read(row: Mapping[str, Any]) -> None:
    found = asdict(usage_of(row["usage"]))
    assert {name: found[name] for name in row["expected"]} == row["expected"]


def test_every_provider_has_recorded_forms() -> None:
    assert {row["provider"] for row in ERRORS} == set(providers()) - {"custom"}
    assert {row["provider"] for row in USAGE} == set(providers()) - WITHOUT_USAGE


def test_every_row_names_its_page() -> None:
    assert all(row["source"].startswith("https://") for row in (*ERRORS, *USAGE))
