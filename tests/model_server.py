"""A model on loopback that answers as a brain decides: OpenAI's two APIs, and Anthropic's.

::

    with ModelServer(solver({"Two numbers": {"outputs/sum.json": "6"}})) as server:
        ...  # an agent at server.base_url
    assert server.tokens.prompt == 2000

A brain sees one request and knows nothing else, so that any number of agents can share a server.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any
from typing import Self
from urllib.parse import urlsplit

from pytest_evoclaw.results import Usage
from tests.model_apis import WIRES
from tests.model_apis import Wire
from tests.model_apis import read_request
from tests.model_apis import write_events
from tests.model_apis import write_plain
from tests.model_brains import Solver
from tests.model_brains import always
from tests.model_brains import break_arguments
from tests.model_brains import call_unknown_tool
from tests.model_brains import faulty
from tests.model_brains import offers_skill
from tests.model_brains import play
from tests.model_brains import read_file
from tests.model_brains import run_shell
from tests.model_brains import sequence
from tests.model_brains import solver
from tests.model_brains import wants_skill
from tests.model_brains import write_file
from tests.model_brains import write_skill
from tests.model_faults import write_fault
from tests.model_talk import CUT
from tests.model_talk import EMPTY
from tests.model_talk import HANG
from tests.model_talk import TOO_LONG
from tests.model_talk import Brain
from tests.model_talk import Call
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.model_talk import Tokens
from tests.model_talk import call
from tests.model_talk import cut
from tests.model_talk import fail
from tests.model_talk import hang
from tests.model_talk import number_calls
from tests.model_talk import say

__all__ = [
    "CUT",
    "EMPTY",
    "HANG",
    "TOO_LONG",
    "Brain",
    "Call",
    "ModelRequest",
    "ModelServer",
    "Reply",
    "Solver",
    "Tokens",
    "always",
    "break_arguments",
    "call",
    "call_unknown_tool",
    "cut",
    "fail",
    "faulty",
    "hang",
    "offers_skill",
    "play",
    "read_file",
    "run_shell",
    "say",
    "sequence",
    "solver",
    "wants_skill",
    "write_file",
    "write_skill",
]


class ModelServer:
    """The server; ``requests`` and ``replies`` hold all that was asked and answered, in order.

    ``usage_if_asked`` ends a stream of chat completions with the usage only where the request
    wants it, as OpenAI's server does.
    """

    def __init__(
        self, brain: Brain, *, model: str = "scripted-1", usage_if_asked: bool = False
    ) -> None:
        self.brain = brain
        self.model = model
        self.usage_if_asked = usage_if_asked
        self.requests: list[ModelRequest] = []
        self.replies: list[Reply] = []
        self.failures: list[BaseException] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        if error is None and self.failures:
            raise self.failures[0]

    @property
    def root_url(self) -> str:
        """The URL without ``/v1``, as clients of Anthropic's API want it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The URL with ``/v1``, as clients of OpenAI's APIs want it."""
        return f"{self.root_url}/v1"

    @property
    def tokens(self) -> Tokens:
        """The usage of all answers that were sent to their end."""
        with self._lock:
            sent = [reply.tokens for reply in self.replies if reply.status == 200 and not reply.cut]
        return sum((each for each in sent if each), Tokens(prompt=0, cached=0, completion=0))

    @property
    def sent_usage(self) -> Usage:
        """The same in the words of results: input excludes what was cached."""
        with self._lock:
            count = sum(reply.status == 200 and not reply.cut for reply in self.replies)
        tokens = self.tokens
        return Usage(
            input_tokens=tokens.prompt - tokens.cached,
            output_tokens=tokens.completion,
            cache_read_tokens=tokens.cached,
            reasoning_tokens=tokens.reasoning,
            request_count=count,
            source="provider",
        )

    def decide(self, request: ModelRequest) -> tuple[Reply, int]:
        """Ask the brain; return the answer and the request's number."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        reply = self.brain(request)
        if self.usage_if_asked and not request.wants_usage:
            reply = replace(reply, tokens=None)
        self._closing.wait(reply.seconds)
        return number_calls(reply, number), number

    def record(self, reply: Reply) -> None:
        """Keep an answer that is about to be sent."""
        with self._lock:
            self.replies.append(reply)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep the fault of a brain for the end of the test, which it must not pass unseen."""
        error = sys.exception()
        # An agent that was ended takes its open connections with it.
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.failures.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self._begin(200, "application/json", {"Content-Length": "0"})

    def do_GET(self) -> None:
        model = {"id": self.server.owner.model, "object": "model", "created": 0, "owned_by": "us"}
        known = urlsplit(self.path).path == "/v1/models"
        self._send(200 if known else 404, json.dumps({"object": "list", "data": [model]}).encode())

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        try:
            raw = self._read_body()
            if path == "/v1/messages/count_tokens":
                self._send(200, json.dumps({"input_tokens": Tokens().prompt}).encode())
            elif wire := WIRES.get(path):
                self._answer(wire, raw)
            else:
                self._send(404, json.dumps({"error": {"message": f"no {path}"}}).encode())
        except ConnectionError:  # the agent was ended in the middle
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self, wire: Wire, raw: bytes) -> None:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = read_request(wire, json.loads(raw), headers)
        request = replace(request, path=self.path, raw=raw)
        reply, number = owner.decide(request)
        owner.record(reply)
        if reply.status != 200:
            wait = {} if reply.retry_after is None else {"Retry-After": str(reply.retry_after)}
            self._send(reply.status, write_fault(wire.api, reply), wait)
            return
        answer = wire.write(reply, f"answer_{number}", request.model)
        if request.stream:
            self._send_events(list(write_events(wire, answer)), cut=reply.cut)
        else:
            self._send_plain(write_plain(wire, answer), cut=reply.cut)

    def _send_plain(self, data: bytes, *, cut: bool) -> None:
        if not cut:
            self._send(200, data)
            return
        self.close_connection = True
        self._begin(200, "application/json", {"Content-Length": str(len(data))})
        self.wfile.write(data[: len(data) // 2])

    def _send_events(self, events: Sequence[bytes], *, cut: bool) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for event in events[: len(events) // 2] if cut else events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        length = {"Content-Length": str(len(data))}
        self._begin(status, "application/json", {**length, **(headers or {})})
        self.wfile.write(data)

    def _begin(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b"".join(iter(self._read_chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

    def _read_chunk(self) -> bytes:
        size = int(self.rfile.readline().strip() or b"0", 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data
