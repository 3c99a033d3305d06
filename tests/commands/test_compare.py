from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.results import TrialResult
from tests.made_results import make_phase
from tests.made_results import make_result
from tests.made_results import make_scored
from tests.made_results import make_trial
from tests.made_results import make_unscored
from tests.made_results import make_usage
from tests.made_sessions import write_session
from tests.test_metrics import FACTS

SCORES = [n / 10 for n in range(1, 9)]


def make_session(
    folder: Path, scores: list[float], more: list[TrialResult] | None = None, **facts: object
) -> str:
    results = [
        make_result(
            make_trial(f"task_{n}_x"),
            make_phase("execution", (score,), make_usage(100, 20, 0, 0.01 * n)),
        )
        for n, score in enumerate(scores, 1)
    ]
    known = replace(FACTS, run_id=folder.name, **facts)  # type: ignore[arg-type]
    return str(write_session(folder, [*results, *(more or [])], known))


@pytest.fixture
def before(tmp_path: Path) -> str:
    return make_session(tmp_path / "before", SCORES)


@pytest.fixture
def planted(tmp_path: Path) -> str:
    """The third task is worse, the fifth one better."""
    scores = [s - 0.2 * (n == 3) + 0.1 * (n == 5) for n, s in enumerate(SCORES, 1)]
    return make_session(tmp_path / "after", scores)


def test_regressions_come_first_with_their_cost(before, planted, capsys):
    assert main(["compare", before, planted]) == 0
    out = capsys.readouterr().out

    assert out.startswith("before → after\nregressions 1, gains 1, ties 6, not comparable 0\n")
    assert out.index("\nregressions\n") < out.index("\ngains\n") < out.index("\nmeans of paired")
    (worse,) = [line for line in out.splitlines() if "task_3_x" in line]
    assert worse.split()[-6:] == ["baseline", "30.00", "10.00", "-20.00", "0.0300", "0.0300"]


def test_means_have_an_interval_and_a_p_value(before, planted, capsys):
    main(["compare", before, planted])
    line = capsys.readouterr().out.splitlines()[-2].split()

    # Differences -0.2, 0.1 and six of 0: mean -0.0125, deviation 0.0835, t of 7 degrees 2.3646.
    assert line[3:6] == ["8", "45.00", "43.75"]
    assert line[6:10] == ["-1.25", "-8.23", "to", "+5.73"]
    assert line[10] == "1.000"
    assert line[-2:] == ["0.3600", "0.3600"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["--fail-on-regression"], 1),
        (["--fail-on-regression", "--tie-band=0.25"], 0),
        (["--fail-on-regression", "--mode=preskill"], 2),
        (["--fail-below=0.4"], 0),
        (["--fail-below=0.44"], 1),
        (["--fail-below=0.4", "--fail-on-regression"], 1),
    ],
    ids=str,
)
def test_exit_codes(before, planted, options, code):
    assert main(["compare", before, planted, *options]) == code


def test_a_failure_says_which_task(before, planted, capsys):
    main(["compare", before, planted, "--fail-on-regression", "--fail-below=0.9"])
    out = capsys.readouterr().out

    assert "FAILED: after: task_3_x baseline got worse by 20.00 points" in out
    assert (
        "FAILED: after: nanobot openai/gpt-x baseline has a mean of 43.75 %, "
        "at least 90 % wanted" in out
    )


def test_a_task_that_lost_its_score_is_no_regression_but_fails_the_gate(tmp_path, before, capsys):
    after = make_session(tmp_path / "after", SCORES[:7], [make_unscored("task_8_x", "baseline")])

    assert main(["compare", before, after]) == 0
    out = capsys.readouterr().out
    assert "regressions 0, gains 0, ties 7, not comparable 1" in out
    assert "not comparable: task_8_x baseline (nanobot openai/gpt-x): scored only before" in out
    assert main(["compare", before, after, "--fail-on-regression"]) == 1
    assert "task_8_x baseline has no score any more" in capsys.readouterr().out


def test_a_mode_without_a_score_is_below_every_limit(tmp_path, before, capsys):
    after = make_session(tmp_path / "after", [], [make_unscored("task_1_x", "baseline")])

    assert main(["compare", before, after, "--fail-below=0"]) == 1
    assert "has no score" in capsys.readouterr().out


def test_several_sessions_are_each_compared_with_the_first(tmp_path, before, planted, capsys):
    third = make_session(tmp_path / "third", [1.0] * 8)

    assert main(["compare", before, planted, third]) == 0
    out = capsys.readouterr().out
    assert "before → after\n" in out
    assert "before → third\nregressions 0, gains 8" in out


def test_settings_that_differ_are_said(tmp_path, before, capsys):
    after = make_session(tmp_path / "after", SCORES, judge_model="openai/other")

    main(["compare", before, after])
    assert "settings differ: judge_model: found None and 'openai/other'" in capsys.readouterr().out


def test_one_model_each_is_compared_though_they_differ(tmp_path, before, capsys):
    results = [make_scored(f"task_{n}_x", "baseline", 1.0) for n in range(1, 9)]
    other = [replace(r, trial=replace(r.trial, model="b/y")) for r in results]
    after = str(write_session(tmp_path / "after", other, replace(FACTS, run_id="after")))

    assert main(["compare", before, after]) == 0
    assert "nanobot openai/gpt-x → nanobot b/y" in capsys.readouterr().out


def test_other_fixtures_make_another_task(tmp_path, before, capsys):
    result = make_scored("task_1_x", "baseline", 1.0)
    varied = replace(result, trial=replace(result.trial, variant=7))
    after = str(write_session(tmp_path / "after", [varied], replace(FACTS, run_id="after")))

    assert main(["compare", before, after]) == 0
    assert "regressions 0, gains 0, ties 0, not comparable 9" in capsys.readouterr().out


def test_sessions_with_nothing_in_common_are_a_usage_error(tmp_path, before, capsys):
    results = [make_scored("task_1_x", "preskill", 1.0)]
    after = str(write_session(tmp_path / "after", results, FACTS))

    assert main(["compare", before, after]) == 2
    assert "found no runtime, model and mode in both" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1.5", "-0.1", "x", "nan"])
def test_limits_are_scores(before, value, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["compare", before, before, f"--fail-below={value}"])
    assert caught.value.code == 2
    assert "allowed a number within 0..1" in capsys.readouterr().err
