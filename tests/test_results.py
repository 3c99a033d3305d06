from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import execnet
import pytest

from pytest_evoclaw.errors import Reason
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from pytest_evoclaw.schemas import make_validator
from tests.made_results import make_phase
from tests.made_results import make_result
from tests.made_results import make_scored
from tests.made_results import make_skill
from tests.made_results import make_trial
from tests.made_results import make_unscored
from tests.made_results import make_usage

FULL = replace(
    make_result(
        make_trial(mode="preskill"),
        replace(make_phase("skill_generation"), created_skills=(make_skill(),), notes=("a note",)),
        replace(
            make_phase("execution", (1.0, 0.5), make_usage(cached=3, cost=0.25)),
            execution=Execution(
                status="timeout", exit_code=None, seconds=9.5, limit="timeout", survivors=2, turns=4
            ),
            skill_changes=("changed parse-data/SKILL.md",),
            fixture_changes=("removed data.csv",),
        ),
    ),
    settings={"environment": "local", "timeout_seconds": 60.0},
)
RESULTS = pytest.mark.parametrize(
    "result",
    [
        FULL,
        make_scored("task_01_x", "postskill", 1.0),
        make_unscored("task_02_x", "baseline"),
        replace(FULL, failure=Failure(reason="judge_error", detail="line 1\nline 2 é")),
        replace(FULL, trial=replace(FULL.trial, model=None)),
    ],
    ids=["full", "postskill", "dead-worker", "judge-error", "no-model"],
)


@RESULTS
def test_result_crosses_xdist_unchanged(result: TrialResult):
    assert TrialResult.from_dict(execnet.loads(execnet.dumps(result.to_dict()))) == result


@RESULTS
def test_result_comes_back_from_json_unchanged(result: TrialResult):
    assert TrialResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result


@RESULTS
def test_journal_line_has_the_published_shape(result: TrialResult):
    make_validator("trial").validate(json.loads(json.dumps(result.to_dict())))


def test_reason_given_as_enum_crosses_xdist():
    result = replace(FULL, failure=Failure(reason=Reason.GRADER, detail="it raised"))

    assert execnet.loads(execnet.dumps(result.to_dict()))["failure"]["reason"] == "grader_error"


def test_file_name_that_is_no_utf8_is_escaped():
    phase = replace(make_phase("execution", (1.0,)), notes=("skipped b\udcff.md",))
    data = make_result(make_trial(), phase).to_dict()

    assert execnet.loads(execnet.dumps(data))["phases"][0]["notes"] == [r"skipped b\udcff.md"]


def test_foreign_type_is_named_before_it_kills_a_worker():
    result = replace(FULL, settings={"workspace": Path("/w")})

    with pytest.raises(TypeError, match=r"holds PosixPath PosixPath\('/w'\)"):
        result.to_dict()


def test_score_is_that_of_the_last_graded_phase():
    result = make_scored("task_01_x", "postskill", 0.75)

    assert result.score == 0.75
    assert [phase.name for phase in result.graded_phases] == ["first_execution", "second_execution"]


def test_failed_trial_has_no_score_although_a_phase_was_graded():
    result = replace(FULL, failure=Failure(reason="provider_error", detail=""))

    assert result.score is None
    assert result.primary is None


def test_changes_are_seen_in_any_phase():
    assert FULL.skills_changed
    assert FULL.fixtures_changed
    assert not make_scored("task_01_x", "preskill", 1.0).skills_changed


def test_usage_adds_up_and_one_unknown_part_makes_the_sum_unknown():
    known = Usage(input_tokens=1, output_tokens=2, cost_usd=0.5, source="provider")
    estimated = Usage(input_tokens=3, output_tokens=4, source="estimated", partial=True)

    assert known + estimated == Usage(
        input_tokens=4, output_tokens=6, cost_usd=None, source="estimated", partial=True
    )


def test_total_of_no_usage_is_unknown():
    assert Usage.total([]) == Usage()
    assert Usage().total_tokens is None


def test_total_tokens_include_cached_ones():
    assert make_usage(fresh=10, out=5, cached=85).total_tokens == 100


def test_sub_problem_scores_are_means_of_their_checks():
    grade = Grade(
        checks=(
            Check(name="exists", sub_problem=2, score=1.0),
            Check(name="total", sub_problem=2, score=0.0),
            Check(name="total", sub_problem=1, score=0.25),
            Check(name="tidy", score=0.75),
        )
    )

    assert grade.sub_problem_scores == {1: 0.25, 2: 0.5}
    assert grade.score == 0.5
    assert [check.key for check in grade.checks] == [
        "sub_2_exists",
        "sub_2_total",
        "sub_1_total",
        "tidy",
    ]
