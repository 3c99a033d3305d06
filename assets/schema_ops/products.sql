CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents > 0),
  created_at TEXT NOT NULL
);

INSERT INTO products (id, sku, name, price_cents, created_at) VALUES
  (10, 'SKU-8793', 'Desk lamp', 6725, '2025-01-21 09:27:51'),
  (11, 'SKU-4659', 'Floor lamp, brass', 54909, '2025-02-27 11:02:03'),
  (12, 'SKU-6279', 'Oak desk', 32475, '2025-03-17 14:44:49'),
  (13, 'SKU-5628', 'Standing desk', 11505, '2025-04-18 01:47:19'),
  (14, 'SKU-3312', 'Cable box', 5050, '2025-05-12 17:57:12'),
  (15, 'SKU-4618', 'Reading chair', 3141, '2025-06-14 15:58:08'),
  (16, 'SKU-7302', 'Wall clock', 6903, '2025-07-24 16:43:44'),
  (17, 'SKU-3219', 'Coat rack', 64193, '2025-08-10 21:39:39'),
  (18, 'SKU-5623', 'Shelf (oak)', 12689, '2025-09-23 09:33:56'),
  (19, 'SKU-8202', 'Foot stool', 25781, '2025-10-09 23:00:02'),
  (20, 'SKU-6341', 'Lamp shade', 22671, '2025-11-07 22:24:58'),
  (21, 'SKU-3969', 'Door mat', 63189, '2025-12-17 23:25:36');
