"""Server-sent events: where one ends, and what it says."""

from __future__ import annotations

import json
import re
from typing import Any

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class Splitter:
    """Cuts a stream of bytes into events, none of them lost or changed."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the events that are complete now, each with its blank line."""
        start = max(0, len(self._rest) - 3)
        self._rest += data
        events, begin = [], 0
        for match in _END.finditer(self._rest, start):
            events.append(bytes(self._rest[begin : match.end()]))
            begin = match.end()
        del self._rest[:begin]
        return events

    def flush(self) -> bytes:
        """Return what came after the last blank line."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def read_event(raw: bytes) -> dict[str, Any] | str | None:
    """Return an event's data: an object, or another text such as ``[DONE]``; None without any."""
    lines = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
    if not lines:
        return None
    text = b"\n".join(lines).decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
