"""Apply a migration to a database, and report what became of it; a program of its own.

``python -I task_08_schema_ops_probe.py order.json`` prints JSON: ``{"error": text}`` for a
migration that fails, else ``{"state": …, "answers": …}``.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS = 4_000_000  # of SQLite's machine; a migration takes some thousands
HEAP = 100_000_000
ROWS = 1_000
TEXT = 1_000_000
PRAGMAS = """
foreign_keys defer_foreign_keys foreign_key_check foreign_key_list legacy_alter_table
quick_check integrity_check table_info table_xinfo index_list index_info index_xinfo user_version
"""
DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)

Answer = list[Any]  # ["rows", …], ["refused"] or ["failed", message]


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps(probe(order["fixtures"], order["migration"], order["probes"]), default=repr))  # noqa: T201


def probe(
    fixtures: Sequence[str], migration: str, probes: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Migrate a fresh database, describe it, and answer each group of statements on a copy."""
    with open_database(fixtures) as first, open_database(()) as kept:
        try:
            migrate(first, migration)
        except (sqlite3.Error, ValueError, MemoryError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        first.backup(kept)  # what is temporary is gone
        state = describe(kept)
        answers = [answer(kept, group) for group in probes]
    return {"state": state, "answers": answers}


def open_database(scripts: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute(f"PRAGMA hard_heap_limit = {HEAP}")
    connection.execute("PRAGMA foreign_keys = ON")
    for script in scripts:
        connection.executescript(script)
    return connection


def migrate(connection: sqlite3.Connection, migration: str) -> None:
    restrain(connection)
    connection.executescript(migration)
    if connection.in_transaction:
        raise ValueError("the migration leaves a transaction open")
    connection.set_authorizer(None)


def restrain(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, TEXT)
    connection.set_authorizer(authorize)
    connection.set_progress_handler(lambda: 1, STEPS)


def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    denied = action in DENIED
    if action == sqlite3.SQLITE_FUNCTION:
        denied = second == "load_extension"
    elif action == sqlite3.SQLITE_PRAGMA:
        # Without an argument it only reads; virtual tables ask for data_version.
        denied = bool(second) and str(first).lower() not in PRAGMAS.split()
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def describe(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return objects, columns, indexes, foreign keys and rows."""
    objects = connection.execute(
        "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
    ).fetchall()
    tables = sorted(name for kind, name, _ in objects if kind == "table")
    return {
        "objects": sorted(list(each) for each in objects),
        "broken": len(connection.execute("PRAGMA foreign_key_check").fetchall()),
        "tables": {name: describe_table(connection, name) for name in tables},
    }


def describe_table(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
    keys = connection.execute(f"PRAGMA foreign_key_list({quoted})").fetchall()
    rows = connection.execute(f"SELECT * FROM {quoted} ORDER BY 1 LIMIT {ROWS}").fetchall()
    return {
        "columns": [
            [column, kind.upper(), required, default, key]
            for _, column, kind, required, default, key, _ in columns
        ],
        "keys": sorted([list(map(str, key[2:7])) for key in keys]),
        "indexes": describe_indexes(connection, quoted),
        "rows": [list(row) for row in rows],
    }


def describe_indexes(connection: sqlite3.Connection, quoted: str) -> list[Any]:
    """Return name, uniqueness, whether partial, and the columns with collation and direction."""
    found = []
    for _, name, unique, origin, partial in connection.execute(f"PRAGMA index_list({quoted})"):
        parts = connection.execute("SELECT * FROM pragma_index_xinfo(?)", (name,)).fetchall()
        columns = [[part[2], part[4], part[3]] for part in parts if part[5]]
        found.append([name if origin == "c" else origin, unique, partial, columns])
    return sorted(found, key=str)


def answer(kept: sqlite3.Connection, statements: Sequence[str]) -> list[Answer]:
    """Carry out statements on a copy of a database."""
    with open_database(()) as copy:
        kept.backup(copy)
        restrain(copy)
        return [carry_out(copy, statement) for statement in statements]


def carry_out(connection: sqlite3.Connection, statement: str) -> Answer:
    try:
        return ["rows", [list(row) for row in connection.execute(statement).fetchmany(ROWS)]]
    except sqlite3.IntegrityError:
        return ["refused"]
    except (sqlite3.Error, MemoryError) as error:
        return ["failed", f"{type(error).__name__}: {error}"]


if __name__ == "__main__":
    main()
