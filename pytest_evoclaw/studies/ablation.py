"""Whether the skills help, or only what comes with them (paper, Table 7).

The modes ``preskill-empty``, ``preskill-irrelevant`` and ``postskill-discard`` keep the workflow
and take the skill's content away.
"""

from __future__ import annotations

from typing import Any

from pytest_evoclaw.group_metrics import BASELINE
from pytest_evoclaw.group_metrics import match_arms
from pytest_evoclaw.group_metrics import measure_tasks
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import compute_mean
from pytest_evoclaw.measures import select_all
from pytest_evoclaw.measures import total_cost
from pytest_evoclaw.measures import total_seconds
from pytest_evoclaw.measures import total_tokens
from pytest_evoclaw.statistics import describe_difference
from pytest_evoclaw.stored import StoredGroup
from pytest_evoclaw.stored import StoredSession
from pytest_evoclaw.studies import Study
from pytest_evoclaw.studies import format_table
from pytest_evoclaw.studies import show
from pytest_evoclaw.studies import to_points

# Each variant with the normal mode that it takes something away from.
VARIANTS = (
    ("preskill", None),
    ("preskill-empty", "preskill"),
    ("preskill-irrelevant", "preskill"),
    ("postskill", None),
    ("postskill-discard", "postskill"),
)
HEAD = (
    "mode", "tasks", "baseline %", "score %", "delta", "95 % interval", "normal minus this",
    "tokens", "cost $", "seconds",
)  # fmt: skip
NOTE = (
    "Deltas are points over the baseline, on the tasks that both have scored; *normal minus this* "
    "is what the content of the generated skill adds. Resources are end-to-end.\n\n"
)


class Ablation:
    """The normal modes beside those without the content of the skill."""

    title = "Ablation"

    def compute(self, session: StoredSession) -> dict[str, Any]:
        """Compute a row for each variant, also those that the session lacks."""
        return {"groups": [_describe_group(group) for group in session.groups]}

    def describe(self, data: dict[str, Any]) -> str:
        """Return one table for each runtime and model."""
        parts = [NOTE]
        for group in data["groups"]:
            rows = [_show_row(row) for row in group["modes"]]
            parts.append(f"## {group['label']}\n\n{format_table(HEAD, rows)}")
        return "".join(parts)


def create() -> Study:
    """Return the study."""
    return Ablation()


def _describe_group(group: StoredGroup) -> dict[str, Any]:
    return {
        "runtime": group.runtime,
        "model": group.model,
        "label": group.label,
        "modes": [_describe_mode(group, mode, normal) for mode, normal in VARIANTS],
    }


def _describe_mode(group: StoredGroup, mode: str, normal: str | None) -> dict[str, Any]:
    pairs = match_arms(group.select(BASELINE), group.select(mode))
    arms = [pair.candidate for pair in pairs]
    content = [] if normal is None else match_arms(group.select(mode), group.select(normal))
    return {
        "mode": mode,
        "baseline_points": _average([pair.baseline for pair in pairs]),
        "score_points": _average(arms),
        "vs_baseline": describe_difference([pair.delta for pair in pairs]),
        "normal_minus_this": (
            None if normal is None else describe_difference([pair.delta for pair in content])
        ),
        "tokens": measure_tasks(arms, select_all, total_tokens),
        "cost_usd": measure_tasks(arms, select_all, total_cost),
        "seconds": measure_tasks(arms, select_all, total_seconds),
    }


def _average(arms: list[Arm]) -> float | None:
    return to_points(compute_mean([arm.mean_score or 0.0 for arm in arms]))


def _show_row(row: dict[str, Any]) -> list[str]:
    difference, content = row["vs_baseline"], row["normal_minus_this"] or {}
    interval = difference["interval_t"]
    return [
        row["mode"],
        str(difference["tasks"]),
        show(row["baseline_points"], ".2f"),
        show(row["score_points"], ".2f"),
        show(to_points(difference["mean"]), "+.2f"),
        show(interval and f"{100 * interval[0]:+.2f} to {100 * interval[1]:+.2f}"),
        show(to_points(content.get("mean")), "+.2f"),
        show(row["tokens"], ",.0f"),
        show(row["cost_usd"], ".4f"),
        show(row["seconds"], ".1f"),
    ]
