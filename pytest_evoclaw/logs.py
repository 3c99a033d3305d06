"""Files that a foreign process writes: opened so that nothing planted is hit, cut at the end."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason

_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_TRUNC
    | os.O_APPEND  # a writer that was cut short goes on at the end
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO is refused instead of waited for
)


@contextlib.contextmanager
def open_log(path: Path, limit: int) -> Iterator[int]:
    """Yield a descriptor of ``path``, empty; afterwards cut the file to ``limit`` bytes.

    NotScored if it is anything but a regular file, or cannot be written.
    """
    try:
        log = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        raise NotScored(Reason.ENVIRONMENT, f"cannot write {path}: {error}") from error
    try:
        if not stat.S_ISREG(os.fstat(log).st_mode):
            raise NotScored(Reason.ENVIRONMENT, f"cannot write {path}: not a regular file")
        try:
            yield log
        finally:
            _cut(log, limit)
    finally:
        os.close(log)


def _cut(log: int, limit: int) -> None:
    size = os.fstat(log).st_size
    if size <= limit:
        return
    note = f"\n[evoclaw: cut here, {size} bytes were written, {limit} are kept]\n".encode()
    os.ftruncate(log, max(0, limit - len(note)))
    os.write(log, note[-limit:] if limit else b"")
