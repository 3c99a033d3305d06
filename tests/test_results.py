from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import execnet
import pytest

from pytest_evoclaw.errors import Reason
from pytest_evoclaw.judge_facts import JudgeFacts
from pytest_evoclaw.judge_facts import SeenFile
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PartialGrade
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
JUDGE = JudgeFacts(
    model="openai/gpt-x",
    base_url="https://api.openai.com/v1",
    weight=0.25,
    parameters={"temperature": 0},
    prompt_digest="ab",
    prompt_characters=12,
    samples=(0.5, 0.75),
    replies=("{}",),
    usage=make_usage(cost=0.01),
    seconds=2.5,
    seen=(SeenFile(path="outputs/a.txt", kind="text", size=3, shown=3),),
    notes=("a note",),
)
HYBRID = Grade(
    checks=(
        Check(name="total", sub_problem=1, score=0.5),
        Check(name="tone", score=1.0, message="warm", part="judge"),
        Check(name="depth", score=0.25, part="judge"),
    ),
    grading_type="hybrid",
    judge=JUDGE,
)


def make_graded(**changes: Any) -> TrialResult:
    """A trial of one phase that a judge had its part in."""
    return make_result(make_trial(), replace(make_phase("execution"), **changes))


UNJUDGED = PartialGrade(automated=Grade(checks=HYBRID.checks[:1]), judge=JUDGE)
RESULTS = pytest.mark.parametrize(
    "result",
    [
        FULL,
        make_scored("task_01_x", "postskill", 1.0),
        make_unscored("task_02_x", "baseline"),
        replace(FULL, failure=Failure(reason="judge_error", detail="line 1\nline 2 é")),
        replace(FULL, trial=replace(FULL.trial, model=None)),
        make_graded(grade=HYBRID),
        make_graded(partial=UNJUDGED),
        make_graded(partial=PartialGrade()),
    ],
    ids=[
        "full",
        "postskill",
        "dead-worker",
        "judge-error",
        "no-model",
        "hybrid",
        "unjudged",
        "nothing-graded",
    ],
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


def test_a_hybrid_score_weighs_the_means_of_its_parts():
    assert HYBRID.automated_score == 0.5
    assert HYBRID.judge_score == 0.625
    assert HYBRID.score == 0.75 * 0.5 + 0.25 * 0.625


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7, 0.15])
def test_two_full_parts_make_a_full_score_whatever_the_weights(weight):
    checks = (Check(name="a", score=1.0), Check(name="b", score=1.0, part="judge"))
    assert Grade(checks=checks, judge=replace(JUDGE, weight=weight)).score == 1.0


def test_a_grade_of_one_part_is_the_mean_of_its_checks():
    alone = replace(HYBRID, checks=HYBRID.checks[1:], grading_type="llm_judge")
    assert (alone.automated_score, alone.score) == (None, 0.625)


def test_criteria_have_keys_of_their_own_and_no_sub_problem():
    assert [check.key for check in HYBRID.checks] == ["sub_1_total", "judge_tone", "judge_depth"]
    assert HYBRID.sub_problem_scores == {1: 0.5}


def test_judges_are_listed_apart_from_the_usage_of_the_agents():
    for changes in ({"grade": HYBRID}, {"partial": UNJUDGED}):
        result = make_graded(**changes)
        assert result.judgements == (JUDGE,)
        assert result.usage.cost_usd is None
    assert make_graded().judgements == ()


def test_the_noise_of_a_judge_needs_two_samples():
    assert JUDGE.noise == pytest.approx(0.25 / 2**0.5)
    assert replace(JUDGE, samples=(0.5,)).noise is None
