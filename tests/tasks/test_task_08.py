from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tasks.bench import Bench

TASK = "task_08_schema_ops"
TABLES = ("users", "orders", "products", "reviews", "sessions")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(TASK, tmp_path)


@pytest.fixture
def solved(bench: Bench) -> Bench:
    bench.solve()
    return bench


def spoil(bench: Bench, table: str, old: str, new: str) -> set[str]:
    """Change a migration and return the checks of its sub-problem that this costs.

    The other migrations are taken away: their checks fail by themselves.
    """
    path = bench.path / f"outputs/migrate_{table}.sql"
    text = path.read_text(encoding="utf-8")
    assert old in text
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.write_text(text.replace(old, new), encoding="utf-8")
    prefix = f"sub_{TABLES.index(table) + 1}_"
    return {key.removeprefix(prefix) for key in bench.failed() if key.startswith(prefix)}


def test_the_reference_solution_scores_one(solved):
    assert solved.failed() == []
    assert len(solved.grade().checks) == 30


def test_no_output_scores_zero(bench):
    assert bench.grade().score == 0.0


JUNK = {
    "empty": b"",
    "bytes": b"\xff\x00",
    "a zero byte": b"SELECT 1;\x00",
    "null": b"null",
    "comments": b"-- ALTER TABLE users ADD COLUMN phone_number TEXT; CREATE INDEX idx_users_email",
    "no effect": b"SELECT 1;",
    "a query without end": b"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    b"SELECT count(*) FROM n;",
    "a lot of memory": b"CREATE TABLE t AS SELECT zeroblob(900000000);",
    "another file": b"ATTACH 'x.db' AS x;",
    "all tables gone": b"PRAGMA foreign_keys = OFF; DROP TABLE users; DROP TABLE orders; "
    b"DROP TABLE products; DROP TABLE reviews; DROP TABLE sessions;",
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_scores_zero(bench, junk):
    for table in TABLES:
        bench.write(f"migrate_{table}.sql", junk)
    assert bench.grade().score == 0.0
    assert not list(bench.path.rglob("*.db"))


EVERY = {"columns", "indexes", "rows", "all of the database"}
SPOILT = {
    "another type": ("users", "phone_number TEXT", "phone_number VARCHAR", {"columns"}),
    "case-sensitive names": (
        "users",
        "(username COLLATE NOCASE)",
        "(username)",
        {"indexes", "unique names"},
    ),
    "unique addresses": (
        "users",
        "CREATE INDEX idx_users_email",
        "UPDATE users SET email = email || id; CREATE UNIQUE INDEX idx_users_email",
        {"indexes", "rows", "shared addresses"},
    ),
    "an index left out": (
        "users",
        "CREATE INDEX idx_users_email ON users (email);",
        "",
        {"indexes", "all of the database"},
    ),
    "no check of addresses": (
        "orders",
        "CHECK (shipping_address IS NULL OR json_valid(shipping_address))",
        "",
        {"addresses"},
    ),
    "columns of an index in another order": (
        "orders",
        "(user_id, created_at)",
        "(created_at, user_id)",
        {"indexes"},
    ),
    "a transaction left open": (
        "orders",
        "ALTER TABLE orders RENAME",
        "BEGIN; ALTER TABLE orders RENAME",
        EVERY | {"addresses", "status"},
    ),
    "no first time": (
        "products",
        "UPDATE products SET updated_at = created_at;",
        "",
        {"rows"},
    ),
    "every row touched": ("products", "datetime('now') WHERE id = new.id", "datetime('now')", None),
    "search of new rows only": (
        "products",
        "description FROM products;",
        "description FROM products WHERE 0;",
        {"search"},
    ),
    "search that keeps what is deleted": (
        "products",
        "DELETE FROM products_search WHERE rowid = old.id;\nEND;\n",
        "SELECT 1;\nEND;\n",
        {"search"},
    ),
    "an index lost by rebuilding": (
        "reviews",
        "CREATE INDEX idx_reviews_user ON reviews (user_id);",
        "",
        {"indexes", "all of the database"},
    ),
    "an action lost by rebuilding": (
        "reviews",
        " ON DELETE CASCADE",
        "",
        {"relations", "all of the database"},
    ),
    "ratings that are dropped": (
        "reviews",
        "WHERE rating IS NOT NULL",
        "WHERE rating BETWEEN 1 AND 5",
        {"rows", "ratings", "relations"},
    ),
    "a surplus table": (
        "reviews",
        "COMMIT;",
        "CREATE TABLE backup_reviews AS SELECT * FROM reviews; COMMIT;",
        {"all of the database"},
    ),
    "all sessions active": (
        "sessions",
        "expires_at >= '2026-01-01 00:00:00'",
        "1",
        {"rows"},
    ),
    "the last second counts as over": (
        "sessions",
        "expires_at < new.cutoff;\nEND",
        "expires_at <= new.cutoff;\nEND",
        {"purge"},
    ),
    "a temporary trigger": (
        "sessions",
        "CREATE TRIGGER purges_work",
        "CREATE TEMP TRIGGER purges_work",
        {"purge"},
    ),
}


@pytest.mark.parametrize(("table", "old", "new", "lost"), SPOILT.values(), ids=SPOILT)
def test_what_is_wrong_loses_its_checks(solved, table, old, new, lost):
    failed = spoil(solved, table, old, new)
    assert failed == lost if lost is not None else "times" in failed


def test_another_way_to_the_same_schema_is_as_good(bench):
    bench.write(
        "migrate_orders.sql",
        b"""/* one transaction */ BEGIN IMMEDIATE;
        DROP VIEW open_orders; DROP INDEX idx_orders_status;
        CREATE TABLE "o2" (id INTEGER PRIMARY KEY,
          user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE RESTRICT,
          total_cents integer not null, order_status text NOT NULL DEFAULT ('new'),
          created_at TEXT NOT NULL, shipping_address TEXT, tracking_number TEXT,
          CONSTRAINT c CHECK (shipping_address IS NULL OR json_valid(shipping_address)));
        INSERT INTO o2 SELECT *, NULL, NULL FROM orders;
        DROP TABLE orders; ALTER TABLE o2 RENAME TO orders;
        CREATE INDEX idx_orders_status ON orders (order_status);
        CREATE INDEX idx_orders_user_created ON orders (user_id ASC, created_at ASC);
        CREATE VIEW open_orders AS
          SELECT id, user_id, order_status FROM orders WHERE order_status <> 'closed'; END;""",
    )
    assert bench.grade().sub_problem_scores[2] == 1.0


def test_the_migration_of_another_table_earns_nothing(solved):
    text = (solved.path / "outputs/migrate_reviews.sql").read_bytes()
    for table in TABLES:
        solved.write(f"migrate_{table}.sql", text)
    assert solved.grade().sub_problem_scores == {1: 0.0, 2: 0.0, 3: 0.0, 4: 1.0, 5: 0.0}


def test_editing_the_inputs_does_not_help(solved):
    for name in solved.inputs:
        (solved.path / name).write_text("", encoding="utf-8")
    assert solved.failed() == []
