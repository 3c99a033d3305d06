"""Numbers of the benchmark, by the formulas of the paper (section 4.2); unknown stays None."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from typing import TypedDict

from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage
from pytest_evoclaw.results import UsageSource

RatioFlag = Literal["baseline_zero", "both_zero"]
Executions = Sequence[Execution]

SANITY = "sanity"
SANITY_TASK = "task_00_sanity"
# The phase whose grade is the trial's, to find it in trials that have no score.
FINAL_PHASES = {
    "baseline": "execution",
    "preskill": "execution",
    "postskill": "second_execution",
    "transfer": "second_execution",
    "preskill-empty": "execution",
    "preskill-irrelevant": "execution",
    "postskill-discard": "second_execution",
}


class UsageEntry(TypedDict):
    """What some trials used together; null is unknown, never 0.

    ``trials`` counts them, ``trials_unknown`` those of unknown tokens, ``partial`` says that an
    agent was cut off.
    """

    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    request_count: int | None
    cost_usd: float | None
    total_cost_usd: float | None
    total_execution_time_seconds: float | None
    usage_source: UsageSource
    partial: bool
    trials: int
    trials_unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """All repeats of one task in one mode, for one runtime and model, by repeat."""

    task_id: str
    mode: str
    results: tuple[TrialResult, ...]

    @property
    def scored(self) -> tuple[TrialResult, ...]:
        """The repeats with a score."""
        return tuple(result for result in self.results if result.score is not None)

    @property
    def scores(self) -> list[float]:
        """Scores of the scored repeats, each within 0..1."""
        return [result.score for result in self.results if result.score is not None]

    @property
    def mean_score(self) -> float | None:
        """Mean over scored repeats, or None without one."""
        return compute_mean(self.scores)

    @property
    def official(self) -> bool:
        """Whether the task counts in the official suite: the sanity task does not."""
        labels = {
            label.casefold()
            for result in self.results
            for label in (result.trial.category, result.trial.family)
        }
        return self.task_id != SANITY_TASK and SANITY not in labels


def compute_mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None of nothing."""
    return math.fsum(values) / len(values) if values else None


def compute_deviation(values: Sequence[float]) -> float | None:
    """Return the population standard deviation (divisor n); 0 of one value, None of nothing."""
    return statistics.pstdev(values) if values else None


def compute_consistency(scores: Sequence[float]) -> float | None:
    """Return 1 - deviation / mean of sub-problem scores, within 0..1; None of nothing."""
    mean = compute_mean(scores)
    if mean is None:
        return None
    if len(scores) == 1:
        return 1.0
    return 0.0 if mean == 0 else min(1.0, max(0.0, 1.0 - statistics.pstdev(scores) / mean))


def compute_ratio(
    candidate: float | None, baseline: float | None
) -> tuple[float | Literal["inf"] | None, RatioFlag | None]:
    """Return candidate / baseline and the convention that was needed, if any.

    Over a baseline of 0 a positive candidate is ``"inf"`` and 0 is 1.0; None if either is None.
    """
    if candidate is None or baseline is None:
        return None, None
    if baseline == 0:
        return (1.0, "both_zero") if candidate == 0 else ("inf", "baseline_zero")
    ratio = candidate / baseline
    return ("inf", "baseline_zero") if math.isinf(ratio) else (ratio, None)


def compute_efficiency(candidate: float | None, baseline: float | None) -> float | None:
    """Return baseline / candidate usage: above 1 the candidate needs less. None if unknown."""
    return None if baseline is None or not candidate else baseline / candidate


def total_usage(trials: Iterable[Executions]) -> UsageEntry:
    """Add up what trials used, each given by its executions; any unknown part makes it unknown."""
    counted = list(trials)
    executions = [execution for trial in counted for execution in trial]
    empty = any(not trial for trial in counted)
    usage = Usage.total([*(e.usage for e in executions), *([Usage()] if empty else [])])
    tokens = [total_tokens(trial) for trial in counted]
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": None if not tokens or None in tokens else sum(t or 0 for t in tokens),
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "request_count": usage.request_count,
        "cost_usd": usage.cost_usd,
        "total_cost_usd": usage.cost_usd,
        "total_execution_time_seconds": total_seconds(executions) if not empty else None,
        "usage_source": usage.source,
        "partial": usage.partial,
        "trials": len(counted),
        "trials_unknown": tokens.count(None),
    }


def total_tokens(executions: Executions) -> int | None:
    """Return all tokens of a trial; cached ones count even if another phase reported none."""
    totals = [execution.usage.total_tokens for execution in executions]
    known = [total for total in totals if total is not None]
    return sum(known) if known and len(known) == len(totals) else None


def total_cost(executions: Executions) -> float | None:
    """Return the money of a trial in US dollars."""
    costs = [execution.usage.cost_usd for execution in executions]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known and len(known) == len(costs) else None


def total_seconds(executions: Executions) -> float | None:
    """Return the time of a trial, in seconds."""
    return math.fsum(e.seconds for e in executions) if executions else None


def select_final(result: TrialResult) -> Executions:
    """Return the execution that the trial's score belongs to: the scope ``execution_only``."""
    phase = find_final_phase(result)
    return () if phase is None else (phase.execution,)


def select_all(result: TrialResult) -> Executions:
    """Return the executions of all phases: the scope ``end_to_end``."""
    return tuple(phase.execution for phase in result.phases)


def find_final_phase(result: TrialResult) -> PhaseResult | None:
    """Return the last graded phase, or what there is of it in a trial without a score."""
    if result.primary is not None:
        return result.primary
    name = FINAL_PHASES.get(result.trial.mode)
    return next((phase for phase in result.phases if phase.name == name), None)


def order_naturally(text: str) -> tuple[list[str | int], str]:
    """Return a sort key that puts ``task_2`` before ``task_10``."""
    parts: list[str | int] = [*re.split(r"([0-9]+)", text)]
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], text
