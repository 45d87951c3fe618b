"""A context overflow is told from every other error, in the wording of every provider that we know of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.overflow.detection import StatedNumbers, stated_numbers
from bot.model.overflow.wording import LONGEST, normalized
from bot.overflow import is_context_overflow

COLLECTION = Path(__file__).parents[2] / "provider_errors.jsonl"


@dataclass(frozen=True, kw_only=True)
class ProviderError:
    """One line of the collection: what a provider said, and what it meant."""

    text: str
    overflow: bool
    provider: str
    source: str
    """Where that wording stands: a page, a repository's file, an issue."""
    status: int | None = None
    asked: int | None = None
    limit: int | None = None


def _collection() -> list[ProviderError]:
    lines = COLLECTION.read_text(encoding="utf-8").splitlines()
    return [ProviderError(**json.loads(line)) for line in lines]


ERRORS = _collection()
OVERFLOWS = [error for error in ERRORS if error.overflow]
OTHERS = [error for error in ERRORS if not error.overflow]
WITH_STATUS = [error for error in ERRORS if error.status is not None]


class StatusError(Exception):
    """Shaped as the SDKs' errors are."""

    def __init__(self, message: str = "", *, status_code: int | None = None, body: object = None) -> None:
        super().__init__(message)
        self.message, self.status_code, self.body = message, status_code, body


class RateLimitError(StatusError):
    """Shaped as `anthropic.RateLimitError` is."""


class ContextWindowExceededError(Exception):
    """Shaped as LiteLLM's is."""


class ClientError(Exception):
    """Shaped as botocore's is."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__("An error occurred (ValidationException) when calling the Converse operation")
        self.response = {"Error": {"Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}


def _anthropic_error(status: int, message: str, kind: str = "invalid_request_error") -> anthropic.APIStatusError:
    """As the SDK raises it: from a real response."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    request = httpx2.Request("POST", "https://api.anthropic.com/v1/messages")
    response = httpx2.Response(status, json=body, request=request)
    return anthropic.Anthropic(api_key="test-key")._make_status_error_from_response(response)


class TestTheCollection:
    """Each wording with its source: what the rules must know."""

    def test_it_has_enough_of_either_kind_and_no_wording_twice(self) -> None:
        assert len(OVERFLOWS) >= 600
        assert len(OTHERS) >= 700
        assert len({error.text for error in ERRORS}) == len(ERRORS)
        assert all(error.source for error in ERRORS)

    @pytest.mark.parametrize("provider", ["Anthropic", "OpenAI", "Google", "Gemini", "Vertex"])
    def test_it_has_overflows_and_other_errors_of_each_large_provider(self, provider: str) -> None:
        assert sum(error.provider == provider for error in OVERFLOWS) >= 5
        assert sum(error.provider == provider for error in OTHERS) >= 5

    def test_an_overflow_is_recognised_by_its_text_alone(self) -> None:
        assert [error for error in OVERFLOWS if not is_context_overflow(error.text)] == []

    def test_another_error_is_never_taken_for_an_overflow(self) -> None:
        assert [error for error in OTHERS if is_context_overflow(error.text)] == []

    def test_an_error_is_told_with_the_status_that_it_comes_with(self) -> None:
        for error in WITH_STATUS:
            assert is_context_overflow(error.text, error.status) is error.overflow, error
            assert is_context_overflow(StatusError(error.text, status_code=error.status)) is error.overflow, error

    def test_an_error_is_told_in_capitals_and_inside_a_body(self) -> None:
        for error in ERRORS:
            body = {"error": {"message": error.text, "param": None}}
            if "\\u" not in error.text:  # an escape has no capitals
                assert is_context_overflow(f"Error: {error.text.upper()}") is error.overflow, error
            assert is_context_overflow(StatusError("Bad Request", status_code=400, body=body)) is error.overflow, error

    def test_the_numbers_that_an_overflow_states_are_read_and_no_others(self) -> None:
        for error in OVERFLOWS:
            stated = stated_numbers(error.text) or StatedNumbers(None, None)
            assert stated == StatedNumbers(error.asked, error.limit), error


class TestStatusAndType:
    """What is known before a word is read."""

    @pytest.mark.parametrize(
        ("status", "expected"),
        [(400, False), (401, False), (403, False), (413, True), (422, False), (429, False), (500, False), (529, False)],
    )
    def test_of_the_bare_statuses_only_413_is_an_overflow(self, status: int, expected: bool) -> None:
        assert is_context_overflow("", status) is expected
        assert is_context_overflow(StatusError(status_code=status)) is expected

    def test_nothing_at_all_is_no_overflow(self) -> None:
        assert not is_context_overflow("")
        assert not is_context_overflow(Exception())

    @pytest.mark.parametrize(
        ("status", "worded"),
        [
            (429, "This request would exceed your organization's rate limit of 40,000 input tokens per minute"),
            (429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000, Requested 9000"),
            (429, "You exceeded your current quota, please check your plan and billing details."),
            (429, "RESOURCE_EXHAUSTED: Quota exceeded for metric: generate_content_free_tier_input_token_count"),
            (400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."),
            (402, "Insufficient credits: this request needs 9000 tokens, and you can only afford 4000"),
            (401, "Incorrect API key provided: it is longer than the maximum length"),
            (400, "API key not valid. Please pass a valid API key."),
        ],
    )
    def test_rate_limits_quotas_bills_and_wrong_keys_are_never_overflows(self, status: int, worded: str) -> None:
        assert not is_context_overflow(worded)
        assert not is_context_overflow(worded, status)
        assert not is_context_overflow(_anthropic_error(status, worded))

    @pytest.mark.parametrize("worded", ["on tokens per minute (TPM)", "the image is too large", "your plan"])
    def test_a_413_that_is_worded_otherwise_is_no_overflow(self, worded: str) -> None:
        assert not is_context_overflow(f"Request too large: {worded}", 413)

    def test_a_bare_resource_exhausted_is_an_overflow_though_its_status_is_429(self) -> None:
        assert is_context_overflow("RESOURCE_EXHAUSTED", 429)
        assert is_context_overflow("RESOURCE_EXHAUSTED: the input token count exceeds the limit", 429)

    @pytest.mark.parametrize("worded", ["check quota", "retry in 5 s", "per minute", "try again later", "limit: 32/32"])
    def test_a_resource_exhausted_that_says_more_is_a_rate_limit(self, worded: str) -> None:
        assert not is_context_overflow(f"RESOURCE_EXHAUSTED: {worded}")

    def test_with_status_429_or_403_only_words_about_the_context_make_an_overflow(self) -> None:
        for status in (403, 429):
            assert not is_context_overflow("token limit exceeded", status)
            assert is_context_overflow("prompt is too long: 208310 tokens > 200000 maximum", status)
        assert not is_context_overflow(RateLimitError("too many tokens", status_code=429))

    def test_words_of_a_401_are_not_read(self) -> None:
        assert not is_context_overflow("prompt is too long: 208310 tokens > 200000 maximum", 401)

    @pytest.mark.parametrize("text", ["429 {'error': 'Too many tokens'}", "HTTP/1.1 401 prompt is too long"])
    def test_a_status_that_only_the_text_says_counts(self, text: str) -> None:
        assert not is_context_overflow(text)

    def test_a_providers_own_error_number_is_no_status(self) -> None:
        error = StatusError("Prompt exceeds max length")
        error.code = 1261  # type: ignore[attr-defined]  # Zhipu's
        assert is_context_overflow(error)

    def test_the_type_of_an_exception_is_enough(self) -> None:
        assert is_context_overflow(ContextWindowExceededError())
        assert is_context_overflow(ContextWindowExceededError("of a plan with 3 credits left"))


class TestWordsThatMeanOtherThings:
    """The same word in an overflow and out of one."""

    @pytest.mark.parametrize("text", ["Too long.", "error: over limit", '{"error": {"message": "too long"}}'])
    def test_a_text_that_says_nothing_but_too_long_is_an_overflow(self, text: str) -> None:
        assert is_context_overflow(text)

    @pytest.mark.parametrize("text", ["name: too long", "MESSAGE_TOO_LONG", "password too long", "disk over limit"])
    def test_what_says_of_another_thing_that_it_is_too_long_is_none(self, text: str) -> None:
        assert not is_context_overflow(text)

    @pytest.mark.parametrize(
        "text",
        [
            "context length",
            "Error: context length",
            "context_length",
            "Provider returned error: context-length",
            "400 - {'error': {'message': 'Context length', 'type': 'invalid_request_error'}}",
            '{"error": {"code": 500, "message": "Internal error (context length)", "status": "INTERNAL"}}',
            "The request could not be processed because of its context length.",
            "8192 tokens context length",
        ],
    )
    @pytest.mark.parametrize("status", [None, 400, 429, 500])
    def test_the_contexts_length_alone_is_an_overflow(self, text: str, status: int | None) -> None:
        """As eunice has it: ``error.message.contains("context length")``."""
        assert is_context_overflow(text, status)

    @pytest.mark.parametrize(
        "text",
        [
            "unknown parameter: context_length",
            "Unrecognized request argument supplied: context_length",
            "this model does not support setting the context length",
            "the context length must be an integer",
            "context_length must be greater than 0",
            "invalid context length",
            "could not determine the context length of the model",
            "context length is not set for this model",
            "not enough memory for this context length",
            "the model was loaded with another context length",
            "Rate limit reached for requests of this context length",
            "Your plan does not include this context length",
            "max_tokens is too large: 90000. The context length has room for less.",
            '{"error": "bad gateway", "model": {"context_length": 131072}}',
            "the context length is fine",
        ],
    )
    def test_what_says_something_else_of_the_contexts_length_is_none(self, text: str) -> None:
        assert not is_context_overflow(text, 400)

    @pytest.mark.parametrize("place", ["in the prompt", "for this model", "in your request", "", ": 9000"])
    @pytest.mark.parametrize("elsewhere", ["on line 14", "in QR", "issued for this session", "processed"])
    def test_too_many_tokens_are_an_overflow_only_in_a_request(self, place: str, elsewhere: str) -> None:
        assert is_context_overflow(f"too many tokens {place}")
        assert not is_context_overflow(f"too many tokens {elsewhere}")

    @pytest.mark.parametrize("parameter", ["temperature", "top_p", "logit_bias", "presence_penalty"])
    def test_a_parameter_out_of_its_range_is_none_though_a_quoted_request_may_name_it(self, parameter: str) -> None:
        assert not is_context_overflow(f"the input {parameter} is larger than the maximum of 2, exceeds the limit")
        assert is_context_overflow(f'the input length exceeds the limit of 4096 tokens; {{"{parameter}": 1}}')


class TestShapes:
    """Whatever an error comes as."""

    def test_the_sdks_own_errors_are_read(self) -> None:
        assert is_context_overflow(_anthropic_error(400, "prompt is too long: 208310 tokens > 200000 maximum"))
        assert is_context_overflow(_anthropic_error(413, "Request exceeds the maximum size", "request_too_large"))
        assert not is_context_overflow(_anthropic_error(400, "Error"))
        assert not is_context_overflow(_anthropic_error(429, "Number of tokens exceeded", "rate_limit_error"))
        assert not is_context_overflow(_anthropic_error(529, "Overloaded", "overloaded_error"))
        assert not is_context_overflow(_anthropic_error(400, "Your credit balance is too low", "billing_error"))

    def test_an_error_in_the_middle_of_a_stream_is_read_though_its_status_is_200(self) -> None:
        request = httpx2.Request("POST", "https://api.anthropic.com/v1/messages")
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
        assert is_context_overflow(anthropic.APIError("broken off", request, body=body))
        assert not is_context_overflow(anthropic.APIConnectionError(request=request))
        assert not is_context_overflow(anthropic.APITimeoutError(request))

    def test_a_body_is_read_where_the_text_says_nothing(self) -> None:
        said = {"error": {"code": "context_length_exceeded", "message": None}}
        for body in (said, said["error"], '{"code": "context_length_exceeded"}', b"context_length_exceeded"):
            assert is_context_overflow(StatusError("Bad Request", status_code=400, body=body))

    def test_the_text_of_a_response_is_read_unless_it_is_an_unread_stream(self) -> None:
        request = httpx2.Request("POST", "http://127.0.0.1/v1/messages")
        read = httpx2.Response(400, text="the input length exceeds the context length", request=request)
        unread = httpx2.Response(400, content=iter([b"never read"]), request=request)
        assert is_context_overflow(httpx2.HTTPStatusError("Client error", request=request, response=read))
        assert not is_context_overflow(httpx2.HTTPStatusError("Client error", request=request, response=unread))

    def test_a_response_that_is_a_dictionary_is_read(self) -> None:
        assert is_context_overflow(ClientError("Input is too long for requested model.", 400))
        assert not is_context_overflow(ClientError("Input is too long for requested model.", 401))
        assert not is_context_overflow(ClientError("The security token included in the request is expired", 400))

    def test_an_overflow_is_recognised_as_the_cause_of_another_error(self) -> None:
        error = RuntimeError("the model did not answer")
        error.__cause__ = ValueError("no answer")
        error.__cause__.__cause__ = StatusError("prompt is too long", status_code=400)
        assert is_context_overflow(error)

    def test_an_error_that_merely_happened_while_an_overflow_was_handled_is_none(self) -> None:
        error = RuntimeError("the database is locked")
        error.__context__ = StatusError("prompt is too long", status_code=400)
        assert not is_context_overflow(error)

    def test_an_error_that_causes_itself_comes_to_an_end(self) -> None:
        error = RuntimeError("round and round")
        error.__cause__ = error
        assert not is_context_overflow(error)

    def test_an_overflow_is_recognised_in_a_group_of_errors(self) -> None:
        errors = [ValueError("another task"), ExceptionGroup("inner", [StatusError("prompt is too long")])]
        assert is_context_overflow(ExceptionGroup("tasks", errors))
        assert not is_context_overflow(ExceptionGroup("tasks", [ValueError("another task")]))

    def test_a_stop_reason_of_an_enum_is_a_text(self) -> None:
        class StopReason(StrEnum):
            FULL = "model_context_window_exceeded"
            END = "end_turn"

        assert is_context_overflow(StopReason.FULL)
        assert not is_context_overflow(StopReason.END)


class TestLongTexts:
    """A body may quote a whole conversation."""

    @given(st.text(max_size=200))
    def test_any_text_is_answered(self, text: str) -> None:
        assert is_context_overflow(text) in (True, False)
        stated_numbers(text)

    def test_a_very_long_body_is_read_at_both_ends(self) -> None:
        assert is_context_overflow("prompt is too long " + "token " * 500_000)
        assert is_context_overflow("token " * 500_000 + " prompt is too long")

    def test_of_a_very_long_body_no_more_than_a_bounded_part_is_read(self) -> None:
        hostile = "exceeds 1,234 longer than the input tokens of " * 25_000
        assert len(normalized(hostile)) <= LONGEST + 1
        assert not is_context_overflow("x" * LONGEST + " prompt is too long " + "x" * LONGEST)


@dataclass(frozen=True)
class Stated:
    text: str
    asked: int | None
    limit: int | None


@pytest.mark.parametrize(
    "case",
    [
        Stated("token count (1,200,000) exceeds the maximum number allowed (1,048,576).", 1_200_000, 1_048_576),
        Stated("The maximum context length is 8192.", None, 8_192),
        Stated("This model's context window is 128k tokens, you requested 256k tokens", 256_000, 128_000),
        Stated("prompt is too long: 39 tokens > 10 maximum", 39, 10),
        Stated("input length and `max_tokens` exceed context limit: 5 + 1 > 4", 6, 4),
        Stated("The prompt exceeds gpt-4's context window", None, None),
        Stated("输入的token数41022超过了模型上限32768", 41_022, 32_768),
        Stated("n_keep: 13055>= n_ctx: 4096", 13_055, 4_096),
        Stated("prompt length (9000) + max output tokens (1000) exceeds max_seq_len (8192)", 10_000, 8_192),
        Stated("提问长度5000超过2000字", None, None),
        Stated("prompt too long; exceeded max context length by 4096 tokens", None, None),
        Stated("Request payload size exceeds the limit: 20971520 bytes", None, None),
    ],
)
def test_numbers_are_read_as_tokens_or_not_at_all(case: Stated) -> None:
    stated = stated_numbers(case.text) or StatedNumbers(None, None)
    assert stated == StatedNumbers(case.asked, case.limit)


def test_no_numbers_are_read_where_none_are_stated() -> None:
    assert stated_numbers("prompt is too long") is None
    assert stated_numbers("Error code: 400") is None
