"""Truth of ``task_08_schema_ops``: migrations are applied in a process of their own."""

from __future__ import annotations

import copy
import datetime
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from graders import task_08_schema_ops_probe as probing
from graders.shared_programs import run_program
from graders.task_08_schema_ops_solution import solve
from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

__all__ = ["grade", "solve"]

FOLDER = "assets/schema_ops"
TABLES = ("users", "orders", "products", "reviews", "sessions")
ORDER = ("users", "products", "orders", "reviews", "sessions")
SECONDS = 10.0
SCRIPT_BYTES = 200_000
TIME = "%Y-%m-%d %H:%M:%S"
RECENT = "{0} BETWEEN datetime('now', '-5 minutes') AND datetime('now', '+1 minute')"
NEW_COLUMNS: dict[str, list[list[Any]]] = {
    "users": [["phone_number", "TEXT", 0, None, 0], ["last_login_at", "TEXT", 0, None, 0]],
    "orders": [["shipping_address", "TEXT", 0, None, 0], ["tracking_number", "TEXT", 0, None, 0]],
    "products": [
        ["description", "TEXT", 0, None, 0],
        ["tags", "TEXT", 1, "'[]'", 0],
        ["updated_at", "TEXT", 0, None, 0],
    ],
    "reviews": [
        ["helpful_count", "INTEGER", 1, "0", 0],
        ["verified_purchase", "INTEGER", 1, "0", 0],
    ],
    "sessions": [
        ["user_agent", "TEXT", 0, None, 0],
        ["is_active", "INTEGER", 1, "1", 0],
        ["created_at", "TEXT", 1, "CURRENT_TIMESTAMP", 0],
    ],
}
NEW_INDEXES: dict[str, list[list[Any]]] = {
    "users": [["users_username_key", 1, [("username", "NOCASE")]], ["idx_users_email", 0, "email"]],
    "orders": [["idx_orders_user_created", 0, "user_id created_at"]],
    "products": [["idx_products_updated", 0, "updated_at"]],
    "reviews": [["idx_reviews_product_rating", 0, "product_id rating"]],
    "sessions": [["idx_sessions_expires", 0, "expires_at"]],
}
NEW_TABLES = {"products": "products_search", "sessions": "purges"}
REFUSED, DONE = ["refused"], ["rows", []]

Row = dict[str, Any]
Group = list[tuple[str, Any]]  # statements, each with the answer that is due


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    fixtures = [read_fixture(workspace, table) for table in ORDER]
    with probing.open_database(fixtures) as connection:
        before = probing.describe(connection)
    for number, table in enumerate(TABLES, start=1):
        after = derive_state(before, table)
        groups = list_groups(table, read_rows(before, table), read_rows(after, table))
        found = Migrated(workspace, table, fixtures, groups)
        for part in ("columns", "indexes", "rows"):
            with check(part, sub_problem=number):
                own = found.read()["state"]["tables"].get(table, {})
                require_same(show(own.get(part)), show(after["tables"][table][part]), found.name)
        for place, (words, group) in enumerate(groups.items()):
            with check(words, sub_problem=number):
                answers = found.read()["answers"][place]
                due = [[statement, answer] for statement, answer in group]
                pairs = zip([statement for statement, _ in group], answers, strict=True)
                require_same([list(pair) for pair in pairs], due, found.name)
        with check("all of the database", sub_problem=number):
            require_same(outline(found.read()["state"], table), outline(after, table), found.name)


def read_fixture(workspace: GradedWorkspace, table: str) -> str:
    return workspace.fixture(f"{FOLDER}/{table}.sql").read_text(encoding="utf-8")


def read_rows(state: Any, table: str) -> list[Row]:
    own = state["tables"][table]
    return [dict(zip([c[0] for c in own["columns"]], row, strict=True)) for row in own["rows"]]


def show(part: Any) -> Any:
    """Return a part with defaults in one spelling."""
    if not isinstance(part, list):
        return part
    return [
        [re.sub(r"^\((.*)\)$", r"\1", each) if place == 3 and isinstance(each, str) else each
         for place, each in enumerate(row)]
        for row in part
    ]  # fmt: skip


class Migrated:
    """What became of the database under one migration; carried out once."""

    def __init__(
        self, workspace: GradedWorkspace, table: str, fixtures: list[str], groups: dict[str, Group]
    ) -> None:
        self.name = f"outputs/migrate_{table}.sql"
        self._workspace = workspace
        probes = [[statement for statement, _ in group] for group in groups.values()]
        self._order = {"fixtures": fixtures, "probes": probes}
        self._known: dict[str, Any] | CheckFailed | None = None

    def read(self) -> dict[str, Any]:
        """Return ``state`` and ``answers``; CheckFailed if the migration fails."""
        if self._known is None:
            try:
                self._known = self._carry_out()
            except CheckFailed as error:
                self._known = error
        if isinstance(self._known, CheckFailed):
            raise CheckFailed(str(self._known))
        return self._known

    def _carry_out(self) -> dict[str, Any]:
        script = self._workspace.text(self.name, limit=SCRIPT_BYTES)
        with tempfile.TemporaryDirectory() as place:
            order = Path(place, "order.json")
            order.write_text(json.dumps({**self._order, "migration": script}), encoding="utf-8")
            argv = (sys.executable, "-I", str(probing.__file__), str(order))
            ran = run_program(argv, Path(place), seconds=SECONDS)
        if ran.exit_code != 0:
            raise CheckFailed(f"{self.name}: the engine was ended by it ({ran.exit_code})")
        reply: dict[str, Any] = json.loads(ran.stdout)
        if "error" in reply:
            raise CheckFailed(f"{self.name}: {reply['error']}")
        return reply


def derive_state(before: Any, table: str) -> dict[str, Any]:
    """Return the state that is due after the migration of one table."""
    after: dict[str, Any] = copy.deepcopy(before)
    own = after["tables"][table]
    own["columns"] += NEW_COLUMNS[table]
    for name, unique, words in NEW_INDEXES[table]:
        pairs = [(word, "BINARY") for word in words.split()] if isinstance(words, str) else words
        own["indexes"].append([name, unique, 0, [[word, how, 0] for word, how in pairs]])
        after["objects"].append(["index", name, table])
    own["indexes"].sort(key=str)
    rows = read_rows(before, table)
    own["rows"] = [list(row.values()) for row in DERIVE[table](rows)]
    if table == "orders":
        own["columns"][3][0] = own["indexes"][0][3][0][0] = "order_status"
    if table == "reviews":
        own["columns"][3][2] = 1
    if table in NEW_TABLES:
        after["objects"].append(["table", NEW_TABLES[table], NEW_TABLES[table]])
    if table == "sessions":
        columns = [["id", "INTEGER", 0, None, 1], ["cutoff", "TEXT", 1, None, 0]]
        columns.append(["deleted", "INTEGER", 0, None, 0])
        parts: dict[str, Any] = {"keys": [], "indexes": [], "rows": []}
        after["tables"]["purges"] = {"columns": columns, **parts}
    return after


def derive_users(rows: list[Row]) -> list[Row]:
    taken: set[str] = set()
    for row in rows:
        lower = re.sub("[A-Z]+", lambda match: match[0].lower(), row["username"])
        if lower in taken:
            row["username"] += f"_{row['id']}"
        taken.add(lower)
    return [{**row, "phone_number": None, "last_login_at": None} for row in rows]


def derive_reviews(rows: list[Row]) -> list[Row]:
    kept = [row for row in rows if row["rating"] is not None]
    return [{**row, "rating": min(5, max(1, row["rating"])), "h": 0, "v": 0} for row in kept]


def derive_sessions(rows: list[Row]) -> list[Row]:
    return [
        {**row, "user_agent": None, "is_active": int(end.year >= 2026), "created_at": f"{start}"}
        for row in rows
        for end in [datetime.datetime.strptime(row["expires_at"], TIME)]
        for start in [end - datetime.timedelta(days=30)]
    ]


DERIVE = {
    "users": derive_users,
    "orders": lambda rows: [{**row, "address": None, "tracking": None} for row in rows],
    "products": lambda rows: [
        {**row, "text": None, "tags": "[]", "updated_at": row["created_at"]} for row in rows
    ],
    "reviews": derive_reviews,
    "sessions": derive_sessions,
}


def list_groups(table: str, before: list[Row], after: list[Row]) -> dict[str, Group]:
    """Return two named groups of statements with the answers that are due."""
    from graders import task_08_schema_ops_groups as groups

    groups_of: dict[str, Group] = getattr(groups, f"ask_{table}")(before, after)
    return groups_of


def outline(state: Any, table: str) -> dict[str, Any]:
    """Return what has to be right besides the table itself.

    The names of new triggers are free, and so is what FTS5 keeps beside its table.
    """
    free = {"products": ("products",), "sessions": ("purges", "sessions")}.get(table, ())
    shadows = "products_search_"
    objects = [
        each
        for each in state["objects"]
        if not (each[0] == "trigger" and each[2] in free) and not each[1].startswith(shadows)
    ]
    others = {
        name: {**each, "columns": show(each["columns"])}
        for name, each in state["tables"].items()
        if name != table and not name.startswith("products_search")
    }
    keys = state["tables"].get(table, {}).get("keys")
    return {"objects": sorted(objects), "broken": state["broken"], "keys": keys, "others": others}
