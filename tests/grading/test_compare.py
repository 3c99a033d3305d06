from __future__ import annotations

import pytest

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.compare import find_differences
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_list
from pytest_evoclaw.grading.compare import require_object
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.compare import same

EQUAL = [1, 30.0, True, None, "é", [], {}, [1, {"a": [None]}], {"b": 1, "a": 2}]


@pytest.mark.parametrize("value", EQUAL, ids=repr)
def test_equal_values_are_the_same(value):
    assert same(value, value)


def test_the_order_of_keys_does_not_matter():
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("actual", "expected", "line"),
    [
        (True, 1, "v: found True (boolean), expected 1 (int)"),
        (30, 30.0, "v: found 30 (int), expected 30.0 (float)"),
        (0, False, "v: found 0 (int), expected False (boolean)"),
        ("1", 1, "v: found '1' (string), expected 1 (int)"),
        (None, {}, "v: found null, expected object of 0"),
        ([], None, "v: found list of 0, expected null"),
        ([1, 2], [1, 3], "v[1]: found 2 (int), expected 3 (int)"),
        ([1], [1, 2], "v: found 1 elements, expected 2"),
        ([1, 2, 3], [1, 2], "v: found 3 elements, expected 2"),
        ({"a": 1}, {"a": 2}, "v.a: found 1 (int), expected 2 (int)"),
        ({"a-b": 1}, {"a-b": 2}, "v['a-b']: found 1 (int), expected 2 (int)"),
        ({}, {"a": 2}, "v.a: missing, expected 2 (int)"),
        ({"a": 1}, {}, "v.a: found 1 (int), expected no such key"),
        ({"a": [{"b": 1.0}]}, {"a": [{"b": 1}]}, "v.a[0].b: found 1.0 (float), expected 1 (int)"),
    ],
    ids=lambda value: repr(value) if not isinstance(value, str) else "",
)
def test_a_difference_says_where_what_was_found_and_what_was_due(actual, expected, line):
    assert not same(actual, expected)
    assert find_differences(actual, expected, "v") == [line]


def test_a_failed_comparison_shows_the_first_differences_and_counts_the_rest():
    with pytest.raises(CheckFailed) as caught:
        require_same(list(range(20)), [str(n) for n in range(20)], "rows")
    lines = str(caught.value).splitlines()
    assert lines[0] == "rows[0]: found 0 (int), expected '0' (string)"
    assert lines[-1] == "… and 12 more"


def test_long_values_are_cut_in_a_message():
    assert len(find_differences("x" * 10_000, "y")[0]) < 300


def test_a_deep_value_is_compared_no_deeper_than_what_is_expected():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert not same(deep, [["leaf"]])


def test_picking_follows_keys_and_positions():
    assert pick({"a": [{"b": 5}]}, "a", 0, "b") == 5


@pytest.mark.parametrize(
    ("document", "steps", "message"),
    [
        ([], ("a",), "f: found list of 0, expected an object"),
        (None, ("a",), "f: found null, expected an object"),
        ({}, ("a",), "f: has no key 'a'"),
        ({"a": [1]}, ("a", 1), "f.a: found 1 elements, no [1]"),
        ({"a": [1]}, ("a", -1), "f.a: found 1 elements, no [-1]"),
        ({"a": "text"}, ("a", 0), "f.a: found 'text' (string), expected a list"),
    ],
    ids=repr,
)
def test_picking_what_is_not_there_fails_the_check(document, steps, message):
    with pytest.raises(CheckFailed) as caught:
        pick(document, *steps, where="f")
    assert str(caught.value) == message


def test_shapes_can_be_required():
    assert require_object({"a": 1}) == {"a": 1}
    assert require_list([1], length=1) == [1]
    with pytest.raises(CheckFailed, match="found 1 elements, expected 2"):
        require_list([1], length=2)
