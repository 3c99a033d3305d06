from __future__ import annotations

import pytest

from pytest_evoclaw.schemas import make_validator


def test_the_band_reaches_the_result_files(suite):
    suite.run("--evo-tie-band=0.05").assert_outcomes(passed=1)
    make_validator("metrics").validate(suite.metrics)
    assert suite.metrics["session"]["tie_band"] == 0.05
    assert suite.metrics["groups"][0]["statistics"]["tie_band"] == 0.05


@pytest.mark.parametrize("value", ["-0.1", "2", "wide"])
def test_a_band_that_is_no_score_is_a_usage_error(suite, value):
    result = suite.run(f"--evo-tie-band={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*evo-tie-band: found *{value}*"])


def test_statistics_are_the_same_serially_and_over_xdist(suite):
    """Two tasks of different scores, so that there are intervals to compare."""
    suite.add_task("task_02_numbers")
    script = "- {task: task_01_numbers, steps: [{write: outputs/sum.json, text: '{\"value\": 6}'}]}"
    suite.add_script(f"{script}\n- {{task: task_02_numbers, steps: []}}\n")
    found = []
    for options in ([], ["-n2"]):
        scripted = ("--evo-runtime=scripted", "--evo-script=script.yaml", "--evo-repeat=2")
        suite.run_apart(*scripted, *options).assert_outcomes(failed=4)
        found.append(suite.metrics["groups"][0]["statistics"])
    numbers = found[0]["modes"]["baseline"]

    assert found[0] == found[1]
    assert (numbers["tasks"], numbers["trials"], numbers["mean"]) == (2, 4, 0.25)
    assert numbers["interval_t"] == [0.0, 1.0]
