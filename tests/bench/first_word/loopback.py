"""The servers on loopback that every program is led to."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.first_word.programs import ANSWER, Given
from tests.servers.chat.manners import OPENROUTER
from tests.servers.messages.server import MessagesServer, Reply
from tests.servers.telegram.server import BotApiServer

LENIENT = replace(OPENROUTER, longest_description=None)
"""One of nanobot's tools has a description of 1,080 characters, which a server as strict as OpenAI refuses."""
_HOST = "api.telegram.org"
_PIECE = 65_536


@asynccontextmanager
async def given(folder: Path) -> AsyncIterator[Given]:
    """A model's server, Telegram's, and the way to it for a program that cannot be told another address."""
    async with MessagesServer(brain=lambda _: Reply(f"{ANSWER}.")) as model, BotApiServer() as telegram:
        model.manner = LENIENT
        model.max_tokens = 128_000
        context, trusted = await asyncio.to_thread(_certificate, folder)
        proxy = await asyncio.start_server(_Proxy(context, urlsplit(telegram.url).port or 0), "127.0.0.1", 0)
        async with proxy:
            port = proxy.sockets[0].getsockname()[1]
            yield Given(
                model.chat_url,
                "test-key",
                LENIENT.model,
                telegram.token,
                telegram,
                f"http://127.0.0.1:{port}",
                str(trusted),
            )


class _Proxy:
    """Answers CONNECT, shows a certificate of Telegram's name, and hands on what is said then."""

    def __init__(self, context: ssl.SSLContext, port: int) -> None:
        self._context = context
        self._port = port

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await writer.start_tls(self._context)
            there_reader, there = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(_hand_on(reader, there), _hand_on(there_reader, writer))


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()


def _certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={_HOST}"),
            *("-addext", f"subjectAltName=DNS:{_HOST}", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    trusted = folder / "trusted.pem"
    system = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    trusted.write_text("\n".join(Path(one).read_text() for one in (system, certificate) if one))
    return context, trusted
