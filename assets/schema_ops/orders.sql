CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE RESTRICT,
  total_cents INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'new',
  created_at TEXT NOT NULL
);

CREATE INDEX idx_orders_status ON orders (status);

CREATE VIEW open_orders AS SELECT id, user_id, status FROM orders WHERE status <> 'closed';

INSERT INTO orders (id, user_id, total_cents, status, created_at) VALUES
  (1000, 34, 184250, 'closed', '2025-01-08 21:55:41'),
  (1001, 1, 79625, 'sent', '2025-02-11 12:23:23'),
  (1002, 22, 103780, 'closed', '2025-03-26 17:21:38'),
  (1003, 19, 42619, 'sent', '2025-04-07 11:54:11'),
  (1004, 34, 79973, 'closed', '2025-05-11 13:33:47'),
  (1005, 31, 152730, 'closed', '2025-06-07 00:52:21'),
  (1006, 7, 5338, 'paid', '2025-07-04 23:43:28'),
  (1007, 19, 178278, 'sent', '2025-08-07 10:28:08'),
  (1008, 22, 169237, 'paid', '2025-09-07 05:43:19'),
  (1009, 7, 192551, 'sent', '2025-10-22 23:33:03'),
  (1010, 4, 81295, 'paid', '2025-11-03 07:21:36'),
  (1011, 25, 163222, 'closed', '2025-12-09 09:56:13'),
  (1012, 40, 101694, 'closed', '2025-01-26 13:59:00'),
  (1013, 13, 139256, 'paid', '2025-02-25 04:04:25'),
  (1014, 1, 174647, 'new', '2025-03-27 04:20:03'),
  (1015, 10, 132017, 'sent', '2025-04-14 14:47:50'),
  (1016, 34, 177958, 'closed', '2025-05-25 13:07:14'),
  (1017, 4, 109681, 'sent', '2025-06-25 22:52:47');
