from __future__ import annotations

import pytest

from pytest_evoclaw.skillneo.executions import ExecutionRecord
from pytest_evoclaw.skillneo.executions import Kind
from pytest_evoclaw.skillneo.ranking import Batch
from pytest_evoclaw.skillneo.ranking import compute_official
from pytest_evoclaw.skillneo.ranking import rank_batches
from tests.skillneo.made_search import make_record


def make_batch(name: str, *scores: object) -> Batch:
    return Batch(
        name=name, records=tuple(make_record(f"{name}{i}", s) for i, s in enumerate(scores))
    )


def list_names(*batches: Batch, incumbent: str | None = None) -> list[str]:
    return [each.name for each in rank_batches(batches, incumbent=incumbent)]


def test_the_official_mean_is_within_0_and_100():
    assert compute_official(make_batch("a", 0.0, 0.5, 1.0).records) == 50.0


def test_equal_rewards_in_another_order_tie_exactly():
    one = compute_official(make_batch("a", 0.1, 0.2, 0.3).records)
    assert one == compute_official(make_batch("b", 0.3, 0.1, 0.2).records)
    assert one == compute_official(make_batch("c", 0.2, 0.2, 0.2).records)


def test_nothing_measured_has_no_score():
    with pytest.raises(ValueError, match="found no measured execution"):
        compute_official(make_batch("a", Kind.INFRASTRUCTURE).records)


def test_the_official_score_goes_before_passed_checks():
    assert list_names(make_batch("a", (0.4, 4)), make_batch("b", (0.5, 0))) == ["b", "a"]


def test_passed_checks_order_official_ties():
    assert list_names(make_batch("a", (0.5, 1)), make_batch("b", (0.5, 2))) == ["b", "a"]


def test_the_auxiliary_score_is_the_share_of_passed_checks():
    (standing,) = rank_batches([make_batch("a", (0.0, 1), (0.0, 4))])
    assert standing.auxiliary == 62.5


def test_incompatible_coverage_makes_the_official_score_auxiliary_for_all():
    other = ExecutionRecord(
        identity="b", kind=Kind.COMPLETE, official=0.5, passed=1, coverage=("w", "x")
    )
    batches = [make_batch("a", (0.5, 4)), Batch(name="b", records=(other,))]
    assert [each.auxiliary for each in rank_batches(batches)] == [50.0, 50.0]


def test_the_order_of_check_names_does_not_make_coverage_incompatible():
    other = ExecutionRecord(
        identity="b", kind=Kind.COMPLETE, official=0.5, passed=2, coverage=("z", "y", "x", "w")
    )
    batches = [make_batch("a", (0.5, 4)), Batch(name="b", records=(other,))]
    assert [each.auxiliary for each in rank_batches(batches)] == [100.0, 50.0]


def test_the_incumbent_wins_an_exact_tie():
    assert list_names(make_batch("a", 0.5), make_batch("h", 0.5), incumbent="h") == ["h", "a"]


def test_other_ties_keep_their_order():
    assert list_names(make_batch("b", 0.5), make_batch("a", 0.5)) == ["b", "a"]


@pytest.mark.parametrize(
    ("kind", "official", "passed"),
    [
        (Kind.INFRASTRUCTURE, 0.0, None),
        (Kind.COMPLETE, None, None),
        (Kind.TIMEOUT, None, None),
        (Kind.MEMORY_LIMIT, None, None),
        (Kind.COMPLETE, 1.5, None),
        (Kind.COMPLETE, float("nan"), None),
        (Kind.COMPLETE, 1.0, 1),
    ],
    ids=["infrastructure", "complete", "timeout", "memory", "above", "nan", "more than covered"],
)
def test_a_record_that_contradicts_itself_is_refused(kind, official, passed):
    with pytest.raises(ValueError, match="execution x: "):
        ExecutionRecord(identity="x", kind=kind, official=official, passed=passed)


def test_a_record_survives_json():
    record = make_record("a", (0.5, 2))
    assert ExecutionRecord.from_dict(record.to_dict()) == record
