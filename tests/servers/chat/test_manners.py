"""The model server in the manner of each provider."""

import json
from typing import Any

import httpx2
import openai
import pytest

from bot.overflow import is_context_overflow
from tests.servers.asking import PIXEL, user
from tests.servers.chat.manners import (
    DEEPSEEK,
    GEMINI,
    LLAMACPP,
    MANNERS,
    MISTRAL,
    OLLAMA,
    OPENROUTER,
    VLLM,
    Manner,
)
from tests.servers.chat.order_rules import SKIP
from tests.servers.chat.test_rules import ASKED, call, calls, refused, result, tool
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall

EACH = pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)


def client_of(server: MessagesServer, key: str = "test-key") -> openai.AsyncOpenAI:
    headers = {server.manner.key_header: key}
    return openai.AsyncOpenAI(base_url=server.chat_url, api_key=key, max_retries=0, default_headers=headers)


async def complete(server: MessagesServer, messages: Any, **more: Any) -> Any:
    async with client_of(server) as client:
        return await client.chat.completions.create(model=server.manner.model, messages=messages, **more)


async def stream(server: MessagesServer, messages: Any, **more: Any) -> list[Any]:
    async with client_of(server) as client:
        events: Any = await client.chat.completions.create(
            model=server.manner.model, messages=messages, stream=True, **more
        )
        return [chunk async for chunk in events]


@EACH
async def test_each_answers_a_tool_round(server: MessagesServer, manner: Manner) -> None:
    server.manner = manner
    server.brain = lambda r: (
        Reply("Here.")
        if r.messages[-1]["role"] == "user" and _has_result(r)
        else Reply("I look.", [ToolCall("look", {"at": 1}), ToolCall("look", {"at": 2})])
    )
    message = (await complete(server, [ASKED], tools=[tool()])).choices[0].message
    back = message.model_dump(exclude_none=True)
    for field in ("refusal", "annotations", "function_call"):
        back.pop(field, None)
    if manner.thoughts != "reasoning" and not manner.message_fields:
        back = {name: back[name] for name in ("role", "content", "tool_calls")}
    results = [result(one["id"], "a mat") for one in back["tool_calls"]]
    answer = await complete(server, [ASKED, back, *results], tools=[tool()])
    assert answer.choices[0].message.content == "Here."


def _has_result(request: MessagesRequest) -> bool:
    return any(block["type"] == "tool_result" for block in request.messages[-1]["content"])


@EACH
async def test_each_streams_text_and_usage(server: MessagesServer, manner: Manner) -> None:
    server.manner = manner
    server.brain = lambda _: Reply("I look at it.")
    asked = {} if manner.name == "mistral" else {"stream_options": {"include_usage": True}}
    chunks = await stream(server, [ASKED], **asked)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "I look at it."
    (usage,) = {json.dumps(c.usage.model_dump(), sort_keys=True) for c in chunks if c.usage}
    assert json.loads(usage)["prompt_tokens"] == server.requests[0].usage.prompt_tokens
    if manner.reasoning:
        assert any(getattr(c.choices[0].delta, manner.reasoning, None) for c in chunks if c.choices)


OVERFLOWS = {
    "openai": "This model's maximum context length is 100 tokens. However, your messages resulted in 1823 tokens.",
    "azure": "This model's maximum context length is 100 tokens. However, your messages resulted in 1823 tokens.",
    "gemini": "The input token count (1823) exceeds the maximum number of tokens allowed (100).",
    "openrouter": "This endpoint's maximum context length is 100 tokens. However, you requested about 1873 tokens",
    "groq": "Please reduce the length of the messages or completion.",
    "deepseek": "However, you requested 1873 tokens (1823 in the messages, 50 in the completion).",
    "mistral": "Prompt contains 1823 tokens, too large for model with 100 maximum context length",
    "vllm": "However, you requested 50 output tokens and your prompt contains at least 1823 input tokens",
    "llamacpp": "request (1823 tokens) exceeds the available context size (100 tokens), try increasing it",
}


@pytest.mark.parametrize(("name", "why"), OVERFLOWS.items())
async def test_each_refuses_what_is_too_long_in_its_own_words(server: MessagesServer, name: str, why: str) -> None:
    server.manner, server.window = MANNERS[name], 100
    limit = {"max_tokens" if name in ("mistral", "deepseek") else "max_completion_tokens": 50}
    error = await asked_and_refused(server, [user("hello " * 1000)], **limit)
    assert why in error.response.text  # the client itself reads no error in a list, which is Gemini's form
    assert is_context_overflow(error.response.text, error.status_code)
    assert server.requests[0].outcome == "refused"


async def asked_and_refused(server: MessagesServer, messages: Any, **more: Any) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as caught:
        await complete(server, messages, **more)
    return caught.value


async def test_llamacpp_gives_the_numbers_apart(server: MessagesServer) -> None:
    server.manner, server.window = LLAMACPP, 100
    error: Any = (await asked_and_refused(server, [user("hello " * 1000)])).body
    assert (error["type"], error["n_prompt_tokens"], error["n_ctx"]) == ("exceed_context_size_error", 1823, 100)


async def test_ollama_cuts_what_is_too_long_and_says_nothing(server: MessagesServer) -> None:
    server.manner, server.window = OLLAMA, 60
    history = [user("the key is red."), {"role": "assistant", "content": "Noted. " * 30}, user("What is the key?")]
    answer = await complete(server, history)
    assert answer.choices[0].message.content == "I do not know the key."
    assert answer.usage.prompt_tokens < server.requests[0].request.tokens
    assert answer.usage.prompt_tokens <= 60


ERRORS = {
    ("openai", "rate"): (429, "6"),
    ("openai", "quota"): (429, None),
    ("azure", "rate"): (429, "58"),
    ("gemini", "rate"): (429, None),
    ("openrouter", "rate"): (429, "7"),
    ("openrouter", "quota"): (402, None),
    ("openrouter", "overloaded"): (502, None),
    ("groq", "rate"): (429, "5"),
    ("groq", "too_large"): (413, None),
    ("deepseek", "quota"): (402, None),
    ("mistral", "rate"): (429, None),
    ("ollama", "overloaded"): (503, None),
}


@pytest.mark.parametrize(("of", "expected"), ERRORS.items(), ids=[" ".join(of) for of in ERRORS])
async def test_each_fails_in_its_own_words(
    server: MessagesServer, of: tuple[str, str], expected: tuple[int, str | None]
) -> None:
    server.manner = MANNERS[of[0]]
    server.fail_as(of[1])
    error = await asked_and_refused(server, [ASKED])
    assert (error.status_code, error.response.headers.get("retry-after")) == expected
    assert server.manner.wording(of[1]).text[:20].partition("{")[0] in error.response.text
    assert (await complete(server, [ASKED])).choices


@EACH
async def test_each_refuses_a_wrong_key_a_wrong_path_and_an_unknown_model(
    server: MessagesServer, manner: Manner
) -> None:
    server.manner = manner
    async with client_of(server, "wrong-key") as client:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="m", messages=[ASKED])
    assert caught.value.status_code in (400, 401)
    headers = {manner.key_header: f"Bearer {server.key}" if manner.key_header == "authorization" else str(server.key)}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers=headers) as http:
        assert (await http.post("/v1/v1/chat/completions", json={})).status_code == 404
    server.known_models = frozenset({"another"})
    error = await asked_and_refused(server, [ASKED])
    assert error.status_code in (400, 404)
    assert [record.outcome for record in server.requests] == ["refused"] * 3


async def test_a_server_may_speak_the_other_wire_only(server: MessagesServer) -> None:
    server.speaks_chat = False
    assert (await asked_and_refused(server, [ASKED])).status_code == 404


async def test_openrouter_breaks_off_with_a_chunk(server: MessagesServer) -> None:
    server.manner = OPENROUTER
    server.break_stream_as(after=2)
    headers = {"authorization": "Bearer test-key"}
    body = {"model": "m", "messages": [ASKED], "stream": True}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers=headers) as http:
        text = (await http.post("/chat/completions", json=body)).text
    assert ": OPENROUTER PROCESSING" in text
    last = json.loads(text.strip().splitlines()[-1].removeprefix("data: "))
    assert last["error"]["code"] == 502
    assert last["choices"][0]["finish_reason"] == "error"
    server.break_stream_as(after=2)
    with pytest.raises(openai.APIError, match="Network connection lost"):
        await stream(server, [ASKED])


async def test_deepseek_wants_its_reasoning_back_with_calls(server: MessagesServer) -> None:
    server.manner = DEEPSEEK
    made = calls(call(), content="")
    assert "must be passed back to the API" in (await refused(server, [ASKED, made, result(), ASKED]))["message"]
    assert not await refused(server, [ASKED, made | {"reasoning_content": ""}, result(), ASKED])
    assert not await refused(server, [ASKED, {"role": "assistant", "content": "Yes."}, ASKED])


async def test_deepseek_knows_no_pictures(server: MessagesServer) -> None:
    server.manner = DEEPSEEK
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert "unknown variant `image_url`" in (await refused(server, [user([picture])]))["message"]


async def test_gemini_wants_a_signature_of_each_step_since_people_spoke(server: MessagesServer) -> None:
    server.manner = GEMINI

    def signed(signature: str) -> dict[str, Any]:
        return call() | {"extra_content": {"google": {"thought_signature": signature}}}

    assert "missing a thought_signature" in (await refused(server, [ASKED, calls(call()), result()]))["message"]
    assert not await refused(server, [ASKED, calls(call()), result(), {"role": "assistant", "content": "a"}, ASKED])
    assert not await refused(server, [ASKED, calls(signed("signed-1")), result()])
    assert not await refused(server, [ASKED, calls(signed(SKIP)), result()])
    assert "Corrupted" in (await refused(server, [ASKED, calls(signed("ErsB")), result()]))["message"]
    assert "must not be empty" in (await refused(server, [ASKED, {"role": "assistant", "content": ""}]))["message"]


MISTRAL_REFUSES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "an id of another provider": ([ASKED, calls(call("call_1")), result("call_1")], {}, "with a length of 9"),
    "people behind a tool": (
        [ASKED, calls(call("a" * 9)), result("a" * 9), ASKED],
        {},
        "Unexpected role 'user' after role 'tool'",
    ),
    "the system in the middle": (
        [ASKED, {"role": "assistant", "content": "a"}, {"role": "system", "content": "Be."}, ASKED],
        {},
        "Unexpected role 'system' after role 'assistant'",
    ),
    "the model last": ([ASKED, {"role": "assistant", "content": "a"}], {}, "Expected last role User or Tool"),
    "nothing said": (
        [ASKED, {"role": "assistant", "content": ""}, ASKED],
        {},
        "must have either content or tool_calls",
    ),
    "stream_options": ([ASKED], {"stream": True, "stream_options": {}}, "Extra inputs are not permitted"),
    "the new limit": ([ASKED], {"max_completion_tokens": 9}, "Extra inputs are not permitted"),
}


@pytest.mark.parametrize(("messages", "more", "why"), MISTRAL_REFUSES.values(), ids=MISTRAL_REFUSES)
async def test_mistral_has_rules_of_its_own(
    server: MessagesServer, messages: Any, more: dict[str, Any], why: str
) -> None:
    server.manner = MISTRAL
    assert why in (await refused(server, messages, **more))["message"]


async def test_templates_want_people_and_model_to_take_turns(server: MessagesServer) -> None:
    server.manner = VLLM
    assert "must alternate" in (await refused(server, [ASKED, ASKED]))["message"]
    assert "at the beginning" in (await refused(server, [ASKED, {"role": "system", "content": "Be."}]))["message"]
    assert not await refused(server, [ASKED, calls(call("a"), call("b")), result("a"), result("b"), ASKED])


async def test_a_local_server_may_have_no_tools(server: MessagesServer) -> None:
    server.manner, server.takes_tools = OLLAMA, False
    assert "does not support tools" in (await refused(server, [ASKED], tools=[tool()]))["message"]


async def page(server: MessagesServer, path: str, body: object = None) -> Any:
    async with httpx2.AsyncClient(base_url=server.url, headers={"authorization": "Bearer test-key"}) as http:
        answer = await (http.post(path, json=body) if body else http.get(path))
    return answer.json() if answer.status_code == 200 else answer.status_code


async def test_each_says_its_window_where_the_real_one_does(server: MessagesServer) -> None:
    server.window = 3_000
    assert (await page(server, "/v1/models"))["data"][0]["id"] == "gpt-5.2"
    server.manner = OPENROUTER
    assert (await page(server, "/api/v1/models"))["data"][0]["context_length"] == 3_000
    for name, path, field in (
        ("vllm", "/v1/models", "max_model_len"),
        ("groq", "/openai/v1/models", "context_window"),
        ("mistral", "/v1/models", "max_context_length"),
    ):
        server.manner = MANNERS[name]
        assert (await page(server, path))["data"][0][field] == 3_000
    server.manner = GEMINI
    assert (await page(server, "/v1beta/models/gemini-3-flash"))["inputTokenLimit"] == 3_000
    assert await page(server, "/props") == 404
    server.manner = LLAMACPP
    assert (await page(server, "/props"))["default_generation_settings"]["n_ctx"] == 3_000
    server.manner = OLLAMA
    assert (await page(server, "/api/ps"))["models"][0]["context_length"] == 3_000
    shown = await page(server, "/api/show", {"model": "qwen3:8b"})
    assert shown["model_info"]["qwen3.context_length"] > 3_000


async def test_one_model_is_found_on_both_wires(server: MessagesServer) -> None:
    server.known_models = frozenset({"gpt-5.2"})
    async with client_of(server) as client:
        assert (await client.models.retrieve("gpt-5.2")).id == "gpt-5.2"
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            await client.models.retrieve("gpt-9")


async def test_thoughts_come_on_the_first_wire_too(server: MessagesServer) -> None:
    server.brain = lambda _: Reply("Yes.", thinking="Hm.")
    headers = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"}
    body = {"model": "m", "max_tokens": 99, "messages": [ASKED]}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers) as http:
        whole = (await http.post("/v1/messages", json=body)).json()
        streamed = (await http.post("/v1/messages", json=body | {"stream": True})).text
    assert [block["type"] for block in whole["content"]] == ["thinking", "text"]
    assert '"thinking_delta", "thinking": "H"' in streamed
