from __future__ import annotations

from pathlib import Path

import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import JudgeFailed
from pytest_evoclaw.grading.hybrid import JUDGE_OFF
from pytest_evoclaw.grading.hybrid import Hybrid
from pytest_evoclaw.grading.module import Module
from tests import judges
from tests.grading.made_judge import WEIGHTS
from tests.grading.made_judge import make_job
from tests.grading.made_judge import open_judge


@pytest.mark.parametrize(
    ("weights", "score"),
    [(WEIGHTS, 0.75 * 0.5 + 0.25 * 0.7), ("", 0.5 * 0.5 + 0.5 * 0.7)],
    ids=["three-to-one", "default"],
)
def test_the_parts_are_weighed_as_the_task_says(tmp_path: Path, weights: str, score: float):
    job = make_job(tmp_path, grading_type="hybrid", weights=weights)
    (job.workspace / "outputs/letter.txt").write_text("It is late.", encoding="utf-8")
    with open_judge(judges.good({"c1": 0.4, "c2": 1})) as (judge, _):
        grade = Hybrid(automated=Module(), judge=judge).grade(job)
    assert grade.score == pytest.approx(score, abs=1e-15)
    assert (grade.automated_score, grade.judge_score) == (0.5, 0.7)
    assert [check.key for check in grade.checks] == [
        "sub_1_exists",
        "sub_1_days",
        "judge_tone",
        "judge_facts",
    ]
    assert grade.sub_problem_scores == {1: 0.5}
    assert grade.grading_type == "hybrid"


def test_without_a_judgement_there_is_no_grade_and_the_automated_part_is_kept(tmp_path: Path):
    job = make_job(tmp_path, grading_type="hybrid")
    with open_judge(judges.refusing) as (judge, _), pytest.raises(JudgeFailed) as caught:
        Hybrid(automated=Module(), judge=judge).grade(job)
    partial = caught.value.partial
    assert partial.automated is not None
    assert partial.automated.score == 1.0
    assert partial.judge is not None
    assert partial.judge.weight == 0.5


def test_a_broken_grader_costs_no_judgement(tmp_path: Path):
    job = make_job(tmp_path, grading_type="hybrid")
    assert job.task.grader is not None
    job.task.grader.write_text("def grade(workspace, check):\n    1 / 0\n", encoding="utf-8")
    with open_judge(judges.good()) as (judge, server), pytest.raises(NotScored) as caught:
        Hybrid(automated=Module(), judge=judge).grade(job)
    assert caught.value.reason is Reason.GRADER
    assert server.requests == []


def test_with_the_judge_off_the_grade_says_that_it_is_the_automated_part(tmp_path: Path):
    grade = Hybrid(automated=Module(), judge=None).grade(make_job(tmp_path, grading_type="hybrid"))
    assert (grade.score, grade.grading_type, grade.notes) == (1.0, "automated", JUDGE_OFF)
