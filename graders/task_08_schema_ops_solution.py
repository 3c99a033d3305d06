"""Reference solution of ``task_08_schema_ops``."""

from __future__ import annotations

from pytest_evoclaw.grading.workspace import GradedWorkspace

USERS = """\
ALTER TABLE users ADD COLUMN phone_number TEXT;
ALTER TABLE users ADD COLUMN last_login_at TEXT;
UPDATE users SET username = username || '_' || id
WHERE id > (SELECT min(o.id) FROM users AS o WHERE o.username = users.username COLLATE NOCASE);
CREATE UNIQUE INDEX users_username_key ON users (username COLLATE NOCASE);
CREATE INDEX idx_users_email ON users (email);
"""
ORDERS = """\
ALTER TABLE orders ADD COLUMN shipping_address TEXT
  CHECK (shipping_address IS NULL OR json_valid(shipping_address));
ALTER TABLE orders ADD COLUMN tracking_number TEXT;
ALTER TABLE orders RENAME COLUMN status TO order_status;
CREATE INDEX idx_orders_user_created ON orders (user_id, created_at);
"""
PRODUCTS = """\
ALTER TABLE products ADD COLUMN description TEXT;
ALTER TABLE products ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE products ADD COLUMN updated_at TEXT;
UPDATE products SET updated_at = created_at;
CREATE INDEX idx_products_updated ON products (updated_at);
CREATE TRIGGER products_touch AFTER UPDATE ON products WHEN new.updated_at IS old.updated_at
BEGIN
  UPDATE products SET updated_at = datetime('now') WHERE id = new.id;
END;
CREATE TRIGGER products_born AFTER INSERT ON products WHEN new.updated_at IS NULL
BEGIN
  UPDATE products SET updated_at = created_at WHERE id = new.id;
END;
CREATE VIRTUAL TABLE products_search USING fts5 (name, description);
INSERT INTO products_search (rowid, name, description) SELECT id, name, description FROM products;
CREATE TRIGGER products_found AFTER INSERT ON products
BEGIN
  INSERT INTO products_search (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TRIGGER products_moved AFTER UPDATE ON products
BEGIN
  DELETE FROM products_search WHERE rowid = old.id;
  INSERT INTO products_search (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TRIGGER products_lost AFTER DELETE ON products
BEGIN
  DELETE FROM products_search WHERE rowid = old.id;
END;
"""
REVIEWS = """\
BEGIN;
CREATE TABLE reviews_new (
  id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES users (id),
  rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5),
  body TEXT,
  created_at TEXT NOT NULL,
  helpful_count INTEGER NOT NULL DEFAULT 0,
  verified_purchase INTEGER NOT NULL DEFAULT 0 CHECK (verified_purchase IN (0, 1))
);
INSERT INTO reviews_new (id, product_id, user_id, rating, body, created_at)
SELECT id, product_id, user_id, max(1, min(5, rating)), body, created_at FROM reviews
WHERE rating IS NOT NULL;
DROP TABLE reviews;
ALTER TABLE reviews_new RENAME TO reviews;
CREATE INDEX idx_reviews_user ON reviews (user_id);
CREATE TRIGGER reviews_keep_author BEFORE UPDATE OF user_id ON reviews
WHEN new.user_id <> old.user_id
BEGIN
  SELECT raise(ABORT, 'the author of a review stays');
END;
CREATE INDEX idx_reviews_product_rating ON reviews (product_id, rating);
COMMIT;
"""
SESSIONS = """\
BEGIN;
CREATE TABLE sessions_new (
  token TEXT PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  ip TEXT,
  expires_at TEXT NOT NULL,
  data TEXT,
  user_agent TEXT,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO sessions_new (token, user_id, ip, expires_at, data, is_active, created_at)
SELECT token, user_id, ip, expires_at, data, expires_at >= '2026-01-01 00:00:00',
  datetime(expires_at, '-30 days')
FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_new RENAME TO sessions;
CREATE INDEX idx_sessions_user ON sessions (user_id);
CREATE INDEX idx_sessions_expires ON sessions (expires_at);
CREATE TABLE purges (id INTEGER PRIMARY KEY, cutoff TEXT NOT NULL, deleted INTEGER);
CREATE TRIGGER purges_work AFTER INSERT ON purges
BEGIN
  UPDATE purges SET deleted = (SELECT count(*) FROM sessions WHERE expires_at < new.cutoff)
  WHERE id = new.id;
  DELETE FROM sessions WHERE expires_at < new.cutoff;
END;
COMMIT;
"""
SCRIPTS = {
    "users": USERS,
    "orders": ORDERS,
    "products": PRODUCTS,
    "reviews": REVIEWS,
    "sessions": SESSIONS,
}


def solve(workspace: GradedWorkspace) -> None:
    for table, script in SCRIPTS.items():
        target = workspace / f"outputs/migrate_{table}.sql"
        target.write_text(script, encoding="utf-8")
