"""A provider whose bytes, faults and silences are written down one by one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """Pieces of a body, each sent alone; ``ending`` is how it goes on after the last."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    ending: str = "end"  # or "cut", "hang"
    pause: float = 0.0


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Provider:
    """Serves the replies in order, the last one for ever; or what a function says."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.choose: Callable[[Seen], Reply] | None = None
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/base/v1"

    def find(self, seen: Seen) -> Reply:
        with self._lock:
            self.seen.append(seen)
            if self.choose is not None:
                return self.choose(seen)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def count(self, change: int) -> None:
        with self._lock:
            self._at_once += change
            self.most_at_once = max(self.most_at_once, self._at_once)

    def hang(self) -> None:
        self._done.wait(60)

    def close(self) -> None:
        self._done.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 200
    provider: Provider


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: object) -> None:
        return

    def do_POST(self) -> None:
        provider = self.server.provider
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = provider.find(Seen(self.command, self.path, headers, raw))
        provider.count(+1)
        try:
            self._send(reply)
        except ConnectionError:
            self.close_connection = True
        finally:
            provider.count(-1)

    do_GET = do_POST

    def _send(self, reply: Reply) -> None:
        provider = self.server.provider
        if reply.ending == "hang" and not reply.pieces:
            provider.hang()
        if reply.ending != "end":
            self.close_connection = True
        if reply.status == 0:
            return
        self.send_response(reply.status)
        self.send_header("content-type", reply.kind)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(reply.pause)
        if reply.ending == "hang":
            provider.hang()
        if reply.ending == "end":
            self.wfile.write(b"0\r\n\r\n")


def sse(*events: dict[str, Any] | str) -> tuple[bytes, ...]:
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return tuple(f"data: {text}\n\n".encode() for text in texts)


CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 7},
    "cost": 0.25,
}
RESPONSES_USAGE = {
    "input_tokens": 1000,
    "output_tokens": 50,
    "input_tokens_details": {"cached_tokens": 400},
    "output_tokens_details": {"reasoning_tokens": 7},
}
MESSAGES_USAGE = {
    "input_tokens": 600,
    "output_tokens": 50,
    "cache_read_input_tokens": 400,
    "cache_creation_input_tokens": 30,
}
_OUTPUT = [{"type": "message", "content": [{"type": "output_text", "text": "Grüße"}]}]
_PLAIN = {
    "chat/completions": {
        "choices": [{"message": {"content": "Grüße"}, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
    },
    "responses": {"output": _OUTPUT, "usage": RESPONSES_USAGE},
    "messages": {"content": [{"type": "text", "text": "Grüße"}], "usage": MESSAGES_USAGE},
}
CHAT_USAGE_EVENT = {"choices": [], "usage": CHAT_USAGE}
_STREAMS = {
    "chat/completions": sse(
        {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"delta": {"content": "Grüße"}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        CHAT_USAGE_EVENT,
        "[DONE]",
    ),
    "responses": sse(
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.output_text.delta", "delta": "Grüße"},
        {"type": "response.completed", "response": {"output": _OUTPUT, "usage": RESPONSES_USAGE}},
    ),
    "messages": sse(
        {"type": "message_start", "message": {"usage": {**MESSAGES_USAGE, "output_tokens": 1}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Grüße"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    ),
}
PATHS = tuple(_PLAIN)


def plain(path: str = "chat/completions", **changes: Any) -> Reply:
    """A whole answer, in two pieces that cut a character."""
    body = json.dumps(_PLAIN[path], ensure_ascii=False).encode()
    middle = body.index("ü".encode()) + 1
    return Reply(**{"pieces": (body[:middle], body[middle:]), **changes})


def stream(path: str = "chat/completions", **changes: Any) -> Reply:
    """An answer as events, whose pieces do not end where events do."""
    body = b": hello\n\n" + b"".join(_STREAMS[path])
    pieces = tuple(body[start : start + 37] for start in range(0, len(body), 37))
    return Reply(**{"pieces": pieces, "kind": "text/event-stream", **changes})


def refuse(status: int, message: str = "no", **changes: Any) -> Reply:
    body = json.dumps({"error": {"message": message}}).encode()
    return Reply(**{"pieces": (body,), "status": status, **changes})
