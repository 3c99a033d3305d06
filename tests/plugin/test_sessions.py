from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_evoclaw.schemas import make_validator

VOLATILE = {
    "run_id",
    "timestamp",
    "workers",
    "execution_time",
    "total_execution_time_seconds",
    "time_efficiency_gain",
}


def strip_volatile(value: Any) -> Any:
    """Leave out what tells two sessions apart: their name, and how long things took."""
    if isinstance(value, dict):
        return {k: strip_volatile(v) for k, v in value.items() if k not in VOLATILE}
    if isinstance(value, list):
        return [strip_volatile(item) for item in value]
    return value


def test_the_three_modes_pass_on_the_oracle_and_the_metrics_are_valid(suite):
    result = suite.run(mode="all")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["evo: mode=baseline,preskill,postskill runtime=oracle*"])
    result.stdout.fnmatch_lines(["*oracle*preskill*1*1*1*100.00*1.000*", "3 trials: 3 scored"])
    make_validator("metrics").validate(suite.metrics)
    assert suite.metrics["counts"]["not_run"] == 0
    (group,) = suite.metrics["groups"]
    assert group["metrics"]["created_skills"]["preskill_count"] == 1
    (alone,) = suite.session.glob(f"{group['run_id']}_*_oracle.json")
    assert json.loads(alone.read_text(encoding="utf-8")) == group


def test_metrics_are_the_same_serially_and_under_xdist(suite):
    suite.add_task("task_02_more")
    found = []
    for workers in ([], ["-n0"], ["-n2"]):
        suite.run(*workers, "--evo-runtime=oracle,nop", mode="all").assert_outcomes(
            passed=6, failed=6
        )
        found.append(strip_volatile(suite.metrics))
    assert found[0] == found[1] == found[2]


def test_the_session_works_without_xdist(suite):
    suite.run("-p", "no:xdist").assert_outcomes(passed=1)


def test_workspaces_are_gone_afterwards_and_kept_on_request(suite, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}-work"
    suite.run(f"--evo-workspaces={outside}", mode="all").assert_outcomes(passed=3)
    assert not list(outside.glob("*/*"))
    suite.run(f"--evo-workspaces={outside}", "--evo-keep-workspaces").assert_outcomes(passed=1)
    assert list(outside.glob("*/*/workspace/outputs/sum.json"))


def test_each_phase_leaves_its_artifacts(suite):
    suite.run(mode="postskill").assert_outcomes(passed=1)
    trial = suite.session / "trials/task_01_numbers/postskill-oracle-1"
    assert sorted(path.name for path in trial.iterdir()) == [
        "first_execution",
        "second_execution",
        "skill_summary",
    ]
    second = trial / "second_execution"
    assert json.loads((second / "outputs/sum.json").read_text(encoding="utf-8")) == {"value": 6}
    assert (trial / "skill_summary/skills/adding/SKILL.md").is_file()
    assert "skills/" in (second / "prompt.md").read_text(encoding="utf-8")
    evidence = json.loads(
        (trial / "first_execution/.evoclawbench/first_run_context.json").read_text(encoding="utf-8")
    )
    assert evidence["grading"]["breakdown"] == {
        "sub_1_value": 1.0,
        "sub_1_nothing else": 1.0,
        "sub_2_value": 1.0,
        "sub_2_nothing else": 1.0,
    }


@pytest.mark.parametrize(
    ("feedback", "keys"),
    [("none", None), ("score", 4), ("checks", 5)],
)
def test_feedback_decides_what_the_summary_sees_of_the_grade(suite, feedback, keys):
    suite.run("--evo-runtime=nop", f"--evo-feedback={feedback}", mode="postskill")
    path = "trials/task_01_numbers/postskill-nop-1/first_execution/.evoclawbench"
    text = (suite.session / path / "first_run_context.json").read_text(encoding="utf-8")
    grading = json.loads(text)["grading"]
    assert (None if grading is None else len(grading)) == keys
    assert "missing" not in json.dumps(grading)
    assert suite.metrics["session"]["feedback"] == feedback
