"""How sure the numbers of one runtime and model are: the object ``statistics`` of a group.

Repeats of a task are not independent of each other, so the task is the unit everywhere: its score
is the mean over its scored repeats, and intervals are about tasks like these.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from pytest_evoclaw.group_metrics import BASELINE
from pytest_evoclaw.group_metrics import TIE
from pytest_evoclaw.group_metrics import match_arms
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.verdict import find_faults

LEAST_TASKS = 2
LEAST_RESAMPLED = 8
LEAST_PAIRS = 6  # five pairs cannot give a p-value below 2 / 2^5 = 0.06
DIGITS = 12  # the last bits of sums depend on the processor

NO_TASK = "no scored task"
NO_PAIR = "no task that both modes have scored"
ONE_TASK = "one task: the spread between tasks is unknown"
NO_SPREAD = "all tasks have the same value: the spread between tasks is unknown"
NO_NUMPY = "numpy or scipy is missing: pip install 'pytest-evoclaw[stats]'"


def describe_statistics(
    arms: Sequence[Arm], modes: Sequence[str], pass_score: float, tie_band: float = TIE
) -> dict[str, Any]:
    """Return means, intervals, differences to the baseline and pass rates of each mode.

    What a sample is too small for is null, and ``reasons`` says why by the name of the key.
    """
    by_mode = {mode: [arm for arm in arms if arm.mode == mode] for mode in modes}
    return {
        "confidence": 0.95,
        "unit": "task",
        "tie_band": tie_band,
        "modes": {
            mode: {**_describe_scores(each), "pass_rates": _describe_passes(each, pass_score)}
            for mode, each in by_mode.items()
        },
        "differences": {
            mode: describe_difference(
                [pair.delta for pair in match_arms(by_mode[BASELINE], each)], tie_band
            )
            for mode, each in by_mode.items()
            if mode != BASELINE
        },
    }


def describe_difference(deltas: Sequence[float], tie_band: float = TIE) -> dict[str, Any]:
    """Return what the paired differences of tasks say, each candidate minus baseline.

    Differences of at most ``tie_band`` are ties; they count in the mean as they are.
    """
    numbers = describe_spread(deltas, -1.0, NO_PAIR)
    p_value, reason = _find_p_value(deltas)
    wins = sum(delta > tie_band for delta in deltas)
    losses = sum(delta < -tie_band for delta in deltas)
    reasons = {**numbers.pop("reasons"), **({} if reason is None else {"p_value": reason})}
    return {
        **numbers,
        "p_value": p_value,
        "wins": wins,
        "ties": len(deltas) - wins - losses,
        "losses": losses,
        "reasons": reasons,
    }


def describe_spread(values: Sequence[float], least: float, empty: str = NO_TASK) -> dict[str, Any]:
    """Return mean, standard error and intervals of one value per task, within ``least`` to 1."""
    error, reason = _find_error(values, empty)
    answers: dict[str, tuple[Any, str | None]] = {
        "mean": (_round(math.fsum(values) / len(values)), None) if values else (None, empty),
        "standard_error": (error, reason),
        "interval_t": (None, reason),
        "interval_bootstrap": (None, reason),
    }
    if reason is None:
        answers["interval_t"] = _find_t_interval(values, least)
        answers["interval_bootstrap"] = _find_bootstrap_interval(values)
    return {
        "tasks": len(values),
        **{key: answer for key, (answer, _) in answers.items()},
        "reasons": {key: why for key, (_, why) in answers.items() if why is not None},
    }


def compute_pass_rate(passed: int, scored: int, size: int) -> tuple[float, float]:
    """Return the chances that any, and that all, of ``size`` of the scored repeats pass.

    These are the unbiased estimates of pass@k and pass^k; ``size`` is at most ``scored``.
    """
    ways = math.comb(scored, size)
    return 1 - math.comb(scored - passed, size) / ways, math.comb(passed, size) / ways


def _describe_scores(arms: Sequence[Arm]) -> dict[str, Any]:
    means = [arm.mean_score for arm in arms if arm.mean_score is not None]
    numbers = describe_spread(means, 0.0)
    return {"trials": sum(len(arm.scored) for arm in arms), **numbers}


def _describe_passes(arms: Sequence[Arm], pass_score: float) -> list[Mapping[str, Any]]:
    counted = [
        (sum(not find_faults(result, pass_score) for result in arm.scored), len(arm.scored))
        for arm in arms
    ]
    rows: list[Mapping[str, Any]] = []
    for size in range(1, max((scored for _, scored in counted), default=0) + 1):
        rates = [compute_pass_rate(p, scored, size) for p, scored in counted if scored >= size]
        rows.append(
            {
                "k": size,
                "tasks": len(rates),
                "pass_at_k": _round(math.fsum(any_ for any_, _ in rates) / len(rates)),
                "pass_hat_k": _round(math.fsum(all_ for _, all_ in rates) / len(rates)),
            }
        )
    return rows


def _find_error(values: Sequence[float], empty: str) -> tuple[float | None, str | None]:
    if not values:
        return None, empty
    if len(values) < LEAST_TASKS:
        return None, ONE_TASK
    if max(values) - min(values) <= TIE:
        return None, NO_SPREAD
    return _round(statistics.stdev(values) / math.sqrt(len(values))), None


def _find_t_interval(
    values: Sequence[float], least: float
) -> tuple[list[float] | None, str | None]:
    resampling = _load_resampling()
    if resampling is None:
        return None, NO_NUMPY
    low, high = resampling.compute_t_interval(values)
    return [_round(max(least, low)), _round(min(1.0, high))], None


def _find_bootstrap_interval(values: Sequence[float]) -> tuple[list[float] | None, str | None]:
    if len(values) < LEAST_RESAMPLED:
        return None, f"{len(values)} tasks, at least {LEAST_RESAMPLED} are needed"
    return _resample(lambda module: [_round(e) for e in module.compute_bootstrap_interval(values)])


def _find_p_value(deltas: Sequence[float]) -> tuple[float | None, str | None]:
    if not deltas:
        return None, NO_PAIR
    if len(deltas) < LEAST_PAIRS:
        return None, f"{len(deltas)} paired tasks, at least {LEAST_PAIRS} are needed"
    return _resample(lambda module: _round(module.compute_p_value(deltas)))


def _resample(compute: Callable[[ModuleType], Any]) -> tuple[Any, str | None]:
    resampling = _load_resampling()
    return (None, NO_NUMPY) if resampling is None else (compute(resampling), None)


def _load_resampling() -> ModuleType | None:
    try:
        from pytest_evoclaw import resampling
    except ImportError:
        return None
    return resampling


def _round(value: float) -> float:
    return round(value, DIGITS)
