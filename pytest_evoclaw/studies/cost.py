"""What each mode's scores cost end-to-end, beside the baseline (paper, Table 5)."""

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
from pytest_evoclaw.stored import StoredGroup
from pytest_evoclaw.stored import StoredSession
from pytest_evoclaw.studies import Study
from pytest_evoclaw.studies import format_table
from pytest_evoclaw.studies import show
from pytest_evoclaw.studies import to_points

HEAD = (
    "mode", "tasks", "baseline %", "score %", "delta", "tokens", "extra tokens", "cost $",
    "extra cost $", "seconds", "extra seconds", "points per 1M extra tokens",
)  # fmt: skip
NOTE = (
    "Each mode beside the baseline, on the tasks that both have scored. Tokens, cost and seconds "
    "are end-to-end sums over these tasks, per task the mean over its repeats.\n\n"
)


class Cost:
    """Scores, deltas, tokens, cost, time, and points per million extra tokens."""

    title = "Cost"

    def compute(self, session: StoredSession) -> dict[str, Any]:
        """Compute a row for each mode but the baseline."""
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
    return Cost()


def compute_points_per_million(points: float | None, extra_tokens: float | None) -> float | None:
    """Return score points per million extra tokens; None unless there are extra tokens."""
    if points is None or extra_tokens is None or extra_tokens <= 0:
        return None
    return points / (extra_tokens / 1e6)


def _describe_group(group: StoredGroup) -> dict[str, Any]:
    return {
        "runtime": group.runtime,
        "model": group.model,
        "label": group.label,
        "modes": [_describe_mode(group, mode) for mode in group.modes if mode != BASELINE],
    }


def _describe_mode(group: StoredGroup, mode: str) -> dict[str, Any]:
    pairs = match_arms(group.select(BASELINE), group.select(mode))
    before = _measure([pair.baseline for pair in pairs])
    after = _measure([pair.candidate for pair in pairs])
    delta = _subtract(after["score_points"], before["score_points"])
    extra = {
        name: _subtract(after[name], before[name]) for name in ("tokens", "cost_usd", "seconds")
    }
    return {
        "mode": mode,
        "tasks": len(pairs),
        "baseline": before,
        "candidate": after,
        "delta_points": delta,
        "extra": extra,
        "points_per_million_extra_tokens": compute_points_per_million(delta, extra["tokens"]),
    }


def _measure(arms: list[Arm]) -> dict[str, float | None]:
    return {
        "score_points": to_points(compute_mean([arm.mean_score or 0.0 for arm in arms])),
        "tokens": measure_tasks(arms, select_all, total_tokens),
        "cost_usd": measure_tasks(arms, select_all, total_cost),
        "seconds": measure_tasks(arms, select_all, total_seconds),
    }


def _subtract(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _show_row(row: dict[str, Any]) -> list[str]:
    used, extra = row["candidate"], row["extra"]
    return [
        row["mode"],
        str(row["tasks"]),
        show(row["baseline"]["score_points"], ".2f"),
        show(used["score_points"], ".2f"),
        show(row["delta_points"], "+.2f"),
        show(used["tokens"], ",.0f"),
        show(extra["tokens"], "+,.0f"),
        show(used["cost_usd"], ".4f"),
        show(extra["cost_usd"], "+.4f"),
        show(used["seconds"], ".1f"),
        show(extra["seconds"], "+.1f"),
        show(row["points_per_million_extra_tokens"], "+.2f"),
    ]
