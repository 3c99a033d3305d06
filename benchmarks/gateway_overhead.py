"""What the gateway adds to a request: through it against going direct, to the same server.

Run it from the project's folder: ``python -m benchmarks.gateway_overhead``. The two series
alternate over kept connections, so that a busy machine hits both. The server answers at once: what
is added to a real model, which needs seconds, is the difference and not the ratio.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.gateway import GatewaySettings
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.gateway.service import Gateway

ROUNDS = 200
EVENTS = 100
LIMIT_SECONDS = 0.01
PROMPT = "x" * 20_000  # about what agents send
USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}
CHUNK = json.dumps({"choices": [{"delta": {"content": "word "}}]})
LAST = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": USAGE})


def build_answer(*, stream: bool) -> bytes:
    """Return a whole HTTP answer."""
    if stream:
        body = b"".join(f"data: {each}\n\n".encode() for each in [CHUNK] * EVENTS + [LAST])
        kind = b"text/event-stream"
    else:
        message = {"content": "word " * EVENTS}
        choices = [{"message": message, "finish_reason": "stop"}]
        body = json.dumps({"choices": choices, "usage": USAGE}).encode()
        kind = b"application/json"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


def serve(server: socket.socket) -> None:
    """Answer on each connection, with as little work as can be."""
    answers = {stream: build_answer(stream=stream) for stream in (True, False)}

    def talk(connection: socket.socket) -> None:
        data = b""
        while more := connection.recv(1 << 16):
            data += more
            head, found, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
            if found and len(body) >= length:
                connection.sendall(answers[b'"stream": true' in body])
                data = b""

    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=talk, args=(connection,), daemon=True).start()


def create_asker(base_url: str, *, stream: bool) -> Callable[[], float]:
    """Return a function that asks over a kept connection and returns the seconds."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    messages = [{"role": "user", "content": PROMPT}]
    options = {"include_usage": True}
    body = json.dumps({"messages": messages, "stream": stream, "stream_options": options}).encode()

    def ask() -> float:
        started = time.perf_counter()
        connection.request("POST", f"{parts.path}/chat/completions", body)
        connection.getresponse().read()
        return time.perf_counter() - started

    return ask


def main() -> int:
    """Print medians, and how many the limit leaves; fail above the limit."""
    server = socket.create_server(("127.0.0.1", 0), backlog=16)
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    gateway = Gateway(GatewaySettings(), random.Random(0))
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(model="m", base_url=url, api_key="none")
        traffic = gateway.open(
            PhaseTraffic(endpoint=endpoint, log=Path(folder) / "requests.jsonl"), print
        )
        for what, stream in (("plain", False), (f"stream of {EVENTS} events", True)):
            direct = create_asker(url, stream=stream)
            through = create_asker(traffic.endpoint.base_url, stream=stream)
            direct(), through()
            pairs = [(direct(), through()) for _ in range(ROUNDS)]
            near, far = (median(times) for times in zip(*pairs, strict=True))
            added = median(b - a for a, b in pairs)
            worst = max(worst, added)
            sys.stdout.write(
                f"{what}: direct {near * 1e3:.2f} ms, through the gateway {far * 1e3:.2f} ms, "
                f"added {added * 1e3:.2f} ms, {added / LIMIT_SECONDS:.2f} of the limit\n"
            )
        report = traffic.close()
        gateway.close()
    sys.stdout.write(f"{report.turns} turns, {report.usage.output_tokens} output tokens counted\n")
    return int(worst > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
