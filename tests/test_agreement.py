from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from pytest_evoclaw.agreement import Agreement
from pytest_evoclaw.agreement import Comparison
from pytest_evoclaw.agreement import Pair
from pytest_evoclaw.agreement import compare_judges
from pytest_evoclaw.agreement_report import format_comparison
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import StoredSession
from tests.made_session import make_facts
from tests.made_session import make_grade
from tests.made_session import make_hybrid


def make_pair(first: float, second: float, task_id: str = "task_01_x") -> Pair:
    return Pair(
        task_id=task_id,
        mode="baseline",
        runtime="nanobot",
        model=None,
        variant=None,
        repeats=1,
        first=first,
        second=second,
    )


def make_session(*results: TrialResult, **facts: str) -> StoredSession:
    return StoredSession(folder=Path("x"), facts=make_facts(**facts), results=results)


def compare(ours: list[TrialResult], theirs: list[TrialResult]) -> Comparison:
    return compare_judges(make_session(*ours), make_session(*theirs))


def test_numbers_are_those_of_scipy():
    scores = [(0.1, 0.15), (0.9, 0.7), (0.4, 0.5), (1.0, 1.0)]
    found = Agreement(pairs=tuple(make_pair(*each) for each in scores))
    first, second = zip(*scores, strict=True)
    assert found.pearson == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-12)
    assert found.mean_absolute_delta == pytest.approx(0.35 / 4)
    assert (found.count_within(0.05), found.count_within(0.10)) == (2, 3)
    assert [round(pair.delta, 2) for pair in found.largest] == [-0.2, 0.1, 0.05]


@pytest.mark.parametrize(
    "scores", [[], [(0.5, 0.5)], [(0.5, 0.1), (0.5, 0.9)]], ids=["none", "one", "constant"]
)
def test_an_undefined_correlation_is_none(scores):
    assert Agreement(pairs=tuple(make_pair(*each) for each in scores)).pearson is None


def test_only_what_both_judged_and_scored_is_compared():
    judged = make_hybrid("task_01_x", "baseline", make_grade(1, 0.5))
    other = make_hybrid("task_02_x", "baseline", make_grade(1, 0.5))
    unjudged = make_hybrid("task_03_x", "baseline", Grade(checks=make_grade(1, 0).checks[:2]))
    failed = replace(other, failure=Failure(reason="judge_error", detail=""))
    found = compare([judged, other, unjudged], [judged, failed, unjudged])
    assert [pair.task_id for pair in found.scores.pairs] == ["task_01_x"]
    assert found.left_out == ("task_02_x baseline nanobot openai/gpt-x repeat 1",)


def test_repeats_of_a_task_and_mode_are_one_pair_of_means():
    ours = [
        make_hybrid("task_01_x", "preskill", make_grade(1, s), repeat=r)
        for r, s in ((1, 0), (2, 1))
    ]
    theirs = [make_hybrid("task_01_x", "preskill", make_grade(1, 1), repeat=r) for r in (1, 2, 3)]
    found = compare(ours, theirs)
    (pair,) = found.scores.pairs
    assert (pair.repeats, pair.first, pair.second) == (2, 0.875, 1.0)
    assert len(found.left_out) == 1


def test_the_judges_parts_are_compared_without_weights():
    ours = make_hybrid("task_01_x", "baseline", make_grade(1, 0.2))
    theirs = make_hybrid("task_01_x", "baseline", make_grade(1, 0.6))
    found = compare([ours], [theirs])
    assert found.parts.pairs[0].delta == pytest.approx(0.4)
    assert found.scores.pairs[0].delta == pytest.approx(0.1)


def test_the_report_names_judges_noise_modes_and_disagreements():
    def make(score: float) -> list[TrialResult]:
        grade = make_grade(1, score, samples=(score - 0.1, score + 0.1))
        return [make_hybrid("task_01_x", mode, grade) for mode in ("baseline", "preskill")]

    report = format_comparison(compare(make(0.5), make(0.9)))
    assert "- A: first, judge judge-1; its own noise 0.1414 (mean deviation)" in report
    assert "| scores | 2 | undefined | 0.1000 | 0 of 2 (0.0 %) | 2 of 2 (100.0 %) |" in report
    assert "| scores, preskill | 1 |" in report
    assert "| task_01_x | baseline | nanobot openai/gpt-x | 0.8750 | 0.9750 | +0.1000 |" in report
    same = format_comparison(compare(make(0.5), make(0.5)))
    assert "None: all scores are equal." in same
