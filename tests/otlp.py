"""A receiver of traces on loopback: OTLP over HTTP, as protobuf."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Receiver:
    """What came, and where it listens. ``status``: what it answers."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        """The path and the headers of each request."""
        self.status = 200
        self.url = ""

    def named(self, prefix: str) -> list[Any]:
        """The spans whose names begin so."""
        return [span for span in self.spans if span.name.startswith(prefix)]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """One request."""
        self.asked.append((path, headers))
        if self.status == 200:
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self.spans.extend(scope.spans)


def attributes(span: Any) -> dict[str, Any]:
    """By name; of a list its values."""
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@contextmanager
def receiving() -> Iterator[Receiver]:
    """One that listens until the end of the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(receiver.status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
