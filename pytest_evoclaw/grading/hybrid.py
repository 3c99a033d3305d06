"""Grades of two parts: what a program can check, and what a judge says of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading import JudgeFailed
from pytest_evoclaw.grading.judge import Judge
from pytest_evoclaw.grading.judge import Judgement
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PartialGrade
from pytest_evoclaw.task import GradingWeights

JUDGE_OFF = "the automated part only: the judge is off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Weighs an automated grader and a judge by the task's ``grading_weights``.

    A broken grader costs no judgement. Without a judgement there is no grade, and the automated
    part is kept beside it. ``judge`` is None where the user has turned it off.
    """

    automated: Grader
    judge: Judge | None

    def grade(self, job: GradingJob) -> Grade:
        """Return the grade of both parts; NotScored if one of them is missing."""
        automated = self.automated.grade(job)
        if self.judge is None:
            return replace(automated, notes=JUDGE_OFF)
        return join_judgement(automated, self.judge, job)


def join_judgement(automated: Grade, judge: Judge, job: GradingJob) -> Grade:
    """Add a judgement to an automated part; JudgeFailed, with that part, if there is none."""
    weights = job.task.grading_weights or GradingWeights()
    try:
        judgement = judge.judge(job, weight=weights.llm_judge)
    except JudgeFailed as error:
        partial = PartialGrade(automated=automated, judge=error.partial.judge)
        raise JudgeFailed(error.detail, partial) from error
    return join_parts(automated, judgement)


def join_parts(automated: Grade, judgement: Judgement) -> Grade:
    """Return the grade of two parts."""
    return Grade(
        checks=(*automated.checks, *judgement.checks),
        grading_type="hybrid",
        notes=automated.notes,
        judge=judgement.facts,
    )


def create(automated: Grader, judge: Judge | None) -> Hybrid:
    """Return the grader of hybrid tasks."""
    return Hybrid(automated=automated, judge=judge)
