"""Where the providers of Chat Completions say which models they have, and how much those take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.servers.chat.refusals import ChatRefused, body_of
from tests.servers.messages.wire import Refused

if TYPE_CHECKING:
    from tests.servers.chat.endpoint import ChatEndpoint

MADE_FOR = 262_144
"""What the model of a local server could take at most, whatever is loaded. Tokens."""


class ModelPages:
    """Each in its provider's form; where the provider has none, 404."""

    def __init__(self, server: ChatEndpoint) -> None:
        self._server = server

    def add_to(self, app: web.Application) -> None:
        """Route them."""
        app.router.add_get("/v1beta/models/{id}", self._gemini)
        app.router.add_get("/{base:.*}models", self._models)
        app.router.add_get("/{base:.+}models/{id:.+}", self.model)
        app.router.add_get("/props", self._props)
        app.router.add_post("/api/show", self._show)
        app.router.add_get("/api/ps", self._loaded)

    async def _models(self, http: web.Request) -> web.StreamResponse:
        """All of them: https://openrouter.ai/docs/api-reference/list-available-models and its kin."""
        try:
            self._server.find_base(http)
            if not self._server.lists_to_everybody:
                self._server.authenticate_chat(http)
        except Refused as refusal:
            return self._refuse(refusal)
        names = sorted(self._server.known_models or {self._server.manner.model, *self._server.listed})
        return web.json_response({"object": "list", "data": [self._entry(name) for name in names]})

    async def model(self, http: web.Request) -> web.StreamResponse:
        """One of them."""
        name, known = http.match_info["id"], self._server.known_models
        try:
            self._server.authenticate_chat(http)
            if known is not None and name not in known:
                raise self._server.manner.wording("model").refusal(model=name)
        except ChatRefused as refusal:
            return self._refuse(refusal)
        return web.json_response(self._entry(name))

    def _refuse(self, refusal: Refused) -> web.Response:
        return web.json_response(body_of(refusal, self._server.manner.form), status=refusal.status)

    def _entry(self, name: str) -> dict[str, Any]:
        server = self._server
        entry: dict[str, Any] = {"id": name, "object": "model", "created": 1_763_000_000, "owned_by": "tests"}
        match server.manner.windows:
            case "openrouter":
                top = {"context_length": server.window, "max_completion_tokens": server.max_tokens}
                return {**entry, "name": name, "context_length": server.window, "top_provider": top}
            case "vllm":
                return {**entry, "max_model_len": server.window, "root": name, "parent": None}
            case "mistral":
                return {**entry, "max_context_length": server.window, "capabilities": {"function_calling": True}}
            case "groq":
                limits = {"context_window": server.window, "max_completion_tokens": server.max_tokens}
                return {**entry, **limits, "active": True}
            case "llamacpp":
                return {**entry, "meta": {"n_ctx_train": MADE_FOR, "n_params": 1}}
            case _:
                return entry

    async def _gemini(self, http: web.Request) -> web.StreamResponse:
        """https://ai.google.dev/api/models"""
        if self._server.manner.windows != "gemini":
            return web.json_response({"error": "Not Found"}, status=404)
        name = http.match_info["id"]
        limits = {"inputTokenLimit": self._server.window, "outputTokenLimit": self._server.max_tokens}
        return web.json_response({"name": f"models/{name}", **limits})

    async def _props(self, _: web.Request) -> web.StreamResponse:
        """https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"""
        if self._server.manner.windows != "llamacpp":
            return web.json_response({"error": "Not Found"}, status=404)
        settings = {"n_ctx": self._server.window, "params": {}}
        return web.json_response({"default_generation_settings": settings, "total_slots": 1, "model_path": "m.gguf"})

    async def _show(self, http: web.Request) -> web.StreamResponse:
        """https://github.com/ollama/ollama/blob/main/docs/api.md#show-model-information"""
        if self._server.manner.windows != "ollama":
            return web.json_response({"error": "Not Found"}, status=404)
        asked = await http.json()
        name, known = asked.get("model") or asked.get("name"), self._server.known_models
        if known is not None and name not in known:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        return web.json_response(
            {
                "capabilities": ["completion", *(["tools"] if self._server.takes_tools else [])],
                "details": {"family": "qwen3"},
                "model_info": {"general.architecture": "qwen3", "qwen3.context_length": MADE_FOR},
                "parameters": "stop <|im_end|>",
            }
        )

    async def _loaded(self, _: web.Request) -> web.StreamResponse:
        """https://github.com/ollama/ollama/blob/main/docs/api.md#list-running-models"""
        if self._server.manner.windows != "ollama":
            return web.json_response({"error": "Not Found"}, status=404)
        name = self._server.manner.model
        return web.json_response(
            {"models": [{"name": name, "model": name, "context_length": self._server.window, "size_vram": 1}]}
        )
