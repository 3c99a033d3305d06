CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  username TEXT NOT NULL,
  email TEXT NOT NULL,
  full_name TEXT,
  created_at TEXT NOT NULL,
  password_hash TEXT NOT NULL
);

CREATE VIEW user_names AS SELECT id, username, coalesce(full_name, username) AS shown FROM users;

INSERT INTO users (id, username, email, full_name, created_at, password_hash) VALUES
  (1, 'mira', 'mira@post.example.org', 'Mira', '2024-01-13 06:21:57', '86d3f7d903b07f9aa02337842f5ae757'),
  (4, 'Jonas', 'jonas@mail.example.org', 'Jonas', '2025-02-25 22:00:54', '22b0919a76c75c07af9f8aa15764a5b4'),
  (7, 'petrov', 'petrov@mail.example.org', NULL, '2024-03-08 03:44:08', '6902e2cb711882892c5eae079a09a699'),
  (10, 'o''neill', 'oneill@post.example.org', 'O''Neill', '2025-04-11 21:27:08', '76e543831eafb68429f12a754e356a17'),
  (13, 'MIRA', 'mira@mail.example.org', 'Mira', '2024-05-27 10:03:09', '71756ade3f595ae2f28836bde70c4b07'),
  (16, 'su-lin', 'su-lin@mail.example.org', 'Su-Lin', '2025-06-07 07:11:58', 'f9d3a2b53c3bcfd7fcde3b0b03d447c9'),
  (19, 'jonas', 'jonas@post.example.org', 'Jonas', '2024-07-21 16:29:50', '7f66af06d0bd1d700668bac287094424'),
  (22, 'kwame', 'mira@post.example.org', NULL, '2025-08-23 12:32:24', '7dab58ff115050cd8051375b78d1bc08'),
  (25, 'ana.b', 'ana.b@mail.example.org', 'Ana.B', '2024-09-05 12:00:08', '4fa58235e05599046dade66920523fa8'),
  (28, 'Mira', 'mira@post.example.org', 'Mira', '2025-10-23 20:01:56', '84355be28ddac08d1a9ccb3c22039409'),
  (31, 'zoë', 'zoe@mail.example.org', 'Zoë', '2024-11-03 12:18:21', '6f425ec6f9cb2047376b9062b5121404'),
  (34, 'petrov2', 'petrov2@mail.example.org', 'Petrov2', '2025-12-12 16:01:54', '920fcfa15bd35aa9b4b33fd276f0d64b'),
  (37, 'deniz', 'deniz@post.example.org', NULL, '2024-01-11 19:39:38', '4fce767358c9a38e2880204563811c21'),
  (40, 'JONAS', 'jonas@mail.example.org', 'Jonas', '2025-02-22 13:33:48', '6993eb8e55edc699c81d1042923cb12b');
