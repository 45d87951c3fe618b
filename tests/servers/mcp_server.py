"""An MCP server that misbehaves on request, as a program: over its pipes, or with ``--http PORT`` on loopback.

It speaks the protocol by hand (2025-11-25), so that it can break it. Each start adds a line with its process id to
``--starts FILE``.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

Json = dict[str, Any]
MEGABYTE = 1_000_000
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_NUMBER = {"type": "object", "properties": {"number": {"type": "number"}}}
_STRANGE: list[Any] = [
    "no tool at all",
    {"description": "without a name", "inputSchema": {"type": "object"}},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "nonsense", "inputSchema": {"type": "object", "properties": {"x": {"type": "strng"}}}},
    {"name": "spaced", "inputSchema": {"type": "object", "properties": {"a b": {"type": "string"}}}},
    {"name": "huge", "inputSchema": {"type": "object", "description": "x" * 50_000}},
    {"name": "bare", "description": 7, "icons": "none", "outputSchema": {"type": "strng"}},
    {"name": "untyped", "inputSchema": {"properties": {"text": {"type": "string"}}, "anyOf": [{"required": ["text"]}]}},
    {"name": "名字 with.dots", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}},
]


class Server:
    """Answers requests; ``send`` says something unasked."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.send: Callable[[Json], None] = lambda _: None
        self.extra: list[str] = []
        self.out: BinaryIO = io.BytesIO()

    def answer(self, request: Json) -> Json | None:
        """The response to a request; None for a notification."""
        if "id" not in request:
            return None
        if self.options.dies_when_asked_for_the_new_protocol and request["method"] == "server/discover":
            os._exit(7)
        try:
            result = self._result(request["method"], request.get("params") or {})
        except KeyError as error:
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": f"no {error}"}}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    def _result(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "misbehaving", "version": "1"},
            }
        if method == "tools/list":
            return self._listing(params.get("cursor"))
        if method == "tools/call":
            called = getattr(self, f"call_{params['name']}", None)
            if called is None or (params["name"] not in self.extra and params["name"] == "late"):
                raise KeyError(params["name"])
            result: Json = called(params.get("arguments") or {})
            return result
        raise KeyError(method)

    def _listing(self, cursor: str | None) -> Json:
        if self.options.strange:
            return {"tools": [*_STRANGE, {"name": "echo", "inputSchema": _TEXT}]}
        if self.options.many:
            first = int(cursor or 0)
            tools = [{"name": f"tool{number:04}", "inputSchema": _TEXT} for number in range(first, first + 50)]
            return {"tools": tools, "nextCursor": str(first + 50)}
        names = [name.removeprefix("call_") for name in dir(self) if name.startswith("call_")]
        offered = [name for name in names if name != "late" and name not in self.options.without] + self.extra
        hints = {"readOnlyHint": True}
        return {
            "tools": [
                {"name": name, "description": f"does {name}", "inputSchema": _TEXT, "annotations": hints}
                for name in offered
            ]
        }

    def call_echo(self, arguments: Json) -> Json:
        return _says(arguments.get("text", ""))

    def call_structured(self, _: Json) -> Json:
        return {"content": [], "structuredContent": {"sum": 5, "名": "值"}}

    def call_picture(self, _: Json) -> Json:
        from PIL import Image

        file = io.BytesIO()
        Image.new("RGB", (40, 30), "teal").save(file, "PNG")
        data = base64.b64encode(file.getvalue()).decode()
        broken = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"no picture").decode()}
        picture = {"type": "image", "mimeType": "image/png", "data": data}
        return {"content": [{"type": "text", "text": "Look:"}, picture, broken]}

    def call_links(self, _: Json) -> Json:
        text = {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "the notes"}
        blob = {"uri": "file:///a.bin", "mimeType": "application/x", "blob": "AAAA"}
        return {
            "content": [
                {"type": "resource_link", "uri": "https://example.org/a", "name": "a", "description": "a page"},
                {"type": "resource", "resource": text},
                {"type": "resource", "resource": blob},
                {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            ]
        }

    def call_fail(self, _: Json) -> Json:
        return {**_says("the lamp is broken"), "isError": True}

    def call_nothing(self, _: Json) -> Json:
        return {"content": []}

    def call_garbage(self, _: Json) -> Json:
        return {"content": "this is no list"}

    def call_crash(self, _: Json) -> Json:
        os._exit(3)

    def call_hang(self, _: Json) -> Json:
        while True:
            time.sleep(60)

    def call_hang_once(self, arguments: Json) -> Json:
        """Of all servers with the same ``--starts`` only the first hangs, and writes down that it does."""
        hung = Path(f"{self.options.starts}.hung")
        if hung.exists():
            return self.call_echo(arguments)
        hung.touch()
        return self.call_hang(arguments)

    def call_flood(self, _: Json) -> Json:
        return _says("x" * (30 * MEGABYTE))

    def call_large(self, _: Json) -> Json:
        return _says("the beginning " + "x" * MEGABYTE)

    def call_endless_line(self, _: Json) -> Json:
        while True:
            self.out.write(b"x" * MEGABYTE)

    def call_chatter(self, _: Json) -> Json:
        while True:
            self.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "!"}})

    def call_shout(self, _: Json) -> Json:
        sys.stderr.write("here I go with " + os.environ.get("SERVICE_KEY", "") + "\n")
        for number in range(500):
            sys.stderr.write(f"line {number} " + "y" * 2_000 + "\n")
        sys.stderr.flush()
        return _says("shouted")

    def call_environment(self, _: Json) -> Json:
        return _says(json.dumps(dict(os.environ)))

    def call_change(self, _: Json) -> Json:
        self.extra, self.options.without = ["late"], ["echo", "links"]
        self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return _says("changed")

    def call_late(self, _: Json) -> Json:
        return _says("I am new")

    def call_asks_back(self, _: Json) -> Json:
        self.send({"jsonrpc": "2.0", "id": "back-1", "method": "sampling/createMessage", "params": {"messages": []}})
        self.send({"jsonrpc": "2.0", "id": "back-2", "method": "roots/list"})
        return _says("asked")


def _says(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def serve_pipes(server: Server) -> None:
    """A line is a message; ends with its input."""
    server.out = sys.stdout.buffer

    def send(message: Json) -> None:
        server.out.write(json.dumps(message).encode() + b"\n")
        server.out.flush()

    server.send = send
    server.out.write(b"Welcome to a server that greets on its standard output.\n")
    for line in sys.stdin.buffer:
        if answer := server.answer(json.loads(line)):
            send(answer)


def serve_http(server: Server, port: int) -> None:
    """A request is a POST, its answer the body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if server.options.wants_key and self.headers["Authorization"] != f"Bearer {server.options.wants_key}":
                self.send_error(401)
                return
            answer = server.answer(request)
            body = json.dumps(answer).encode() if answer else b""
            self.send_response(200 if answer else 202)
            if request.get("method") == "initialize":
                self.send_header("Mcp-Session-Id", "one")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def main() -> None:
    """Serve until the input ends, or for ever over HTTP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int)
    parser.add_argument("--starts", type=Path)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--wants-key", default="")
    for flag in ("strange", "many", "stubborn", "with-child", "dies-when-asked-for-the-new-protocol", "silent"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args()
    pids = [os.getpid()]
    if options.with_child:
        pids.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(600,)).start()
    if options.starts:
        with options.starts.open("a") as file:
            file.write("".join(f"{pid}\n" for pid in pids))
    time.sleep(options.slow or (600 if options.silent else 0))
    server = Server(options)
    if options.http:
        serve_http(server, options.http)
    else:
        serve_pipes(server)


if __name__ == "__main__":
    main()
