"""Calls of the Bot API without a client, which would not let some mistakes through."""

from typing import Any

import aiohttp

from tests.servers.telegram.server import BotApiServer


class RawCalls:
    """`await raw("sendMessage", chat_id=1, text="hi")` posts JSON and returns the whole answer."""

    def __init__(self, server: BotApiServer) -> None:
        self._server = server

    async def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        url = f"{self._server.url}/bot{self._server.token}/{method}"
        async with aiohttp.ClientSession() as session, session.post(url, json=params) as answer:
            body: dict[str, Any] = await answer.json()
            assert answer.status == body.get("error_code", 200)
            return body

    async def refusal(self, method: str, **params: Any) -> str:
        """Why the server refuses; empty where it does not."""
        return str((await self(method, **params)).get("description", ""))
