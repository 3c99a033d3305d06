CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES users (id),
  rating INTEGER,
  body TEXT,
  created_at TEXT NOT NULL
);

CREATE INDEX idx_reviews_user ON reviews (user_id);

CREATE TRIGGER reviews_keep_author BEFORE UPDATE OF user_id ON reviews
WHEN new.user_id <> old.user_id
BEGIN
  SELECT raise(ABORT, 'the author of a review stays');
END;

INSERT INTO reviews (id, product_id, user_id, rating, body, created_at) VALUES
  (200, 13, 13, 5, 'Arrived late; fine otherwise', '2025-01-26 23:56:19'),
  (201, 14, 40, 4, NULL, '2025-02-27 03:11:23'),
  (202, 18, 22, 0, 'As shown', '2025-03-07 19:20:19'),
  (203, 11, 16, 3, 'It''s wobbly', '2025-04-17 22:39:11'),
  (204, 16, 1, NULL, 'Arrived late; fine otherwise', '2025-05-08 13:07:59'),
  (205, 14, 1, 7, 'Arrived late; fine otherwise', '2025-06-25 18:19:42'),
  (206, 14, 40, 1, 'As shown', '2025-07-09 11:01:44'),
  (207, 17, 10, 2, NULL, '2025-08-01 11:21:19'),
  (208, 19, 22, 5, 'As shown', '2025-09-18 10:50:50'),
  (209, 14, 1, -1, NULL, '2025-10-12 14:23:37'),
  (210, 18, 31, 4, 'As shown', '2025-11-06 22:42:42'),
  (211, 13, 13, 10, 'Sturdy.', '2025-12-03 09:40:29'),
  (212, 10, 19, 5, 'As shown', '2025-01-05 04:07:33'),
  (213, 14, 19, NULL, NULL, '2025-02-06 23:31:14'),
  (214, 20, 13, 3, NULL, '2025-03-08 15:53:40'),
  (215, 20, 10, 6, 'Sturdy.', '2025-04-16 08:53:16'),
  (216, 15, 13, 2, 'Sturdy.', '2025-05-19 06:05:10'),
  (217, 15, 31, 1, NULL, '2025-06-20 11:59:30'),
  (218, 15, 19, 4, 'Sturdy.', '2025-07-17 02:40:36'),
  (219, 13, 7, 5, 'It''s wobbly', '2025-08-15 15:57:53');
