"""How often skills must be reused before what they cost to write is saved (paper, Table 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from typing import Literal

from pytest_evoclaw.group_metrics import BASELINE
from pytest_evoclaw.group_metrics import Measure
from pytest_evoclaw.group_metrics import match_arms
from pytest_evoclaw.group_metrics import measure_tasks
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import Executions
from pytest_evoclaw.measures import select_final
from pytest_evoclaw.measures import total_cost
from pytest_evoclaw.measures import total_seconds
from pytest_evoclaw.measures import total_tokens
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored import StoredGroup
from pytest_evoclaw.stored import StoredSession
from pytest_evoclaw.studies import Study
from pytest_evoclaw.studies import format_table
from pytest_evoclaw.studies import show

BreakEven = int | Literal["never"] | None

RESOURCES: tuple[tuple[str, Measure], ...] = (
    ("tokens", total_tokens),
    ("cost_usd", total_cost),
    ("seconds", total_seconds),
)
# The phases before the reuse, and how many direct answers they give on the way.
SETUPS = {
    "preskill": (("skill_generation",), 0),
    "postskill": (("first_execution", "skill_summary"), 1),
}
REUSES = (1, 2, 5, 10)
ROUNDING = 1e-9  # a quotient that is whole but for its last bits is whole
NOTE = (
    "Sums over the tasks that the mode and the baseline have scored, per task the mean over its "
    "repeats. PostSkill's first run is also a direct answer: one baseline execution is credited "
    "to its set-up. The last columns are simulated: usage of n reuses / the same number of "
    "answers by the baseline.\n\n"
)
HEAD = (
    "mode", "resource", "tasks", "set-up", "credit", "overhead", "baseline", "reuse", "saving",
    "break-even", *(f"ratio n={n}" for n in REUSES),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One resource: of the set-up, of one baseline execution and of one with the skills.

    ``answers`` counts the direct answers that the set-up gave. None is unknown.
    """

    setup: float | None
    baseline: float | None
    reuse: float | None
    answers: int

    @property
    def credit(self) -> float | None:
        """What the direct answers of the set-up are worth."""
        return None if self.baseline is None else self.answers * self.baseline

    @property
    def overhead(self) -> float | None:
        """Set-up beyond its credit, at least 0."""
        known = self.setup is not None and self.credit is not None
        return max(0.0, (self.setup or 0.0) - (self.credit or 0.0)) if known else None

    @property
    def saving(self) -> float | None:
        """What a reuse needs less than the baseline; negative if it needs more."""
        return None if self.baseline is None or self.reuse is None else self.baseline - self.reuse

    @property
    def break_even(self) -> BreakEven:
        """The number of reuses from which the skills pay; None if unknown."""
        if self.overhead is None or self.saving is None:
            return None
        if self.overhead <= 0:
            return 1
        if self.saving <= 0:
            return "never"
        return math.ceil(self.overhead / self.saving - ROUNDING)

    def simulate(self, reuses: int) -> float | None:
        """Return usage with skills / without, for so many reuses; None without a baseline."""
        if self.setup is None or self.reuse is None or not self.baseline:
            return None
        return (self.setup + reuses * self.reuse) / ((reuses + self.answers) * self.baseline)


class Amortization:
    """Break-even reuse counts and simulated ratios."""

    title = "Amortization"

    def compute(self, session: StoredSession) -> dict[str, Any]:
        """Compute a row for each mode and resource."""
        return {"groups": [_describe_group(group) for group in session.groups]}

    def describe(self, data: dict[str, Any]) -> str:
        """Return one table for each runtime and model."""
        parts = [NOTE]
        for group in data["groups"]:
            rows = [_show_row(row) for row in group["rows"]]
            parts.append(f"## {group['label']}\n\n{format_table(HEAD, rows)}")
        return "".join(parts)


def create() -> Study:
    """Return the study."""
    return Amortization()


def _describe_group(group: StoredGroup) -> dict[str, Any]:
    modes = [mode for mode in SETUPS if group.select(mode)]
    return {
        "runtime": group.runtime,
        "model": group.model,
        "label": group.label,
        "rows": [
            _describe_row(group, mode, name, measure)
            for mode in modes
            for name, measure in RESOURCES
        ],
    }


def _describe_row(group: StoredGroup, mode: str, name: str, measure: Measure) -> dict[str, Any]:
    pairs = match_arms(group.select(BASELINE), group.select(mode))
    candidates: list[Arm] = [pair.candidate for pair in pairs]
    phases, answers = SETUPS[mode]
    usage = Usage(
        setup=measure_tasks(candidates, _select_phases(phases), measure),
        baseline=measure_tasks([pair.baseline for pair in pairs], select_final, measure),
        reuse=measure_tasks(candidates, select_final, measure),
        answers=answers,
    )
    return {
        "mode": mode,
        "resource": name,
        "tasks": len(pairs),
        "setup": usage.setup,
        "credit": usage.credit,
        "overhead": usage.overhead,
        "baseline_execution": usage.baseline,
        "reuse_execution": usage.reuse,
        "saving": usage.saving,
        "break_even_reuses": usage.break_even,
        "simulated_ratios": {str(n): usage.simulate(n) for n in REUSES},
    }


def _select_phases(names: tuple[str, ...]) -> Callable[[TrialResult], Executions]:
    return lambda result: tuple(p.execution for p in result.phases if p.name in names)


def _show_row(row: dict[str, Any]) -> list[str]:
    form = {"tokens": ",.0f", "cost_usd": ".4f", "seconds": ".1f"}[row["resource"]]
    amounts = ("setup", "credit", "overhead", "baseline_execution", "reuse_execution", "saving")
    return [
        row["mode"],
        row["resource"],
        str(row["tasks"]),
        *(show(row[name], form) for name in amounts),
        show(row["break_even_reuses"], "d"),
        *(show(ratio, ".3f") for ratio in row["simulated_ratios"].values()),
    ]
