"""A limit outside of an environment that ends a command, such as the number of turns."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from collections.abc import Iterator


class Stop:
    """The word that ends one command, with the name of the limit; said once, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limit: str | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def limit(self) -> str | None:
        """The limit that was reached; the first one counts."""
        return self._limit

    def set(self, limit: str) -> None:
        """Name the limit and tell who listens; does not wait for the end of the command."""
        with self._lock:
            if self._limit is None:
                self._limit = limit
                for act in self._listeners:
                    act()

    @contextlib.contextmanager
    def tell(self, act: Callable[[], None]) -> Iterator[None]:
        """Call ``act`` when the word is said, or now if it has been; only within the block.

        ``act`` is called in the thread that says it, and must return at once.
        """
        with self._lock:
            if self._limit is not None:
                act()
            self._listeners.append(act)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(act)
