"""One request and its answer, while it goes on and as a line of the log."""

from __future__ import annotations

import time
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Literal

from pytest_evoclaw.gateway.answers import Answer
from pytest_evoclaw.gateway.dialects import Headers
from pytest_evoclaw.gateway.dialects import find_header
from pytest_evoclaw.gateway.events import Splitter
from pytest_evoclaw.gateway.events import read_event
from pytest_evoclaw.gateway.meters import Meter
from pytest_evoclaw.gateway.meters import create_meter
from pytest_evoclaw.gateway.requests import Asked
from pytest_evoclaw.gateway.requests import decode
from pytest_evoclaw.gateway.requests import read_object
from pytest_evoclaw.results import Usage

# answered: complete, with content; empty: complete without; refused: the provider's 4xx, passed
# on; failed: no answer for good; cut: broken off by the provider; abandoned: by the agent or at
# the phase's end; limit, closed: answered by the gateway alone; passed: asked for no answer.
Outcome = Literal[
    "answered", "empty", "refused", "failed", "cut", "abandoned", "limit", "closed", "passed"
]
KEPT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at the provider: its status or fault, how long it took, how long it had queued."""

    status: int | None
    error: str
    seconds: float
    queued: float


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """``number`` counts from 1 within a phase, ``opened`` is the phase's start (monotonic)."""

    number: int
    asked: Asked
    opened: float
    started: float = field(default_factory=time.monotonic)
    first_byte: float | None = None
    status: int | None = None
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    attempts: list[Attempt] = field(default_factory=list)
    outcome: Outcome | None = None
    error: str = ""
    streamed: bool = False
    broken: bool = False  # the provider broke off, not just the answer
    stored_as: str = ""
    meter: Meter = field(init=False)
    _splitter: Splitter = field(default_factory=Splitter)

    def __post_init__(self) -> None:
        self.meter = create_meter(self.asked.api)

    @property
    def nearly_done(self) -> bool:
        """Whether the model has said its last word, but not all of the stream has come."""
        return self.outcome is None and self.meter.finished and not self.meter.ended

    def begin(self, answer: Answer) -> None:
        """Take the head of the provider's answer."""
        self.status, self.headers, self.streamed = answer.status, answer.headers, answer.streamed
        self.first_byte = time.monotonic()

    def take_whole(self, body: bytes) -> None:
        """Take the body of an answer that is no stream."""
        self._keep(body)
        plain = decode(body, find_header(self.headers, "content-encoding"))
        self.meter.read_whole(read_object(plain))
        if self.status is None or self.status >= 300:
            self.outcome = "refused"
            self.error = f"HTTP {self.status}: {plain[:2000].decode('utf-8', 'replace')}"
        else:
            self.conclude()

    def take(self, data: bytes) -> list[bytes]:
        """Take a piece of a stream; return the events that are complete and for the agent."""
        self._keep(data)
        return self._read(self._splitter.feed(data))

    def take_end(self) -> list[bytes]:
        """Take the end of a stream; return what was left of it."""
        rest = self._splitter.flush()
        return self._read([rest]) if rest else []

    def conclude(self) -> None:
        """Say how an answer that came to its end turned out."""
        if self.asked.api == "other":
            self.outcome = "passed"
        elif self.meter.error:
            self.outcome, self.error = "failed", self.meter.error
        elif not (self.meter.finished or self.meter.ended):
            self.outcome, self.error = "cut", "the stream ended before the answer did"
        else:
            self.outcome = "answered" if self.meter.content else "empty"

    def _keep(self, data: bytes) -> None:
        self.body += data[: max(0, KEPT_BYTES - len(self.body))]

    def _read(self, events: list[bytes]) -> list[bytes]:
        shown = []
        for raw in events:
            data = read_event(raw)
            if data is not None:
                self.meter.read_event(data)
            if not (self.asked.hides_usage and _is_usage_only(data)):
                shown.append(raw)
        return shown

    def to_dict(self, body_bytes: int) -> dict[str, Any]:
        """Return the line of the log; bodies are cut to ``body_bytes``."""
        usage = self.meter.usage
        now = time.monotonic()
        line: dict[str, Any] = {
            "number": self.number,
            "at": round(self.started - self.opened, 6),
            "seconds": round(now - self.started, 6),
            "first_byte_seconds": self.first_byte and round(self.first_byte - self.started, 6),
            "method": self.asked.method,
            "path": self.asked.rest + (f"?{self.asked.query}" if self.asked.query else ""),
            "api": self.asked.api,
            "model": self.asked.model,
            "outcome": self.outcome,
            "status": self.status,
            "error": self.error,
            "attempts": [
                {
                    "status": attempt.status,
                    "error": attempt.error,
                    "seconds": round(attempt.seconds, 6),
                    "queued": round(attempt.queued, 6),
                }
                for attempt in self.attempts
            ],
            "usage": usage and _list_numbers(usage),
            "stored_as": self.stored_as or None,
        }
        for name, data in (("request", self.asked.plain), ("answer", bytes(self.body))):
            line[name] = data[:body_bytes].decode("utf-8", "replace")
            line[f"{name}_bytes"] = len(data)
            line[f"{name}_cut"] = max(0, len(data) - body_bytes)
        return line


def _list_numbers(usage: Usage) -> dict[str, Any]:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return {name: getattr(usage, name) for name in (*names, "reasoning_tokens", "cost_usd")}


def _is_usage_only(data: Any) -> bool:
    return isinstance(data, dict) and data.get("choices") == [] and bool(data.get("usage"))
