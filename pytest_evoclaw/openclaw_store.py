"""Reads what OpenClaw keeps of a session: a SQLite file within the reach of the agent."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_evoclaw.safe_files import MissingFile
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import read_regular

STORE = "agents/main/agent/openclaw-agent.sqlite"
STORE_BYTES = 300_000_000
EVENTS_BYTES = 300_000_000  # of all events, unpacked
EVENT_BYTES = 4_194_304  # OpenClaw's own bound for one event
SECONDS = 30.0  # for what takes milliseconds, unless the file is a trap
_QUERY = "select event_json, event_zstd from transcript_events order by session_id, seq"

# Unpacks zstd frames, one after the other; raises ValueError for one over EVENT_BYTES.
Unpack = Callable[[Sequence[bytes]], Iterable[bytes]]

_UNPACK_IN_NODE = """\
const { zstdDecompressSync } = require("node:zlib");
const [most, all] = process.argv.slice(1).map(Number);
let left = all;
for (const line of require("node:fs").readFileSync(0, "latin1").split("\\n")) {
  const data = zstdDecompressSync(Buffer.from(line, "base64"), { maxOutputLength: most });
  if ((left -= data.length) < 0) throw new Error(`more than ${all} bytes of events`);
  require("node:fs").writeSync(1, data.toString("base64") + "\\n");
}
"""


class UnreadableStore(ValueError):
    """The file is there, and is not what OpenClaw writes; says why."""


def read_events(state: Path, unpack: Unpack) -> list[dict[str, Any]]:
    """Return the events of the session in OpenClaw's state folder, in order; none without a store.

    What was written last before a kill is in a log beside the file, and counts. Raises
    UnreadableStore.
    """
    with tempfile.TemporaryDirectory(prefix="evoclaw-store-") as name:
        copy = Path(name) / "store.sqlite"
        if not _copy(state, copy):
            return []
        try:
            with closing(sqlite3.connect(copy)) as connection:
                rows = list(_list_rows(connection))
        except (sqlite3.Error, OverflowError) as error:
            raise UnreadableStore(f"{STORE}: {error}") from error
    try:
        return _unpack_rows(rows, unpack)
    except (ValueError, RecursionError) as error:
        raise UnreadableStore(f"{STORE}: {error}") from error


def choose_unpack(node: Path) -> Unpack:
    """Return a way to unpack: the package zstandard where it is installed, else Node's own."""
    if find_spec("zstandard") is not None:
        return _unpack_here
    return partial(_unpack_in_node, node)


def _unpack_here(frames: Sequence[bytes]) -> Iterator[bytes]:
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=2**27)
    for frame in frames:
        try:
            data = unpacker.stream_reader(frame).read(EVENT_BYTES + 1)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error
        if len(data) > EVENT_BYTES:
            raise ValueError(f"an event of more than {EVENT_BYTES} bytes")
        yield data


def _unpack_in_node(node: Path, frames: Sequence[bytes]) -> Iterator[bytes]:
    argv = [str(node), "-e", _UNPACK_IN_NODE, "--", str(EVENT_BYTES), str(EVENTS_BYTES)]
    given = b"\n".join(map(base64.b64encode, frames))
    try:
        done = subprocess.run(argv, input=given, capture_output=True, check=True, timeout=SECONDS)
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ValueError(next((w for w in words if "Error" in w), "Node failed")) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(str(error)) from error
    return map(base64.b64decode, done.stdout.splitlines())


def _copy(state: Path, copy: Path) -> bool:
    # A copy, because reading such a file means to write beside it, and the folder is the agent's.
    try:
        copy.write_bytes(read_regular(state, STORE, STORE_BYTES))
        copy.with_name(f"{copy.name}-wal").write_bytes(
            read_regular(state, f"{STORE}-wal", STORE_BYTES)
        )
    except MissingFile:
        return copy.exists()
    except UnsafeFile as error:
        raise UnreadableStore(str(error)) from error
    return True


def _list_rows(connection: sqlite3.Connection) -> Iterator[tuple[Any, Any]]:
    until = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > until), 100_000)
    size = 0
    for text, packed in connection.execute(_QUERY):
        size += len(text if isinstance(text, str) else packed or b"")
        if size > EVENTS_BYTES:
            raise UnreadableStore(f"{STORE}: more than {EVENTS_BYTES} bytes of events")
        yield text, packed


def _unpack_rows(rows: Sequence[tuple[Any, Any]], unpack: Unpack) -> list[dict[str, Any]]:
    packed = [data for text, data in rows if text is None and isinstance(data, bytes)]
    unpacked = iter(unpack(packed) if packed else ())
    events = []
    size = 0
    for text, data in rows:
        written = next(unpacked) if text is None and isinstance(data, bytes) else text
        size += len(written or "")
        if size > EVENTS_BYTES:
            raise ValueError(f"more than {EVENTS_BYTES} bytes of events")
        event = json.loads(written) if isinstance(written, str | bytes) else None
        if isinstance(event, dict):
            events.append(event)
    return events
