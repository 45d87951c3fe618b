"""How providers of Chat Completions differ: what they refuse, how they word it, how they stream. ``PAGES`` names where
the facts are from."""

from __future__ import annotations

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.servers.chat.refusals import FROM_MEMORY, Form, Wording
from tests.servers.chat.shapes import SHAPES, Shape

PAGES: Mapping[str, str] = {
    "openai": "https://github.com/openai/openai-openapi, https://platform.openai.com/docs/guides/error-codes",
    "azure": "https://learn.microsoft.com/azure/ai-services/openai/reference",
    "gemini": "https://ai.google.dev/gemini-api/docs/openai, https://ai.google.dev/gemini-api/docs/thought-signatures",
    "openrouter": "https://openrouter.ai/docs/api/reference/streaming, https://openrouter.ai/docs/api/errors",
    "groq": "https://console.groq.com/docs/errors, https://console.groq.com/docs/rate-limits",
    "deepseek": "https://api-docs.deepseek.com/guides/thinking_mode, https://api-docs.deepseek.com/quick_start/error_codes",
    "mistral": "https://docs.mistral.ai/api, https://github.com/mistralai/mistral-common (its validator)",
    "vllm": "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    "llamacpp": "https://github.com/ggml-org/llama.cpp (tools/server/README.md)",
    "ollama": "https://github.com/ollama/ollama (docs/api/openai-compatibility, openai/openai.go)",
}

OPENAI_FIELDS = frozenset(
    {
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
        "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls",
        "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
        "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
        "web_search_options",
    }
)  # fmt: skip
"""CreateChatCompletionRequest of the published specification."""
MISTRAL_FIELDS = frozenset(
    {
        "frequency_penalty", "max_tokens", "messages", "metadata", "model", "n", "parallel_tool_calls", "prediction",
        "presence_penalty", "prompt_mode", "random_seed", "reasoning_effort", "response_format", "safe_prompt", "stop",
        "stream", "temperature", "tool_choice", "tools", "top_p",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Manner:
    """One provider's ways. Unless said otherwise they are OpenAI's.

    - ``base``: what its base URL ends with
    - ``fields``: the fields of a request that it knows; it refuses others where ``refuses_unknown``
    - ``answer``: the field for the longest answer that it refuses, if it refuses one
    - ``message_fields``: of an assistant's message that it takes besides those of the specification
    - ``call_id``: what calls' ids must match
    - ``order``: of roles. ``tool_then_assistant`` is Mistral's: no user behind a tool; ``alternate`` is that of many
      templates: users and assistants take turns, and a system message is the first one
    - ``empty``: whether texts may be empty; ``never_null``: whether ``content`` must be there beside calls
    - ``thoughts``: what an assistant's message with calls must have: nothing, its reasoning in all of the history, or a
      signature on the first call of each step since people last spoke; or it must not have its reasoning
    - ``reasoning``: the field in which it streams what it reasons
    - ``counts_answer``: the longest answer must fit into the window too
    - ``cuts``: a prompt that is too long loses its beginning, and nothing says so
    - ``cached_from``, ``cached_by``: what is read from the cache is so many tokens long, and a multiple of those
    - ``windows``: where a model's window can be asked
    """

    name: str = "openai"
    title: str = "OpenAI"
    base: str = "/v1"
    model: str = "gpt-5.2"
    form: Form = "openai"
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    fields: frozenset[str] = OPENAI_FIELDS
    refuses_unknown: bool = True
    answer: Literal["", "max_tokens", "max_completion_tokens"] = "max_tokens"
    message_fields: frozenset[str] = frozenset()
    call_id: str = ".{1,40}"
    names_unique: bool = False
    order: Literal["any", "tool_then_assistant", "alternate"] = "any"
    last_assistant: bool = True
    empty: bool = True
    never_null: bool = False
    thoughts: Literal["", "reasoning", "signature", "never"] = ""
    reasoning: str = ""
    counts_answer: bool = False
    cuts: bool = False
    images: bool = True
    documents: bool = True
    longest_description: int | None = 1024
    tool_choice_none: bool = True
    cached_from: int = 1024
    cached_by: int = 128
    windows: Literal["", "gemini", "groq", "llamacpp", "mistral", "ollama", "openrouter", "vllm"] = ""
    shape: Shape = SHAPES["openai"]
    chunk: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    key_header: str = "authorization"

    def wording(self, kind: str) -> Wording:
        """How it words this; as OpenAI does where nothing else is known."""
        return self.wordings.get(kind) or OPENAI_WORDINGS[kind]

    def new_id(self, number: int) -> str:
        """An id of a call."""
        match self.name:
            case "mistral":
                letters = string.ascii_letters + string.digits
                return "".join(secrets.choice(letters) for _ in range(9))
            case "gemini":
                return f"function-call-{secrets.randbelow(10**19)}"
            case "deepseek":
                return f"call_{number:02d}_{secrets.token_urlsafe(15)}"
            case "vllm":
                return f"chatcmpl-tool-{secrets.token_hex(8)}"
            case "llamacpp":
                return secrets.token_urlsafe(24)
            case _:
                return f"call_{secrets.token_urlsafe(18)}"


_MINUTE = "Rate limit reached for {model} in organization org-x on tokens per min (TPM): Limit 30000, Used 28000,"
OPENAI_WORDINGS: Mapping[str, Wording] = {
    "overflow": Wording(
        "This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens."
        " Please reduce the length of the messages.",
        "https://github.com/chathub-dev/chathub/issues/126",
        code="context_length_exceeded",
        param="messages",
    ),
    "rate": Wording(
        _MINUTE + " Requested 5000. Please try again in 6s.",
        FROM_MEMORY,
        status=429,
        type="tokens",
        code="rate_limit_exceeded",
        headers={"retry-after": "6", "retry-after-ms": "6000"},
    ),
    "quota": Wording(
        "You exceeded your current quota, please check your plan and billing details. For more information on this"
        " error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "https://platform.openai.com/docs/guides/error-codes",
        status=429,
        type="insufficient_quota",
        code="insufficient_quota",
    ),
    "no_key": Wording(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth"
        " (i.e. Authorization: Bearer YOUR_KEY).",
        FROM_MEMORY,
        status=401,
    ),
    "key": Wording(
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
        FROM_MEMORY,
        status=401,
        code="invalid_api_key",
    ),
    "model": Wording(
        "The model `{model}` does not exist or you do not have access to it.",
        FROM_MEMORY,
        status=404,
        code="model_not_found",
    ),
    "path": Wording("Invalid URL (POST {path})", FROM_MEMORY, status=404),
    "overloaded": Wording(
        "The server had an error while processing your request. Sorry about that!",
        "https://platform.openai.com/docs/guides/error-codes",
        status=503,
        type="server_error",
    ),
    "stream": Wording(
        "The server had an error while processing your request. Sorry about that!",
        "https://github.com/coder/coder aibridge/fixtures/openai/chatcompletions/stream_error.txtar",
        status=500,
        type="server_error",
    ),
}

OPENAI = Manner(wordings=OPENAI_WORDINGS)
GATEWAY = replace(OPENAI, windows="vllm")
"""As strict as OpenAI, and it says what a model takes: many gateways do."""
AZURE = Manner(
    name="azure",
    title="Azure OpenAI",
    base="/openai/v1",
    key_header="api-key",
    shape=Shape(first="filter"),
    wordings={
        "rate": Wording(
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have"
            " exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 58 seconds.",
            "https://github.com/alex-wolf-ps/dbchatprov2/issues/2",
            status=429,
            code="429",
            headers={"retry-after": "58"},
        ),
        "key": Wording(
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for"
            " an active subscription and use a correct regional API endpoint for your resource.",
            FROM_MEMORY,
            status=401,
            code="401",
        ),
        "model": Wording(
            "The API deployment for this resource does not exist. If you created the deployment within the last 5"
            " minutes, please wait a moment and try again.",
            FROM_MEMORY,
            status=404,
            code="DeploymentNotFound",
        ),
        "path": Wording("Resource not found", FROM_MEMORY, status=404, code="404"),
    },
)
GEMINI = Manner(
    name="gemini",
    title="Gemini",
    base="/v1beta/openai",
    model="gemini-3-flash",
    form="gemini",
    fields=OPENAI_FIELDS | {"extra_body"},
    answer="",
    message_fields=frozenset({"extra_content"}),
    call_id=".*",
    names_unique=True,
    empty=False,
    thoughts="signature",
    documents=False,
    longest_description=None,
    cached_from=10**9,
    windows="gemini",
    shape=Shape(first="none", arguments="whole", index="zero", usage="every", finish="with_last"),
    wordings={
        "overflow": Wording(
            "The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window}).",
            "https://github.com/google-gemini/gemini-cli/issues/11916",
        ),
        "rate": Wording(
            "* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_"
            "count, limit: 250000, model: {model}\nPlease retry in 38.962214405s.",
            "https://github.com/continuedev/continue/issues/11693",
            status=429,
            extra={"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"}]},
        ),
        "quota": Wording(
            "You exceeded your current quota, please check your plan and billing details.",
            "https://github.com/glidea/one-balance/issues/22",
            status=429,
        ),
        "no_key": Wording("Missing or invalid Authorization header.", FROM_MEMORY, status=401),
        "key": Wording("API key not valid. Please pass a valid API key.", FROM_MEMORY),
        "model": Wording(
            "models/{model} is not found for API version v1main, or is not supported for generateContent. Call"
            " ListModels to see the list of available models and their supported methods.",
            FROM_MEMORY,
            status=404,
        ),
        "overloaded": Wording("The model is overloaded. Please try again later.", FROM_MEMORY, status=503),
    },
)
OPENROUTER = Manner(
    name="openrouter",
    title="OpenRouter",
    base="/api/v1",
    model="openai/gpt-5.2",
    form="openrouter",
    refuses_unknown=False,
    answer="",
    message_fields=frozenset({"reasoning", "reasoning_details"}),
    reasoning="reasoning_details",
    counts_answer=True,
    windows="openrouter",
    chunk={"provider": "OpenAI"},
    shape=Shape(comment=": OPENROUTER PROCESSING", first="empty", usage="last"),
    wordings={
        "overflow": Wording(
            "This endpoint's maximum context length is {window} tokens. However, you requested about {total} tokens"
            " ({prompt} of text input, {answer} in the output). Please reduce the length of either one, or use the"
            ' "middle-out" transform to compress your prompt automatically.',
            "https://github.com/refly-ai/refly/issues/1177",
        ),
        "rate": Wording(
            "Rate limit exceeded: free-models-per-min. ",
            "https://openrouter.ai/docs/api/errors",
            status=429,
            headers={"retry-after": "7"},
            extra={"metadata": {"headers": {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0"}}},
        ),
        "quota": Wording(
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only"
            " afford 20000.",
            "https://github.com/can1357/oh-my-pi/issues/9569",
            status=402,
        ),
        "no_key": Wording("No auth credentials found", FROM_MEMORY, status=401),
        "key": Wording("User not found.", FROM_MEMORY, status=401),
        "model": Wording("{model} is not a valid model ID", FROM_MEMORY),
        "overloaded": Wording("Provider returned error", "https://openrouter.ai/docs/api/errors", status=502),
        "stream": Wording(
            "Network connection lost.",
            "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/440",
            status=502,
            extra={"metadata": {"error_type": "provider_unavailable"}},
        ),
    },
)
GROQ = Manner(
    name="groq",
    title="Groq",
    base="/openai/v1",
    model="openai/gpt-oss-120b",
    fields=OPENAI_FIELDS | {"include_reasoning", "reasoning_format", "citation_options", "search_settings"},
    answer="",
    message_fields=frozenset({"reasoning"}),
    reasoning="reasoning",
    documents=False,
    longest_description=None,
    windows="groq",
    shape=Shape(usage="finish"),
    wordings={
        "overflow": Wording(
            "Please reduce the length of the messages or completion.",
            "https://github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
            code="context_length_exceeded",
            param="messages",
        ),
        "too_large": Wording(
            "Request too large for model `{model}` in organization `org_x` service tier `on_demand` on tokens per"
            " minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
            "https://github.com/continuedev/continue/issues/10218",
            status=413,
            type="tokens",
            code="rate_limit_exceeded",
        ),
        "rate": Wording(
            "Rate limit reached for model `{model}` in organization `org_x` service tier `on_demand` on tokens per"
            " minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more tokens?"
            " Upgrade to Dev Tier today",
            "https://github.com/elizaOS/eliza/issues/4040",
            status=429,
            type="tokens",
            code="rate_limit_exceeded",
            headers={"retry-after": "5"},
        ),
        "key": Wording("Invalid API Key", FROM_MEMORY, status=401, code="invalid_api_key"),
        "no_key": Wording("Invalid API Key", FROM_MEMORY, status=401, code="invalid_api_key"),
        "path": Wording(
            "Unknown request URL: POST {path}. Please check the URL for typos, or see the docs at"
            " https://console.groq.com/docs/",
            FROM_MEMORY,
            status=404,
            code="unknown_url",
        ),
    },
)
DEEPSEEK = Manner(
    name="deepseek",
    title="DeepSeek",
    base="",
    model="deepseek-v4-flash",
    fields=OPENAI_FIELDS | {"thinking"},
    refuses_unknown=False,
    answer="",
    message_fields=frozenset({"reasoning_content", "prefix"}),
    names_unique=True,
    thoughts="reasoning",
    reasoning="reasoning_content",
    counts_answer=True,
    images=False,
    documents=False,
    longest_description=None,
    cached_from=64,
    cached_by=64,
    shape=Shape(usage="finish", nulls=True),
    wordings={
        "overflow": Wording(
            "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} in"
            " the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
            "https://github.com/NoFxAiOS/nofx/issues/1278",
            code="invalid_request_error",
        ),
        "rate": Wording(
            "Rate limit reached", "https://api-docs.deepseek.com/quick_start/error_codes", status=429, type="rate_limit"
        ),
        "quota": Wording(
            "Insufficient Balance",
            "https://api-docs.deepseek.com/quick_start/error_codes",
            status=402,
            type="unknown_error",
            code="invalid_request_error",
        ),
        "key": Wording(
            "Authentication Fails, Your api key: ****{key} is invalid",
            FROM_MEMORY,
            status=401,
            type="authentication_error",
            code="invalid_request_error",
        ),
        "model": Wording("Model Not Exist", FROM_MEMORY, code="invalid_request_error"),
    },
)
MISTRAL = Manner(
    name="mistral",
    title="Mistral",
    model="mistral-large-latest",
    form="mistral",
    fields=MISTRAL_FIELDS,
    answer="max_completion_tokens",
    call_id="[a-zA-Z0-9]{9}",
    order="tool_then_assistant",
    last_assistant=False,
    empty=False,
    documents=False,
    longest_description=None,
    cached_from=10**9,
    windows="mistral",
    shape=Shape(arguments="together", usage="finish", finish="with_last"),
    wordings={
        "overflow": Wording(
            "Prompt contains {prompt} tokens, too large for model with {window} maximum context length",
            "https://portkey.ai/error-library/context-length-exceeded-error-13710000",
            code="3051",
        ),
        "rate": Wording(
            "Service tier capacity exceeded for this model.",
            "https://github.com/BerriAI/litellm litellm/litellm_core_utils/exception_mapping_utils.py",
            status=429,
            type="service_tier_capacity_exceeded",
            code="3505",
        ),
        "key": Wording("Unauthorized", FROM_MEMORY, status=401, form="detail"),
        "no_key": Wording("Unauthorized", FROM_MEMORY, status=401, form="detail"),
        "model": Wording("Invalid model: {model}", FROM_MEMORY, type="invalid_model", code="1500"),
    },
)
VLLM = Manner(
    name="vllm",
    title="vLLM",
    model="Qwen/Qwen3-8B",
    form="vllm",
    refuses_unknown=False,
    answer="",
    message_fields=frozenset({"reasoning_content", "reasoning"}),
    call_id=".*",
    order="alternate",
    reasoning="reasoning_content",
    counts_answer=True,
    documents=False,
    longest_description=None,
    cached_from=16,
    cached_by=16,
    windows="vllm",
    shape=Shape(heads="once", nulls=False),
    wordings={
        "overflow": Wording(
            "This model's maximum context length is {window} tokens. However, you requested {answer} output tokens and"
            " your prompt contains at least {prompt} input tokens, for a total of at least {total} tokens. Please"
            " reduce the length of the input prompt or the number of requested output tokens."
            " (parameter=input_tokens, value={prompt})",
            "https://github.com/AIDotNet/OpenCowork/issues/82",
            param="input_tokens",
        ),
        "answer": Wording(
            "'max_tokens' or 'max_completion_tokens' is too large: {answer}. This model's maximum context length is"
            " {window} tokens and your request has {prompt} input tokens ({answer} > {window} - {prompt}). None",
            "https://github.com/claude-code-best/claude-code/issues/272",
        ),
        "key": Wording("Unauthorized", FROM_MEMORY, status=401, form="plain"),
        "no_key": Wording("Unauthorized", FROM_MEMORY, status=401, form="plain"),
        "model": Wording("The model `{model}` does not exist.", FROM_MEMORY, status=404),
        "path": Wording("Not Found", FROM_MEMORY, status=404, form="detail"),
        "no_tools": Wording(
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "https://github.com/llmariner/llmariner/issues/619",
        ),
    },
)
LLAMACPP = Manner(
    name="llamacpp",
    title="llama.cpp",
    model="local",
    form="llamacpp",
    refuses_unknown=False,
    answer="",
    message_fields=frozenset({"reasoning_content"}),
    call_id=".*",
    order="alternate",
    reasoning="reasoning_content",
    documents=False,
    longest_description=None,
    cached_from=1,
    cached_by=1,
    windows="llamacpp",
    shape=Shape(usage="last"),
    wordings={
        "overflow": Wording(
            "request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it",
            "https://github.com/ItzCrazyKns/Vane/issues/1011",
            type="exceed_context_size_error",
            extra={"n_prompt_tokens": "{prompt}", "n_ctx": "{window}"},
        ),
        "key": Wording("Invalid API Key", FROM_MEMORY, status=401, type="authentication_error"),
        "no_key": Wording("Invalid API Key", FROM_MEMORY, status=401, type="authentication_error"),
        "overloaded": Wording("Loading model", FROM_MEMORY, status=503, type="unavailable_error"),
        "path": Wording("File Not Found", FROM_MEMORY, status=404, type="not_found_error"),
    },
)
OLLAMA = Manner(
    name="ollama",
    title="Ollama",
    model="qwen3:8b",
    refuses_unknown=False,
    answer="",
    message_fields=frozenset({"reasoning"}),
    call_id=".*",
    reasoning="reasoning",
    cuts=True,
    documents=False,
    longest_description=None,
    cached_from=10**9,
    windows="ollama",
    shape=Shape(arguments="together"),
    wordings={
        "overflow": Wording(
            "prompt too long; exceeded max context length by {room} tokens",
            "https://github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
        ),
        "model": Wording("model '{model}' not found", FROM_MEMORY, status=404, type="not_found_error"),
        "overloaded": Wording(
            "server busy, please try again. maximum pending requests exceeded",
            FROM_MEMORY,
            status=503,
            type="api_error",
        ),
        "no_tools": Wording(
            "stablelm2:latest does not support tools", "https://github.com/ollama/ollama/issues/6027", type="api_error"
        ),
    },
)

MANNERS: Mapping[str, Manner] = {
    manner.name: manner
    for manner in (OPENAI, AZURE, GEMINI, OPENROUTER, GROQ, DEEPSEEK, MISTRAL, VLLM, LLAMACPP, OLLAMA)
}
