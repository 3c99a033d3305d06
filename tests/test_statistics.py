from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from statistics import fmean
from statistics import stdev
from typing import Any

import pytest

from pytest_evoclaw.metrics import compute_metrics
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.schemas import make_validator
from pytest_evoclaw.statistics import compute_pass_rate
from pytest_evoclaw.statistics import describe_difference
from pytest_evoclaw.statistics import describe_spread
from tests.made_results import make_scored
from tests.made_results import make_unscored
from tests.test_metrics import FACTS

RATES = {"baseline": 0.4, "preskill": 0.6, "postskill": 0.55}
NULLS = ("standard_error", "interval_t", "interval_bootstrap")


def describe(results: list[TrialResult]) -> dict[str, Any]:
    metrics = compute_metrics(results, FACTS)
    make_validator("metrics").validate(json.loads(json.dumps(metrics, allow_nan=False)))
    statistics = metrics["groups"][0]["statistics"]
    assert isinstance(statistics, dict)
    return statistics


def draw_rate(rates: random.Random, mean: float) -> float:
    """The chance to solve one task: tasks differ, and ``mean`` is the truth about all of them."""
    return rates.betavariate(3 * mean, 3 * (1 - mean))


def draw_session(
    seed: int, tasks: int = 20, repeats: int = 3, checks: int = 4
) -> dict[str, list[float]]:
    """The task means of each mode: every trial has ``checks`` checks, passed at the task's rate."""
    dice = random.Random(seed)
    means: dict[str, list[float]] = {mode: [] for mode in RATES}
    for _ in range(tasks):
        for mode, rate in RATES.items():
            chance = draw_rate(dice, rate)
            passed = sum(dice.random() < chance for _ in range(repeats * checks))
            means[mode].append(passed / (repeats * checks))
    return means


def test_numbers_worked_out_by_hand():
    numbers = describe_spread([0.2, 0.4, 0.6, 0.8], 0.0)
    # Deviation sqrt((0.09 + 0.01 + 0.01 + 0.09) / 3); t of 3 degrees of freedom is 3.18245.
    error = math.sqrt(0.2 / 3) / 2

    assert numbers["mean"] == 0.5
    assert numbers["standard_error"] == pytest.approx(error)
    assert numbers["interval_t"] == pytest.approx(
        [0.5 - 3.182446 * error, 0.5 + 3.182446 * error], abs=1e-6
    )
    assert numbers["interval_bootstrap"] is None
    assert numbers["reasons"] == {"interval_bootstrap": "4 tasks, at least 8 are needed"}


def test_exact_p_value_counts_signs():
    # Of 2^6 signs only all plus and all minus are as far from 0.
    assert describe_difference([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])["p_value"] == 2 / 64
    # One minus: 0.1 may be flipped against, and so may the other 0.1s: (1 + 4) * 2 of 64.
    assert describe_difference([0.1, 0.1, 0.1, 0.1, 0.1, -0.1])["p_value"] == pytest.approx(14 / 64)
    assert describe_difference([0.0] * 6)["p_value"] == 1.0


def test_sampled_p_value_is_near_the_exact_one():
    dice = random.Random(5)
    deltas = [dice.gauss(0.05, 0.15) for _ in range(12)]
    exact = describe_difference(deltas)["p_value"]
    # A pair without a difference changes no comparison, but is beyond the exact ones.
    sampled = describe_difference([*deltas, 0.0])["p_value"]

    assert sampled == pytest.approx(exact, abs=0.02)


def test_intervals_agree_with_each_other_on_a_large_sample():
    dice = random.Random(3)
    values = [dice.random() for _ in range(400)]
    numbers = describe_spread(values, 0.0)
    half = 1.965927 * stdev(values) / 20

    assert numbers["interval_t"] == pytest.approx([fmean(values) - half, fmean(values) + half])
    assert numbers["interval_bootstrap"] == pytest.approx(numbers["interval_t"], abs=0.004)


@pytest.mark.parametrize(
    ("passed", "scored", "size", "rates"),
    [
        (2, 3, 1, (2 / 3, 2 / 3)),
        (2, 3, 2, (1.0, 1 / 3)),
        (1, 4, 2, (0.5, 0.0)),
        (3, 3, 3, (1.0, 1.0)),
        (0, 3, 2, (0.0, 0.0)),
    ],
    ids=str,
)
def test_pass_rates_count_the_ways_to_choose(passed, scored, size, rates):
    assert compute_pass_rate(passed, scored, size) == pytest.approx(rates)


def test_pass_rates_are_over_tasks_with_enough_scored_repeats():
    results = [
        *(make_scored("task_1_x", "baseline", score, n) for n, score in enumerate((1, 1, 0), 1)),
        make_scored("task_2_x", "baseline", 0.5, 1),
        make_scored("task_2_x", "baseline", 1.0, 2),
        make_unscored("task_2_x", "baseline", repeat=3),
    ]
    rows = describe(results)["modes"]["baseline"]["pass_rates"]

    assert [(row["k"], row["tasks"]) for row in rows] == [(1, 2), (2, 2), (3, 1)]
    assert [row["pass_at_k"] for row in rows] == pytest.approx([(2 / 3 + 1 / 2) / 2, 1.0, 1.0])
    assert [row["pass_hat_k"] for row in rows] == pytest.approx([(2 / 3 + 1 / 2) / 2, 1 / 6, 0.0])


def test_repeats_of_one_task_are_not_a_sample_of_tasks():
    results = [make_scored("task_1_x", "baseline", n / 10, n) for n in range(1, 10)]
    numbers = describe(results)["modes"]["baseline"]

    assert (numbers["tasks"], numbers["trials"], numbers["mean"]) == (1, 9, 0.5)
    assert [numbers[key] for key in NULLS] == [None] * 3
    assert numbers["reasons"]["interval_t"].startswith("one task")


def test_a_mode_without_scores_has_no_numbers_but_a_reason():
    numbers = describe(
        [make_scored("task_1_x", "baseline", 1), make_unscored("task_1_x", "preskill")]
    )

    assert numbers["modes"]["preskill"]["mean"] is None
    assert set(numbers["modes"]["preskill"]["reasons"]) == {"mean", *NULLS}
    assert numbers["differences"]["preskill"]["reasons"] == dict.fromkeys(
        ("mean", *NULLS, "p_value"), "no task that both modes have scored"
    )


def test_equal_scores_are_no_proof_that_all_tasks_score_so():
    numbers = describe([make_scored(f"task_{n}_x", "baseline", 1.0) for n in range(1, 11)])

    assert numbers["modes"]["baseline"]["mean"] == 1.0
    assert numbers["modes"]["baseline"]["interval_t"] is None
    assert "same value" in numbers["modes"]["baseline"]["reasons"]["interval_t"]


def test_differences_leave_out_tasks_that_one_side_has_not_scored():
    results = [
        *(make_scored(f"task_{n}_x", "baseline", 0.5) for n in range(1, 9)),
        *(make_scored(f"task_{n}_x", "preskill", 0.5 + n / 20) for n in range(1, 8)),
        make_unscored("task_8_x", "preskill"),
        make_scored("task_9_x", "preskill", 0.0),
    ]
    numbers = describe(results)["differences"]["preskill"]

    assert numbers["tasks"] == 7
    assert numbers["mean"] == pytest.approx(0.2)
    assert numbers["p_value"] == 2 / 2**7
    assert (numbers["wins"], numbers["ties"], numbers["losses"]) == (7, 0, 0)


def test_small_differences_are_ties_within_the_band():
    numbers = describe_difference([0.02, -0.02, 0.1, -0.3], tie_band=0.02)

    assert (numbers["wins"], numbers["ties"], numbers["losses"]) == (1, 2, 1)
    assert numbers["mean"] == pytest.approx(-0.05)


def test_the_band_of_a_session_is_in_its_statistics():
    results = [make_scored("task_1_x", "baseline", 0.5), make_scored("task_1_x", "preskill", 0.51)]
    metrics = compute_metrics(results, replace(FACTS, tie_band=0.05))
    statistics = metrics["groups"][0]["statistics"]

    assert metrics["session"]["tie_band"] == statistics["tie_band"] == 0.05
    assert statistics["differences"]["preskill"]["ties"] == 1


def test_order_of_results_changes_no_digit():
    dice = random.Random(1)
    results = [
        make_scored(f"task_{task}_x", mode, dice.random(), repeat)
        for task in range(1, 21)
        for mode in RATES
        for repeat in (1, 2, 3)
    ]
    first = describe(results)
    dice.shuffle(results)

    assert json.dumps(describe(results)) == json.dumps(first)


def test_a_session_of_known_rates_is_within_its_intervals():
    """20 tasks, 3 modes, 3 repeats, as scripted agents would leave them."""
    dice = random.Random(11)
    results = []
    for task in range(1, 21):
        for mode, rate in RATES.items():
            chance = draw_rate(dice, rate)
            results += [
                make_scored(f"task_{task}_x", mode, float(dice.random() < chance), repeat)
                for repeat in (1, 2, 3)
            ]
    numbers = describe(results)

    for mode, rate in RATES.items():
        for key in ("interval_t", "interval_bootstrap"):
            low, high = numbers["modes"][mode][key]
            assert low < rate < high, (mode, key)
    for mode in ("preskill", "postskill"):
        low, high = numbers["differences"][mode]["interval_t"]
        assert low < RATES[mode] - RATES["baseline"] < high


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Of 1,000 sessions between 93 and 97 % have the truth within the 95 % interval."""
    covered: Counter[tuple[str, str]] = Counter()
    for seed in range(1000):
        means = draw_session(seed)
        deltas = [c - b for b, c in zip(means["baseline"], means["preskill"], strict=True)]
        truths = {
            "mean": (describe_spread(means["baseline"], 0.0), 0.4),
            "difference": (describe_spread(deltas, -1.0), 0.2),
        }
        for name, (numbers, truth) in truths.items():
            for key in ("interval_t", "interval_bootstrap"):
                low, high = numbers[key]
                covered[name, key] += low <= truth <= high

    assert len(covered) == 4
    assert all(930 <= count <= 970 for count in covered.values()), covered


def test_a_large_session_takes_a_second_at_most():
    dice = random.Random(2)
    results = [
        make_scored(f"task_{task}_x", mode, dice.random(), repeat)
        for task in range(1, 101)
        for mode in RATES
        for repeat in (1, 2, 3)
    ]
    describe(results[:30])  # imports
    from pytest_evoclaw.metrics import collect_arms
    from pytest_evoclaw.statistics import describe_statistics

    arms = collect_arms(results)
    started = time.process_time()
    describe_statistics(arms, [*RATES], 1.0)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("missing", ["numpy", "scipy"])
def test_without_numpy_intervals_are_null_and_say_so(missing):
    program = f"""
import json, sys
sys.modules[{missing!r}] = None
from pytest_evoclaw.statistics import describe_difference
print(json.dumps(describe_difference([0.1 * n for n in range(10)])))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    numbers = json.loads(done.stdout)

    assert numbers["mean"] == pytest.approx(0.45)
    assert numbers["standard_error"] is not None
    assert set(numbers["reasons"]) == {"interval_t", "interval_bootstrap", "p_value"}
    assert all("pytest-evoclaw[stats]" in words for words in numbers["reasons"].values())


def test_the_sanity_task_is_not_in_the_statistics():
    sanity = make_scored("task_00_sanity", "baseline", 1.0)
    other = replace(sanity, trial=replace(sanity.trial, task_id="task_1_x", family="Sanity"))
    numbers = describe([sanity, other, make_scored("task_2_x", "baseline", 0.5)])

    assert numbers["modes"]["baseline"]["tasks"] == 1
