"""Modes of one runtime and model compared: the object ``metrics`` of published result files."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import TypedDict

from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import Executions
from pytest_evoclaw.measures import compute_efficiency
from pytest_evoclaw.measures import compute_mean
from pytest_evoclaw.measures import compute_ratio
from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.measures import select_all
from pytest_evoclaw.measures import select_final
from pytest_evoclaw.measures import total_cost
from pytest_evoclaw.measures import total_seconds
from pytest_evoclaw.measures import total_tokens
from pytest_evoclaw.measures import total_usage
from pytest_evoclaw.published import average_first_pass
from pytest_evoclaw.published import average_phase
from pytest_evoclaw.published import list_skills
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.verdict import find_faults

BASELINE = "baseline"
TRANSFER = "transfer"
PUBLISHED_MODES = (BASELINE, "preskill", "postskill")
TIE = 1e-9  # scores are means of floats: what differs less is the same score

Select = Callable[[TrialResult], Executions]
Measure = Callable[[Executions], float | None]
# Each resource of ``efficiency_vs_baseline`` and how to measure it in one trial.
RESOURCES: tuple[tuple[str, Measure], ...] = (
    ("token_efficiency_gain", total_tokens),
    ("cost_efficiency_gain", total_cost),
    ("time_efficiency_gain", total_seconds),
)


class PairedEntry(TypedDict):
    """Baseline and candidate on the tasks where both are scored; ``delta`` = candidate - baseline.

    ``unpaired_tasks`` are the tasks left out on both sides, because one of them has no score.
    """

    paired_tasks: int
    unpaired_tasks: list[str]
    baseline_mean: float | None
    candidate_mean: float | None
    delta: float | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One task with a score in both modes."""

    baseline: Arm
    candidate: Arm

    @property
    def delta(self) -> float:
        """Candidate minus baseline score, within -1..1."""
        return (self.candidate.mean_score or 0.0) - (self.baseline.mean_score or 0.0)


def compute_group_metrics(
    arms: Sequence[Arm], modes: Sequence[str], pass_score: float
) -> dict[str, Any]:
    """Compute the published ``metrics`` over these tasks, and ours beside them.

    ``modes`` begin with the published three, which are always reported, with null for what is
    absent. A task passes if all its scored repeats do. An arm without a score is counted in
    ``task_counts``, and in nothing else.
    """
    by_mode = {mode: [arm for arm in arms if arm.mode == mode] for mode in modes}
    candidates = [mode for mode in modes if mode != BASELINE]
    pairs = {mode: match_arms(by_mode[BASELINE], by_mode[mode]) for mode in candidates}
    return {
        "execution_only": _compute_scope(by_mode, pairs, select_final),
        "end_to_end": _compute_scope(by_mode, pairs, select_all),
        "postskill": _compare_passes(by_mode["postskill"]),
        "created_skills": _list_created(by_mode, candidates),
        "skill_quality": {
            f"{mode}_mean": compute_mean(
                [s["quality"] for a in by_mode[mode] for s in list_skills(a)]
            )
            for mode in candidates
        },
        "skill_mutation_violations": {
            mode: sum(r.skills_changed for arm in by_mode[mode] for r in arm.scored)
            for mode in candidates
        },
        "fixture_mutation_violations": {
            mode: sum(r.fixtures_changed for arm in by_mode[mode] for r in arm.scored)
            for mode in modes
        },
        "paired_vs_baseline": {
            mode: _describe_pairs(pairs[mode], [*by_mode[BASELINE], *by_mode[mode]])
            for mode in candidates
        },
        "task_counts": {mode: _count_tasks(by_mode[mode], pass_score) for mode in modes},
        **({"transfer": _compare_variants(by_mode[TRANSFER])} if TRANSFER in by_mode else {}),
    }


def match_arms(baseline: Sequence[Arm], candidate: Sequence[Arm]) -> list[Pair]:
    """Return the tasks that both modes have scored, in the order of the baseline."""
    scored = {arm.task_id: arm for arm in candidate if arm.scored}
    return [
        Pair(arm, scored[arm.task_id]) for arm in baseline if arm.scored and arm.task_id in scored
    ]


def _compute_scope(
    by_mode: Mapping[str, Sequence[Arm]], pairs: Mapping[str, Sequence[Pair]], select: Select
) -> dict[str, Any]:
    ratios = {
        mode: compute_ratio(
            compute_mean([pair.candidate.mean_score or 0.0 for pair in matched]),
            compute_mean([pair.baseline.mean_score or 0.0 for pair in matched]),
        )
        for mode, matched in pairs.items()
    }
    return {
        "mean_scores": {
            mode: compute_mean([arm.mean_score for arm in arms if arm.mean_score is not None])
            for mode, arms in by_mode.items()
        },
        "ratios_vs_baseline": {mode: ratio for mode, (ratio, _) in ratios.items()},
        "ratio_flags": {mode: flag for mode, (_, flag) in ratios.items()},
        "usage": {
            mode: total_usage(select(result) for arm in arms for result in arm.scored)
            for mode, arms in by_mode.items()
        },
        "efficiency_vs_baseline": {
            mode: {
                name: compute_efficiency(
                    measure_tasks([pair.candidate for pair in matched], select, measure),
                    measure_tasks([pair.baseline for pair in matched], select, measure),
                )
                for name, measure in RESOURCES
            }
            for mode, matched in pairs.items()
        },
    }


def measure_tasks(arms: Sequence[Arm], select: Select, measure: Measure) -> float | None:
    """Add up what tasks used, per task the mean over scored repeats; None if any is unknown."""
    # A mean, because the sides of a comparison may have different numbers of scored repeats.
    means: list[float] = []
    for arm in arms:
        amounts = [measure(select(result)) for result in arm.scored]
        known = [amount for amount in amounts if amount is not None]
        if len(known) < len(amounts):
            return None
        means.append(math.fsum(known) / len(known))
    return math.fsum(means) if means else None


def _compare_passes(arms: Sequence[Arm]) -> dict[str, Any]:
    passes = [(average_first_pass(arm), arm.mean_score) for arm in arms]
    both = [(first, last) for first, last in passes if first is not None and last is not None]
    before = compute_mean([first for first, _ in both])
    after = compute_mean([last for _, last in both])
    ratio, flag = compute_ratio(after, before)
    return {
        "first_pass_mean": before,
        "second_pass_mean": after,
        "second_vs_first_delta": None if before is None or after is None else after - before,
        "second_vs_first_ratio": ratio,
        "second_vs_first_ratio_flag": flag,
    }


def _compare_variants(arms: Sequence[Arm]) -> dict[str, Any]:
    """Compare the two graded phases of transfer trials that met the same fresh fixtures."""
    scores = [(average_phase(arm, "variant_baseline"), arm.mean_score) for arm in arms]
    both = [(before, after) for before, after in scores if before is not None and after is not None]
    before = compute_mean([each for each, _ in both])
    after = compute_mean([each for _, each in both])
    deltas = [after - before for before, after in both]
    ratio, flag = compute_ratio(after, before)
    return {
        "tasks": len(both),
        "variant_baseline_mean": before,
        "second_execution_mean": after,
        "delta": None if before is None or after is None else after - before,
        "ratio": ratio,
        "ratio_flag": flag,
        "wins": sum(delta > TIE for delta in deltas),
        "ties": sum(abs(delta) <= TIE for delta in deltas),
        "losses": sum(delta < -TIE for delta in deltas),
    }


def _list_created(by_mode: Mapping[str, Sequence[Arm]], modes: Sequence[str]) -> dict[str, Any]:
    created = {
        mode: [
            {"task_id": arm.task_id, "repeat": s["repeat"], "name": s["name"], "path": s["path"]}
            for arm in by_mode[mode]
            for s in list_skills(arm)
        ]
        for mode in modes
    }
    return {**{f"{mode}_count": len(skills) for mode, skills in created.items()}, **created}


def _describe_pairs(pairs: Sequence[Pair], arms: Sequence[Arm]) -> PairedEntry:
    paired = {pair.baseline.task_id for pair in pairs}
    before = compute_mean([pair.baseline.mean_score or 0.0 for pair in pairs])
    after = compute_mean([pair.candidate.mean_score or 0.0 for pair in pairs])
    wins = sum(pair.delta > TIE for pair in pairs)
    losses = sum(pair.delta < -TIE for pair in pairs)
    return {
        "paired_tasks": len(pairs),
        "unpaired_tasks": sorted({arm.task_id for arm in arms} - paired, key=order_naturally),
        "baseline_mean": before,
        "candidate_mean": after,
        "delta": None if before is None or after is None else after - before,
        "wins": wins,
        "ties": len(pairs) - wins - losses,
        "losses": losses,
    }


def _count_tasks(arms: Sequence[Arm], pass_score: float) -> dict[str, int]:
    scored = [arm for arm in arms if arm.scored]
    failed = sum(any(find_faults(r, pass_score) for r in arm.scored) for arm in scored)
    return {
        "tasks": len(arms),
        "scored": len(scored),
        "not_scored": len(arms) - len(scored),
        "passed": len(scored) - failed,
        "failed": failed,
    }
