"""Wrong versions of the modules of ``task_04_test_generation``: what each breaks is documented."""

from __future__ import annotations

Change = tuple[str, str]  # a text that stands once in the module, and what replaces it

MUTANTS: dict[str, dict[str, list[Change]]] = {
    "string_utils": {
        "slugify": [
            ("text.lower()).strip", "text).strip"),
            ('.strip("-")', '.rstrip("-")'),
            ("[^a-z0-9]+", "[^a-z0-9]"),
            ("[^a-z0-9]+", "[^a-z]+"),
        ],
        "truncate": [
            ("len(text) <= length", "len(text) < length"),
            ("text[: length - len(suffix)]", "text[:length]"),
            ("length < len(suffix)", "length <= len(suffix)"),
            ('suffix: str = "..."', 'suffix: str = ".."'),
            ("if length < len(suffix)", "if length < len(suffix) and len(text) > length"),
        ],
        "extract_tags": [
            ('w+)", text.lower())', 'w+)", text)'),
            (r"(?<!\w)#", "#"),
            ("list(dict.fromkeys(found))", "found"),
            ("list(dict.fromkeys(found))", "sorted(set(found))"),
        ],
    },
    "math_utils": {
        "fibonacci": [
            ("if n < 0", "if n < -1"),
            ("a, b = 0, 1", "a, b = 1, 1"),
            ("range(n)", "range(min(n, 4))"),
            ("if n < 0", "if n <= 0"),
        ],
        "is_prime": [
            ("if n < 2", "if n < 1"),
            ("if n < 2", "if n <= 2"),
            ("divisor * divisor <= n", "divisor * divisor < n"),
            ("if n % divisor == 0", "if n % divisor == 0 and divisor < 3"),
        ],
        "gcd": [
            ("return abs(a)", "return a"),
            ("return abs(a)", "return abs(a) or 1"),
            ("while b:", "if b:"),
        ],
    },
    "data_utils": {
        "flatten_dict": [
            ("isinstance(value, dict) and value", "isinstance(value, dict)"),
            ("flatten_dict(value, separator).items()", "flatten_dict(value).items()"),
            ('separator: str = "."', 'separator: str = "_"'),
            ("flatten_dict(value, separator).items()", "value.items()"),
        ],
        "chunk_list": [
            ("if size < 1", "if size < 0"),
            ("if size < 1", "if size <= 1"),
            ("range(0, len(items), size)", "range(0, len(items) - size + 1, size)"),
            ("range(0, len(items), size)", "range(0, len(items) + 1, size)"),
        ],
        "deep_merge": [
            ("merged = dict(base)", "merged = base"),
            ("deep_merge(merged[key], value)", "{**merged[key], **value}"),
            ("            merged[key] = value", "            merged.setdefault(key, value)"),
            (
                "            merged[key] = value",
                "            merged[key] = merged.get(key) if value is None else value",
            ),
        ],
    },
    "date_utils": {
        "parse_relative_date": [
            ('"yesterday": -1', '"yesterday": 1'),
            ("text.strip().lower()", "text.lower()"),
            ("text.strip().lower()", "text.strip()"),
            (r"in (\d+) days?", r"in (\d+) days"),
            ("today - timedelta(days=int(match[1]))", "today + timedelta(days=int(match[1]))"),
            ('raise ValueError(f"not a relative date: {text!r}")', "return today"),
        ],
        "business_days_between": [
            ("day.weekday() < 5", "day.weekday() < 6"),
            ("return -business", "return business"),
            ("range((end - start).days)", "range((end - start).days + 1)"),
            ("range((end - start).days)", "range(1, (end - start).days + 1)"),
        ],
        "format_duration": [
            ("if seconds < 0", "if seconds < -1"),
            (' or "0s"', ""),
            (" if count)", ")"),
            ("minutes % 60", "minutes"),
            ("if seconds < 0", "if seconds <= 0"),
        ],
    },
    "file_utils": {
        "safe_read_json": [
            ("(FileNotFoundError, json.JSONDecodeError)", "FileNotFoundError"),
            ("(FileNotFoundError, json.JSONDecodeError)", "json.JSONDecodeError"),
            ("return default", "return None"),
            ('encoding="utf-8"', 'encoding="latin-1"'),
        ],
        "find_files": [
            ("folder.rglob(pattern)", "folder.glob(pattern)"),
            (" if path.is_file()", ""),
            (' if not path.name.startswith(".")', ""),
            ("folder.rglob(pattern)", 'folder.rglob("*")'),
        ],
        "file_checksum": [
            ("while block :=", "if block :="),
            ('algorithm: str = "sha256"', 'algorithm: str = "sha1"'),
            ("hashlib.new(algorithm)", "hashlib.sha256()"),
            (
                'raise ValueError(f"unknown algorithm: {algorithm}")',
                'algorithm = "sha256"',
            ),
        ],
    },
    "validation_utils": {
        "validate_sku": [
            ("[A-Z]{2,3}", "[A-Z]{1,3}"),
            ("[A-Z]{2,3}", "[A-Z]{2}"),
            ("[A-Z]{2,3}", "[A-Za-z]{2,3}"),
            ("[0-9]{4}", "[0-9]{4,}"),
            ('fullmatch(r"[A-Z]{2', 'match(r"[A-Z]{2'),
        ],
        "validate_port": [
            ("<= 65535", "< 65535"),
            ("<= 65535", "<= 65536"),
            ("[1-9][0-9]*", "[0-9]+"),
            ("    return int(text) <= 65535", "    return True"),
        ],
        "validate_password": [
            ("len(text) < shortest", "len(text) <= shortest"),
            ("shortest: int = 10", "shortest: int = 8"),
            (" or text == text.upper()", ""),
            ("text == text.lower() or ", ""),
            ('text.strip(" ")', 'text.lstrip(" ")'),
            ('faults.append("digit")', "pass"),
        ],
    },
}
