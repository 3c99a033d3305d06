"""Keeps a key out of what a provider says."""

from __future__ import annotations

MASK = b"<key>"


def is_secret(key: str) -> bool:
    """Whether a key is one: servers on loopback are given a short word instead."""
    return len(key) >= 8


class Eraser:
    """Replaces one key in a stream of bytes, also where it is spread over two pieces."""

    def __init__(self, key: str) -> None:
        self._key = key.encode() if is_secret(key) else b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes that can be passed on; the start of a key is held back."""
        if not self._key:
            return data
        data = (self._held + data).replace(self._key, MASK)
        held = self._count_held(data)
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def flush(self) -> bytes:
        """Return what was held back and turned out to be no key."""
        held, self._held = self._held, b""
        return held

    def erase(self, data: bytes) -> bytes:
        """Return a whole text without the key."""
        return self.feed(data) + self.flush()

    def _count_held(self, data: bytes) -> int:
        longest = min(len(self._key) - 1, len(data))
        return next((n for n in range(longest, 0, -1) if self._key.startswith(data[-n:])), 0)
