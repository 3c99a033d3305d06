"""What ``task_08_schema_ops`` asks a migrated database, and the answers that are due."""

from __future__ import annotations

import re
from typing import Any

REFUSED: list[Any] = ["refused"]
DONE: list[Any] = ["rows", []]
NOW = "BETWEEN datetime('now', '-5 minutes') AND datetime('now', '+1 minute')"

Row = dict[str, Any]
Group = list[tuple[str, Any]]


def rows(*values: Any) -> list[Any]:
    """Return the answer of one row, or of one row per list."""
    return ["rows", [list(each) for each in values]]


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def ask_users(before: list[Row], after: list[Row]) -> dict[str, Group]:
    def insert(number: int, name: str, email: str) -> str:
        cells = f"{number}, {quote(name)}, {quote(email)}, '2026-01-01 00:00:00', 'x'"
        return (
            f"INSERT INTO users (id, username, email, created_at, password_hash) VALUES ({cells})"
        )

    plain = [row["username"] for row in after if row["username"].isascii()]
    names: Group = [
        (insert(900 + n, name.swapcase(), "a@example.org"), REFUSED) for n, name in enumerate(plain)
    ]
    names += [
        (insert(990, "new.one", "a@example.org"), DONE),
        ("UPDATE users SET username = 'NEW.ONE' WHERE id = 1", REFUSED),
        ("UPDATE users SET username = 'NEW.one' WHERE id = 990", DONE),
    ]
    email = before[0]["email"]
    shared = sum(row["email"] == email for row in before)
    asked = f"SELECT count(*), count(phone_number) FROM users WHERE email = {quote(email)}"
    addresses: Group = [
        (insert(991, "new.two", email), DONE),
        (insert(992, "new.three", email), DONE),
        ("UPDATE users SET phone_number = '0', last_login_at = 'x' WHERE id = 991", DONE),
        (asked, rows([shared + 2, 1])),
        ("SELECT shown FROM user_names WHERE id = 992", rows(["new.three"])),
    ]
    return {"unique names": names, "shared addresses": addresses}


def ask_orders(before: list[Row], after: list[Row]) -> dict[str, Group]:
    change = f"UPDATE orders SET shipping_address = {{}} WHERE id = {before[0]['id']}"
    addresses: Group = [
        (change.format(quote(text)), answer)
        for text, answer in (
            ('{"street": "Quay 4"}', DONE),
            ('{"street": "Quay', REFUSED),
            ("Quay 4", REFUSED),
            ("", REFUSED),
            ("[]", DONE),
        )
    ]
    addresses += [
        (change.format("NULL"), DONE),
        ("SELECT count(*) FROM orders WHERE shipping_address IS NULL", rows([len(before)])),
    ]
    opened = [
        [row["id"], row["user_id"], row["order_status"]]
        for row in after
        if row["order_status"] != "closed"
    ]
    insert = "INSERT INTO orders (id, user_id, total_cents, created_at) VALUES (5000, {}, 100, 'x')"
    user = before[0]["user_id"]
    status: Group = [
        ("SELECT id, user_id, order_status FROM open_orders ORDER BY id", rows(*opened)),
        (insert.format(user), DONE),
        ("SELECT order_status FROM open_orders WHERE id = 5000", rows(["new"])),
        ("UPDATE orders SET order_status = 'closed' WHERE id = 5000", DONE),
        ("SELECT count(*) FROM open_orders", rows([len(opened)])),
        ("UPDATE orders SET order_status = NULL WHERE id = 5000", REFUSED),
        (f"DELETE FROM users WHERE id = {user}", REFUSED),
    ]
    return {"addresses": addresses, "status": status}


def ask_products(before: list[Row], after: list[Row]) -> dict[str, Group]:
    first, second = before[0]["id"], before[1]["id"]
    insert = "INSERT INTO products (id, sku, name, price_cents, created_at) VALUES "
    touched = "SELECT id FROM products WHERE updated_at <> created_at ORDER BY id"
    times: Group = [
        (f"UPDATE products SET price_cents = 5 WHERE id = {first}", DONE),
        (f"SELECT updated_at {NOW}, length(updated_at) FROM products WHERE id = {first}",
         rows([1, 19])),
        (touched, rows([first])),
        (f"UPDATE products SET updated_at = '2020-02-02 00:00:00' WHERE id = {second}", DONE),
        (f"SELECT updated_at FROM products WHERE id = {second}", rows(["2020-02-02 00:00:00"])),
        (f"{insert} (500, 'N-1', 'Thing', 7, '2021-03-04 05:06:07')", DONE),
        ("SELECT updated_at, tags FROM products WHERE id = 500",
         rows(["2021-03-04 05:06:07", "[]"])),
        (f"UPDATE products SET tags = NULL WHERE id = {first}", REFUSED),
        (touched, rows([first], [second])),
    ]  # fmt: skip
    words = {row["id"]: set(re.findall("[a-z]+", row["name"].lower())) for row in before}
    every = sorted(set().union(*words.values()))
    search: Group = [find(words, word) for word in every]
    search.append((f"{insert} (501, 'N-2', 'Glass ladder', 7, 'x')", DONE))
    words[501] = {"glass", "ladder"}
    search += [find(words, word) for word in ("ladder", "lamp")]
    search.append((f"UPDATE products SET name = 'Paper ladder' WHERE id = {first}", DONE))
    words[first] = {"paper", "ladder"}
    search += [find(words, word) for word in every]
    search.append((f"UPDATE products SET description = 'Of glass' WHERE id = {second}", DONE))
    words[second] |= {"of", "glass"}
    search += [find(words, word) for word in ("glass", "of", "ladder")]
    search.append(("DELETE FROM products WHERE id = 501", DONE))
    del words[501]
    search.append(("UPDATE products SET description = NULL", DONE))
    words[second] -= {"of", "glass"}
    search += [find(words, word) for word in [*every, "glass", "ladder"]]
    return {"times": times, "search": search}


def find(words: dict[int, set[str]], word: str) -> tuple[str, Any]:
    query = f"SELECT rowid FROM products_search WHERE products_search MATCH '{word}' ORDER BY 1"
    return query, rows(*([key] for key in sorted(words) if word in words[key]))


def ask_reviews(before: list[Row], after: list[Row]) -> dict[str, Group]:
    product, user = before[0]["product_id"], before[0]["user_id"]
    insert = f"INSERT INTO reviews (product_id, user_id, created_at, rating) VALUES ({product}, {user}, 'x', {{}})"  # noqa: E501
    ratings: Group = [
        (insert.format(text), REFUSED if text in ("0", "6", "-3", "NULL") else DONE)
        for text in ("0", "1", "3", "5", "6", "-3", "NULL")
    ]
    ratings += [
        (f"UPDATE reviews SET verified_purchase = {value}", REFUSED) for value in ("2", "NULL")
    ]
    ratings += [
        ("UPDATE reviews SET helpful_count = NULL", REFUSED),
        ("UPDATE reviews SET verified_purchase = 1 WHERE rating = 3", DONE),
        ("SELECT count(*), sum(helpful_count) FROM reviews", rows([len(after) + 3, 0])),
    ]
    key = after[0]["id"]
    left = sum(row["product_id"] != product for row in after)
    relations: Group = [
        (f"UPDATE reviews SET user_id = user_id + 3 WHERE id = {key}", REFUSED),
        (f"UPDATE reviews SET product_id = 9999 WHERE id = {key}", REFUSED),
        (f"UPDATE reviews SET helpful_count = 4 WHERE id = {after[-1]['id']}", DONE),
        (f"DELETE FROM products WHERE id = {product}", DONE),
        ("SELECT count(helpful_count) FROM reviews", rows([left])),
    ]
    return {"ratings": ratings, "relations": relations}


def ask_sessions(before: list[Row], after: list[Row]) -> dict[str, Group]:
    user = before[0]["user_id"]
    insert = f"INSERT INTO sessions (token, user_id, expires_at) VALUES ('t', {user}, '2030-01-01 00:00:00')"  # noqa: E501
    defaults: Group = [
        (insert, DONE),
        (f"SELECT is_active, created_at {NOW}, length(created_at), user_agent "
         "FROM sessions WHERE token = 't'", rows([1, 1, 19, None])),
        ("UPDATE sessions SET is_active = 2", REFUSED),
        ("UPDATE sessions SET is_active = NULL", REFUSED),
        ("UPDATE sessions SET created_at = NULL", REFUSED),
        ("UPDATE sessions SET is_active = 0", DONE),
        (insert, REFUSED),
        ("UPDATE sessions SET user_id = 9999", REFUSED),
        (f"DELETE FROM orders WHERE user_id = {user}", DONE),
        (f"DELETE FROM reviews WHERE user_id = {user}", DONE),
        (f"DELETE FROM users WHERE id = {user}", DONE),
        ("SELECT count(created_at) FROM sessions",
         rows([sum(row["user_id"] != user for row in before)])),
    ]  # fmt: skip
    ends = sorted(row["expires_at"] for row in before)
    cutoffs = [ends[4], ends[4], ends[-2], "2040-01-01 00:00:00"]
    purge: Group = []
    left = list(before)
    counts = []
    for number, cutoff in enumerate(cutoffs, start=1):
        kept = [row for row in left if row["expires_at"] >= cutoff]
        counts.append([number, cutoff, len(left) - len(kept)])
        left = kept
        tokens = rows(*sorted([row["token"]] for row in left))
        purge += [
            (f"INSERT INTO purges (cutoff) VALUES ('{cutoff}')", DONE),
            ("SELECT token FROM sessions ORDER BY token", tokens),
            ("SELECT id, cutoff, deleted FROM purges ORDER BY id", rows(*counts)),
        ]
    purge.append(("INSERT INTO purges (cutoff) VALUES (NULL)", REFUSED))
    return {"defaults": defaults, "purge": purge}
