from __future__ import annotations

import json

import pytest

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading.checklist import MESSAGE_CHARACTERS
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.results import Check


def fail(*words: str, error: type[AssertionError] = AssertionError) -> None:
    raise error(*words)


def test_a_block_without_a_failed_assertion_scores_one():
    check = Checklist()
    with check("total", sub_problem=2):
        assert 1 + 1 == 2
    assert check.checks == (Check(name="total", score=1.0, sub_problem=2),)


def test_a_failed_assertion_scores_zero_with_its_message_and_grading_goes_on():
    check = Checklist()
    with check("first"):
        fail("found 3, expected 4")
    with check("second"):
        pass
    assert [(c.name, c.score, c.message) for c in check.checks] == [
        ("first", 0.0, "found 3, expected 4"),
        ("second", 1.0, ""),
    ]


def test_a_reader_that_refuses_a_file_fails_the_check():
    check = Checklist()
    with check("rows"):
        fail("outputs/a.json: missing", error=CheckFailed)
    assert check.checks[0].message == "outputs/a.json: missing"


def test_an_assertion_without_words_still_says_something():
    check = Checklist()
    with check("rows"):
        fail()
    assert check.checks[0].message == "The assertion failed."


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), SystemExit(0)], ids=repr)
def test_every_other_exception_propagates_and_leaves_no_check(error):
    check = Checklist()
    with pytest.raises(type(error)), check("rows"):
        raise error
    assert check.checks == ()


@pytest.mark.parametrize(
    ("value", "score"), [(0, 0.0), (0.25, 0.25), (1, 1.0), (True, 1.0), (False, 0.0)], ids=repr
)
def test_partial_credit_is_kept_as_a_float(value, score):
    check = Checklist()
    check.score("f1", value, sub_problem=1, message="because")
    assert check.checks == (Check(name="f1", score=score, sub_problem=1, message="because"),)
    assert type(check.checks[0].score) is float


@pytest.mark.parametrize(
    "value",
    [-0.1, 1.01, float("nan"), float("inf"), "1", None, [1], 1j],
    ids=repr,
)
def test_a_value_that_is_no_score_is_a_fault_of_the_grader(value):
    with pytest.raises(GraderFault, match=r"'f1': score: found .*, allowed a number in 0\.\.1"):
        Checklist().score("f1", value)


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a\nb", "a\ud800", "a" * 81, None, 3], ids=repr
)
def test_a_malformed_name_is_a_fault_of_the_grader(name):
    with pytest.raises(GraderFault, match="check name: found"):
        Checklist().score(name, 1)
    with pytest.raises(GraderFault, match="check name: found"), Checklist()(name):
        pass


@pytest.mark.parametrize("name", ["total", "nothing else", "2nd", "合计", "a" * 80])
def test_any_short_printable_name_will_do(name):
    check = Checklist()
    with check(name, sub_problem=1):
        pass
    assert check.checks[0].key == f"sub_1_{name}"


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1"], ids=repr)
def test_a_sub_problem_that_is_no_positive_int_is_a_fault_of_the_grader(number):
    with pytest.raises(GraderFault, match=r"sub_problem: found .*, allowed an int from 1"):
        Checklist().score("total", 1, sub_problem=number)


@pytest.mark.parametrize(
    ("name", "sub_problem"), [("total", 1), ("sub_1_total", None)], ids=["same", "same key"]
)
def test_a_check_that_is_made_twice_is_a_fault_of_the_grader(name, sub_problem):
    check = Checklist()
    check.score("total", 1, sub_problem=1)
    with pytest.raises(GraderFault, match="'sub_1_total' was made twice"):
        check.score(name, 1, sub_problem=sub_problem)


def test_the_same_name_may_come_in_each_sub_problem():
    check = Checklist()
    check.score("total", 1, sub_problem=1)
    check.score("total", 1, sub_problem=2)
    assert [c.key for c in check.checks] == ["sub_1_total", "sub_2_total"]


def test_a_check_inside_a_block_is_a_fault_of_the_grader():
    check = Checklist()
    words = "'inner' was made inside the block of check 'outer'"
    with pytest.raises(GraderFault, match=words), check("outer"):
        check.score("inner", 1)


def test_blocks_can_follow_a_block_that_was_left_by_an_exception():
    check = Checklist()
    with pytest.raises(ZeroDivisionError), check("broken"):
        raise ZeroDivisionError
    with check("next"):
        pass
    assert [c.name for c in check.checks] == ["next"]


def test_a_long_message_is_cut_in_the_middle():
    check = Checklist()
    with check("rows"):
        fail("head" + "x" * 100_000 + "tail")
    message = check.checks[0].message
    assert len(message) <= MESSAGE_CHARACTERS
    assert message.startswith("head")
    assert message.endswith("tail")
    assert "characters left out" in message


def test_a_message_is_printable_and_can_be_written_as_utf_8():
    check = Checklist()
    with check("rows"):
        fail("bell \x07 escape \x1b[31m surrogate \ud800 line\nend é")
    message = check.checks[0].message
    assert message == "bell \\x07 escape \\x1b[31m surrogate \\ud800 line\nend é"
    json.dumps(message, ensure_ascii=False).encode("utf-8")


def test_a_long_message_of_control_characters_is_bounded_too():
    check = Checklist()
    with check("rows"):
        fail("\x00" * 100_000)
    assert len(check.checks[0].message) <= MESSAGE_CHARACTERS
