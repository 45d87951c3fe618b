"""Why there is no answer: found in what requests met, and forgotten when one works."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.errors import Cause, ModelError, cause_of
from bot.messages import Message, text_block
from bot.model import Head, Model
from bot.model.anthropic import AnthropicModel
from bot.runtime.telemetry import telemetry
from tests.servers.messages.server import MessagesServer, Reply

HEAD, SMALL = Head("claude-test", 500, ""), Head("claude-small", 500, "")
HELLO = [Message(role="user", content=[text_block("hello")])]
NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits."
)


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer(brain=lambda _: Reply("Hello.")) as server:
        yield server


@pytest.fixture
async def model(server: MessagesServer) -> AsyncIterator[Model]:
    model = AnthropicModel(api_key="test-key", base_url=server.url)
    yield model
    await model.close()


async def fails(model: Model, head: Head = HEAD) -> ModelError:
    """What a request comes to."""
    with pytest.raises(ModelError) as raised:
        await model.ask(head, HELLO, who="somebody")
    return raised.value


def met(model: Model) -> dict[str, Cause]:
    return {trouble.model: trouble.cause for trouble in model.troubles}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ((401, "authentication_error", "invalid x-api-key"), Cause.KEY),
        ((403, "permission_error", "Your API key does not have permission to use this."), Cause.FORBIDDEN),
        ((400, "invalid_request_error", NO_CREDIT), Cause.CREDIT),
        ((402, "billing_error", "There is an issue with your billing."), Cause.CREDIT),
        ((429, "insufficient_quota", "You exceeded your current quota."), Cause.CREDIT),
        ((404, "not_found_error", "model: claude-test"), Cause.MODEL),
        ((529, "overloaded_error", "Overloaded"), Cause.BUSY),
        ((429, "rate_limit_error", "too many"), Cause.BUSY),
        ((500, "api_error", "Internal server error"), Cause.AWAY),
    ],
)
async def test_what_every_request_meets_is_known_by_its_cause_until_one_is_answered(
    server: MessagesServer, model: Model, error: tuple[int, str, str], cause: Cause
) -> None:
    counted = {"purpose": "turn", "cause": cause.value}
    before = telemetry.metrics.registry.get_sample_value("palimpsest_model_failures_total", counted) or 0
    server.fail(*error, times=None, retry_after=0.01)
    assert (await fails(model)).cause is cause
    assert met(model) == {"claude-test": cause}
    assert telemetry.metrics.registry.get_sample_value("palimpsest_model_failures_total", counted) == before + 1
    server.clear_faults()
    await model.ask(HEAD, HELLO)
    assert met(model) == {}


async def test_a_bill_that_is_not_paid_is_refused_once_whatever_it_is_called(
    server: MessagesServer, model: Model
) -> None:
    server.fail(429, "insufficient_quota", "You exceeded your current quota.", times=None)
    assert "credit" in str(await fails(model))
    assert len(server.requests) == 1


@pytest.mark.parametrize("said", ["messages.3: image is too small", "max_tokens: must be at least 1"])
async def test_what_one_request_alone_is_refused_for_says_nothing_of_the_next(
    server: MessagesServer, model: Model, said: str
) -> None:
    server.fail(400, "invalid_request_error", said)
    assert (await fails(model)).cause is Cause.REQUEST
    assert met(model) == {}


async def test_a_model_that_is_unknown_stays_so_while_another_answers_and_a_key_does_not(
    server: MessagesServer, model: Model
) -> None:
    server.known_models = frozenset({"claude-test"})
    await fails(model, SMALL)
    await model.ask(HEAD, HELLO)
    assert met(model) == {"claude-small": Cause.MODEL}, "summaries still fail"
    server.known_models = None
    server.fail(401, "authentication_error", "invalid x-api-key")
    await fails(model, SMALL)
    await model.ask(HEAD, HELLO)
    assert met(model) == {}, "the key is the same for both"


async def test_a_try_that_fails_is_known_before_the_last_one_has(server: MessagesServer, model: Model) -> None:
    server.fail(503, "api_error", "soon")
    seen: list[dict[str, Cause]] = []
    await model.ask(HEAD, HELLO, lambda text: seen.append(met(model)) if not text else None)
    assert seen == [{}, {"claude-test": Cause.AWAY}]
    assert met(model) == {}


@pytest.mark.parametrize("said", ["Ihr Guthaben ist aufgebraucht", "残高が不足しています", ""])
def test_words_that_nobody_here_knows_are_a_refused_request_and_no_more(said: str) -> None:
    assert cause_of(400, ("invalid_request_error",), said) is Cause.REQUEST
