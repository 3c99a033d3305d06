from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import zstandard

from pytest_evoclaw.node_programs import Wanted
from pytest_evoclaw.node_programs import find_program
from pytest_evoclaw.openclaw_store import EVENT_BYTES
from pytest_evoclaw.openclaw_store import STORE
from pytest_evoclaw.openclaw_store import UnreadableStore
from pytest_evoclaw.openclaw_store import _unpack_here
from pytest_evoclaw.openclaw_store import _unpack_in_node
from pytest_evoclaw.openclaw_store import choose_unpack
from pytest_evoclaw.openclaw_store import read_events

TABLE = """
create table transcript_events (
    session_id text not null, seq integer not null, event_json text, event_zstd blob,
    primary key (session_id, seq)
)
"""
EVENTS = [{"type": "session"}, {"text": "größe 中文\n" * 500}, {"text": "short"}]


def write_store(state: Path, rows: Sequence[tuple[str | None, bytes | None]]) -> Path:
    path = state / STORE
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
        connection.executemany(
            "insert into transcript_events values ('one', ?, ?, ?)",
            [(number, *row) for number, row in enumerate(rows)],
        )
    connection.close()
    return path


def pack(event: object, size: int = 1000) -> tuple[str | None, bytes | None]:
    text = json.dumps(event, ensure_ascii=False)
    if len(text) < size:
        return text, None
    return None, zstandard.ZstdCompressor().compress(text.encode())


def find_node() -> Path:
    wanted = Wanted(package="openclaw", name="openclaw", node=24, install="")
    found = shutil.which(os.environ.get("EVO_OPENCLAW_BIN") or "openclaw")
    if found is None:
        pytest.skip("openclaw is not installed: set EVO_OPENCLAW_BIN")
    return find_program(wanted, Path(found)).node


@pytest.fixture(params=["zstandard", "node"])
def unpack(request):
    return _unpack_here if request.param == "zstandard" else partial(_unpack_in_node, find_node())


def test_plain_and_packed_events_are_read_in_order(tmp_path, unpack):
    write_store(tmp_path, [pack(event) for event in EVENTS])
    assert read_events(tmp_path, unpack) == EVENTS


def test_what_was_written_last_before_a_kill_is_read(tmp_path):
    path = write_store(tmp_path / "written", [pack(EVENTS[0])])
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode=wal")
    connection.execute("insert into transcript_events values ('one', 9, '{\"last\": 1}', null)")
    connection.commit()
    shutil.copytree(tmp_path / "written", tmp_path / "killed")
    connection.close()
    assert (tmp_path / "killed" / f"{STORE}-wal").stat().st_size > 0
    assert read_events(tmp_path / "killed", _unpack_here) == [EVENTS[0], {"last": 1}]


def test_reading_changes_nothing(tmp_path):
    write_store(tmp_path, [pack(event) for event in EVENTS])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    read_events(tmp_path, _unpack_here)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_no_store_is_no_events(tmp_path):
    assert read_events(tmp_path, _unpack_here) == []


def test_an_event_of_more_than_openclaw_allows_is_refused_unpacked(tmp_path, unpack):
    bomb = zstandard.ZstdCompressor().compress(bytes(EVENT_BYTES + 1))
    write_store(tmp_path, [(None, bomb)])
    with pytest.raises(UnreadableStore):
        read_events(tmp_path, unpack)


@pytest.mark.parametrize(
    "row",
    [(None, b"no frame"), ("no json", None), ("[" * 100_000, None)],
    ids=["no frame", "no JSON", "too deep"],
)
def test_rows_that_openclaw_does_not_write_are_refused(tmp_path, row):
    write_store(tmp_path, [row])
    with pytest.raises(UnreadableStore, match="openclaw-agent"):
        read_events(tmp_path, _unpack_here)


def test_a_frame_that_node_cannot_unpack_is_refused_in_its_words(tmp_path):
    write_store(tmp_path, [(None, b"no frame")])
    with pytest.raises(UnreadableStore, match="Error"):
        read_events(tmp_path, partial(_unpack_in_node, find_node()))


def test_events_that_are_no_objects_are_left_out(tmp_path):
    write_store(tmp_path, [("[1]", None), (None, None), ("{}", None)])
    assert read_events(tmp_path, _unpack_here) == [{}]


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = write_store(tmp_path, [])
    path.write_bytes(b"text " * 1000)
    with pytest.raises(UnreadableStore, match="not a database"):
        read_events(tmp_path, _unpack_here)


def test_a_trap_in_place_of_the_store_is_refused(tmp_path):
    path = write_store(tmp_path, [])
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UnreadableStore):
        read_events(tmp_path, _unpack_here)


def test_a_view_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_evoclaw.openclaw_store.SECONDS", 0.3)
    path = write_store(tmp_path, [])
    with sqlite3.connect(path) as connection:
        connection.execute("drop table transcript_events")
        connection.execute(
            "create view transcript_events as with recursive n(i) as (select 1 union all "
            "select i + 1 from n) select 'a' session_id, i seq, '' event_json, null event_zstd "
            "from n where i < 0"
        )
    connection.close()
    with pytest.raises(UnreadableStore, match="interrupted"):
        read_events(tmp_path, _unpack_here)


def test_zstandard_is_used_where_it_is_installed():
    assert choose_unpack(Path("/nowhere/node")) is _unpack_here
