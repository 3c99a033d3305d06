from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies

from pytest_evoclaw.skillneo.acceptance import NO_FLOOR
from pytest_evoclaw.skillneo.acceptance import Margins
from pytest_evoclaw.skillneo.acceptance import compute_floor
from pytest_evoclaw.skillneo.acceptance import judge_child
from pytest_evoclaw.skillneo.acceptance import pool_score
from pytest_evoclaw.skillneo.ranking import Standing
from tests.skillneo.made_search import make_record

PERCENT = strategies.floats(0, 100)


def stand(name: str, official: float, auxiliary: float) -> Standing:
    return Standing(name=name, official=official, auxiliary=auxiliary)


@pytest.mark.parametrize(
    ("child", "incumbent", "floor", "accepted", "why"),
    [
        ((50.0, 0.0), (40.0, 90.0), 40.0, True, "official gain"),
        ((40.1, 0.0), (40.0, 0.0), 40.0, True, "official gain"),
        ((50.0, 0.0), (40.0, 0.0), 50.0, False, "not above the floor 50.0"),
        ((50.0, 0.0), (40.0, 0.0), 60.0, False, "not above the floor 60.0"),
        ((50.0, 80.0), (50.0, 49.0), 49.0, True, "official tie, auxiliary gain"),
        ((50.0, 80.0), (50.0, 50.0), 49.0, False, "no gain"),
        ((50.0, 90.0), (50.0, 50.0), 50.0, False, "not above the floor 50.0"),
        ((50.0, 50.0), (50.0, 50.0), 0.0, False, "no gain"),
        ((40.0, 100.0), (50.0, 0.0), 0.0, False, "no gain"),
        ((50.0, 0.0), (40.0, 0.0), NO_FLOOR, True, "official gain"),
    ],
    ids=[
        "gain",
        "any gain is beyond the margin of 0",
        "gain, at the floor",
        "gain, below the floor",
        "tie, more than 30 points of checks",
        "tie, exactly 30 points of checks",
        "tie, checks, at the floor",
        "tie on both",
        "loss, many checks",
        "no floor",
    ],
)
def test_acceptance(child, incumbent, floor, accepted, why):
    verdict = judge_child(stand("c", *child), stand("h", *incumbent), floor, Margins())
    assert (verdict.accepted, verdict.why) == (accepted, why)


def test_a_gain_within_the_margin_is_none():
    verdict = judge_child(stand("c", 45, 99), stand("h", 40, 0), 0.0, Margins(official=5.0))
    assert (verdict.accepted, verdict.why) == (False, "official gain within the margin")


def test_the_floor_can_be_off():
    margins = Margins(strict_floor=False)
    assert judge_child(stand("c", 50, 0), stand("h", 40, 0), 90.0, margins).accepted


def test_without_an_incumbent_record_the_floor_does_not_count():
    verdict = judge_child(stand("c", 10, 0), None, 90.0, Margins())
    assert verdict.accepted
    assert verdict.official_gain is None


def test_without_a_child_there_is_nothing_to_accept():
    assert not judge_child(None, stand("h", 10, 0), 0.0, Margins()).accepted
    assert not judge_child(None, None, NO_FLOOR, Margins()).accepted


def test_an_execution_that_was_recorded_twice_counts_once():
    records = [make_record("a", 1.0), make_record("a", 0.0), make_record("b", 0.0)]
    assert pool_score(records) == 25.0


def test_the_floor_is_the_larger_pool():
    root = [make_record("a", 0.2)]
    incumbent = [make_record("b", 0.5), make_record("c", 0.7)]
    assert compute_floor(root, incumbent) == 60.0
    assert compute_floor(root, []) == 20.0
    assert compute_floor([], []) == -math.inf


@given(PERCENT, PERCENT, PERCENT, PERCENT, PERCENT)
def test_nothing_at_or_below_floor_or_incumbent_is_accepted(child, aux, incumbent, other, floor):
    verdict = judge_child(stand("c", child, aux), stand("h", incumbent, other), floor, Margins())
    if verdict.accepted:
        assert child > floor
        assert child >= incumbent


@given(PERCENT, PERCENT)
def test_a_version_never_replaces_its_equal(official, auxiliary):
    one = stand("c", official, auxiliary)
    assert not judge_child(one, stand("h", official, auxiliary), NO_FLOOR, Margins()).accepted
