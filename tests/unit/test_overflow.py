"""A context overflow is told from every other error, in the wording of every provider that we know of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.overflow import StatedNumbers, is_context_overflow, stated_numbers

HERE = Path(__file__).parent


def _wordings(name: str) -> list[str]:
    """One wording a line; a line that starts with a hash says whose they are."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


OVERFLOWS = _wordings("overflows.txt")
OTHERS = ["", *_wordings("other_errors.txt")]


class StatusError(Exception):
    """Shaped as `anthropic.APIStatusError` is."""

    def __init__(self, message: str, *, status_code: int, body: object = None) -> None:
        super().__init__(message)
        self.message, self.status_code, self.body = message, status_code, body


class RateLimitError(StatusError):
    """Shaped as `anthropic.RateLimitError` is."""


class ContextWindowExceededError(Exception):
    """Shaped as LiteLLM's is."""


@pytest.mark.parametrize("text", OVERFLOWS)
def test_an_overflow_is_recognised(text: str) -> None:
    assert is_context_overflow(text)


@pytest.mark.parametrize("text", OTHERS)
def test_another_error_is_never_taken_for_an_overflow(text: str) -> None:
    assert not is_context_overflow(text)


@pytest.mark.parametrize("text", OVERFLOWS)
def test_an_overflow_is_recognised_in_any_case_and_in_an_exception_with_status_400(text: str) -> None:
    assert is_context_overflow(StatusError(f"Error: {text.upper()}", status_code=400))


@pytest.mark.parametrize("text", OTHERS)
def test_another_error_stays_one_with_status_400(text: str) -> None:
    assert not is_context_overflow(StatusError(text, status_code=400))


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, False), (401, False), (413, True), (429, False), (500, False), (529, False)],
)
def test_of_the_bare_statuses_only_413_is_an_overflow(status: int, expected: bool) -> None:
    assert is_context_overflow("", status) is expected
    assert is_context_overflow(StatusError("", status_code=status)) is expected


def test_a_413_about_tokens_per_minute_is_a_rate_limit() -> None:
    assert not is_context_overflow("Request too large for model on tokens per minute (TPM)", 413)


def test_a_bare_resource_exhausted_is_an_overflow_though_its_status_is_429() -> None:
    assert is_context_overflow("RESOURCE_EXHAUSTED", 429)
    assert not is_context_overflow("Resource exhausted, please try again in 5 seconds", 429)


def test_with_status_429_only_words_that_are_certain_make_an_overflow() -> None:
    assert not is_context_overflow("token limit exceeded", 429)
    assert is_context_overflow("prompt is too long: 208310 tokens > 200000 maximum", 429)
    assert not is_context_overflow(RateLimitError("too many tokens", status_code=429))


def test_words_of_a_401_are_not_read() -> None:
    assert not is_context_overflow("prompt is too long: 208310 tokens > 200000 maximum", 401)


def test_the_body_of_an_exception_is_read_where_its_text_says_nothing() -> None:
    body = {"error": {"code": "context_length_exceeded", "message": None}}
    assert is_context_overflow(StatusError("Bad Request", status_code=400, body=body))


def test_the_type_of_an_exception_is_enough() -> None:
    assert is_context_overflow(ContextWindowExceededError())


def test_an_overflow_is_recognised_as_the_cause_of_another_error() -> None:
    error = RuntimeError("the model did not answer")
    error.__cause__ = StatusError("prompt is too long", status_code=400)
    assert is_context_overflow(error)


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert is_context_overflow(text) in (True, False)
    stated_numbers(text)


def test_a_very_long_body_is_read_at_both_ends_and_in_no_time() -> None:
    assert is_context_overflow("prompt is too long " + "token " * 500_000)
    assert is_context_overflow("token " * 500_000 + " prompt is too long")


@pytest.mark.parametrize(
    ("text", "asked", "limit"),
    [
        ("prompt is too long: 208310 tokens > 200000 maximum", 208_310, 200_000),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            209_573,
            200_000,
        ),
        (
            "maximum context length is 8192 tokens. However, your messages resulted in 10234 tokens",
            10_234,
            8_192,
        ),
        (
            "maximum context length is 4097 tokens, however you requested 5120 tokens (1024",
            5_120,
            4_097,
        ),
        ("token count (1,200,000) exceeds the maximum number allowed (1,048,576).", 1_200_000, 1_048_576),
        ("the input token count is 40000 but model only supports up to 32768.", 40_000, 32_768),
        (
            "Too many input tokens. Max input tokens: 128000, request input token count: 150000",
            150_000,
            128_000,
        ),
        (
            "maximum context length is 131072 tokens. However, you requested about 140000 tokens",
            140_000,
            131_072,
        ),
        ("prompt token count of 130000 exceeds the limit of 128000", 130_000, 128_000),
        (
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            40_000,
            32_768,
        ),
        ("maximum prompt length is 131072 but the request contains 537812 tokens", 537_812, 131_072),
        ("request (12031 tokens) exceeds the available context size (4096 tokens)", 12_031, 4_096),
        ('"n_prompt_tokens":12031,"n_ctx":4096', 12_031, 4_096),
        ("Current length is 9000 while limit is 8192", 9_000, 8_192),
        ("Your request exceeded model token limit: 8192 (requested: 9000)", 9_000, 8_192),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 9_000, 8_192),
        ("limit of 272000 tokens. Your messages resulted in 314500 tokens.", 314_500, 272_000),
        ("Range of input length should be [1, 30720]", None, 30_720),
        ("The maximum context length is 8192.", None, 8_192),
    ],
)
def test_the_numbers_that_an_overflow_states_are_read(text: str, asked: int | None, limit: int) -> None:
    assert stated_numbers(text) == StatedNumbers(asked, limit)


def test_no_numbers_are_read_where_none_are_stated() -> None:
    assert stated_numbers("prompt is too long") is None
    assert stated_numbers("Error code: 400") is None
