"""Reference solution of ``task_04_test_generation``: cases from the docstrings, as tables."""

from __future__ import annotations

from pytest_evoclaw.grading.workspace import GradedWorkspace

STRING = """\
import pytest
from string_utils import extract_tags, slugify, truncate


@pytest.mark.parametrize(("text", "slug"), [
    ("  Big, BAD wolf! ", "big-bad-wolf"),
    ("-- a --- b2 --", "a-b2"),
    ("", ""),
    ("9 lives", "9-lives"),
])
def test_slugify(text, slug):
    assert slugify(text) == slug


@pytest.mark.parametrize(("args", "cut"), [
    (("abcdef", 6), "abcdef"),
    (("abcdefg", 6), "abc..."),
    (("abcd", 3), "..."),
    (("abcd", 2, "~"), "a~"),
])
def test_truncate(args, cut):
    assert truncate(*args) == cut


def test_truncate_refuses_a_length_below_the_suffix():
    with pytest.raises(ValueError):
        truncate("a", 2)


@pytest.mark.parametrize(("text", "tags"), [
    ("#Zoo and #apple, #zoo", ["zoo", "apple"]),
    ("c#sharp #a_1", ["a_1"]),
    ("none", []),
])
def test_extract_tags(text, tags):
    assert extract_tags(text) == tags
"""
MATH = """\
import pytest
from math_utils import fibonacci, gcd, is_prime


@pytest.mark.parametrize(("n", "value"), [(0, 0), (1, 1), (2, 1), (10, 55)])
def test_fibonacci(n, value):
    assert fibonacci(n) == value


def test_fibonacci_refuses_negative_numbers():
    with pytest.raises(ValueError):
        fibonacci(-1)


@pytest.mark.parametrize("n", [-7, 0, 1, 2, 3, 4, 9, 15, 25, 97])
def test_is_prime(n):
    assert is_prime(n) is (n in {2, 3, 97})


@pytest.mark.parametrize(("a", "b", "value"), [(0, 0, 0), (-4, 0, 4), (34, 21, 1), (48, -18, 6)])
def test_gcd(a, b, value):
    assert gcd(a, b) == value
"""
DATA = """\
import pytest
from data_utils import chunk_list, deep_merge, flatten_dict


@pytest.mark.parametrize(("args", "flat"), [
    (({"a": {"b": {"c": 1}}},), {"a.b.c": 1}),
    (({"a": {"b": {"c": 1}}}, "/"), {"a/b/c": 1}),
    (({"a": {}, "b": [{"c": 1}]},), {"a": {}, "b": [{"c": 1}]}),
])
def test_flatten_dict(args, flat):
    assert flatten_dict(*args) == flat


@pytest.mark.parametrize(("items", "size", "chunks"), [
    ([1, 2, 3], 2, [[1, 2], [3]]),
    ([1, 2], 1, [[1], [2]]),
    ([], 3, []),
    ([1, 2], 2, [[1, 2]]),
])
def test_chunk_list(items, size, chunks):
    assert chunk_list(items, size) == chunks


@pytest.mark.parametrize("size", [0, -1])
def test_chunk_list_refuses_sizes_below_1(size):
    with pytest.raises(ValueError, match="size"):
        chunk_list([], size)


@pytest.mark.parametrize(("base", "other", "merged"), [
    ({"a": {"b": {"c": 1}}}, {"a": {"b": {"d": 2}}}, {"a": {"b": {"c": 1, "d": 2}}}),
    ({"a": 1}, {"a": None}, {"a": None}),
    ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
])
def test_deep_merge(base, other, merged):
    before = repr(base)
    assert deep_merge(base, other) == merged
    assert repr(base) == before
"""
DATE = """\
from datetime import date

import pytest
from date_utils import business_days_between, format_duration, parse_relative_date


@pytest.mark.parametrize(("text", "day"), [
    ("today", 10), ("tomorrow", 11), ("yesterday", 9), (" In 3 DAYS ", 13), ("in 1 day", 11),
    ("1 day ago", 9), ("5 days ago", 5),
])
def test_parse_relative_date(text, day):
    assert parse_relative_date(text, date(2024, 5, 10)) == date(2024, 5, day)


def test_parse_relative_date_refuses_the_rest():
    with pytest.raises(ValueError):
        parse_relative_date("soon", date(2024, 5, 10))


@pytest.mark.parametrize(("start", "end", "count"), [
    (6, 13, 5), (13, 6, -5), (6, 6, 0), (10, 11, 1), (11, 13, 0),
])
def test_business_days_between(start, end, count):
    assert business_days_between(date(2024, 5, start), date(2024, 5, end)) == count


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0s"), (7509, "2h 5m 9s"), (3600, "1h"), (61, "1m 1s"), (1, "1s"),
])
def test_format_duration(seconds, text):
    assert format_duration(seconds) == text


def test_format_duration_refuses_negative_numbers():
    with pytest.raises(ValueError):
        format_duration(-1)
"""
FILE = """\
import hashlib

import pytest
from file_utils import file_checksum, find_files, safe_read_json


@pytest.mark.parametrize(("text", "value"), [('{"a": "é"}', {"a": "é"}), ("{", 7), (None, 7)])
def test_safe_read_json(tmp_path, text, value):
    path = tmp_path / "a.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert safe_read_json(path, 7) == value


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "b" / "d.txt").mkdir(parents=True)
    for name in ("z.txt", "b/a.txt", "b/.h.txt", "c.py"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(("pattern", "names"), [
    ("*.txt", ["b/a.txt", "z.txt"]), ("*.py", ["c.py"]), ("*.md", []),
])
def test_find_files(tree, pattern, names):
    assert find_files(tree, pattern) == [tree / name for name in names]


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256"])
def test_file_checksum(tmp_path, algorithm):
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 20_000)
    assert file_checksum(path, algorithm) == hashlib.new(algorithm, b"x" * 20_000).hexdigest()
    assert file_checksum(path) == hashlib.sha256(b"x" * 20_000).hexdigest()


def test_file_checksum_refuses_unknown_algorithms(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(ValueError):
        file_checksum(tmp_path / "a", "crc32")
"""
VALIDATION = """\
import pytest
from validation_utils import validate_password, validate_port, validate_sku


@pytest.mark.parametrize(("text", "right"), [
    ("AB-1234", True), ("ABC-1234", True), ("A-1234", False), ("ab-1234", False),
    ("AB-12345", False), ("AB-1234x", False), ("AB-123", False),
])
def test_validate_sku(text, right):
    assert validate_sku(text) is right


@pytest.mark.parametrize(("text", "right"), [
    ("1", True), ("65535", True), ("65536", False), ("0", False), ("080", False), ("x", False),
])
def test_validate_port(text, right):
    assert validate_port(text) is right


@pytest.mark.parametrize(("text", "faults"), [
    ("Abcdefghi1", []), ("Abcdefgh1", ["length"]), ("abcdefghi1", ["case"]),
    ("ABCDEFGHI1", ["case"]), ("Abcdefghij", ["digit"]), ("Abcdefghi1 ", ["blank"]),
    (" Abcdefghi1", ["blank"]), ("", ["length", "digit", "case"]),
])
def test_validate_password(text, faults):
    assert validate_password(text) == faults
"""
TESTS = {
    "string_utils": STRING,
    "math_utils": MATH,
    "data_utils": DATA,
    "date_utils": DATE,
    "file_utils": FILE,
    "validation_utils": VALIDATION,
}


def solve(workspace: GradedWorkspace) -> None:
    for module, tests in TESTS.items():
        target = workspace / f"outputs/test_{module}.py"
        target.write_text(tests, encoding="utf-8")
