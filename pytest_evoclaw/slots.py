"""A bound on what processes do at the same time: a folder with one lock file for each place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPool:
    """``size`` places that all processes which name the same folder share; a dead one frees its.

    ``pause`` is the seconds between two looks at all places.
    """

    folder: Path
    size: int
    pause: float = 0.02

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for a place and keep it; there is no order among those who wait."""
        from filelock import FileLock
        from filelock import Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        for number in cycle(range(self.size)):
            lock = FileLock(self.folder / f"{number}.lock")
            try:
                lock.acquire(blocking=False)
            except Timeout:
                if number == self.size - 1:
                    time.sleep(self.pause)
                continue
            try:
                yield
            finally:
                lock.release()
            return
