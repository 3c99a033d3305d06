"""What a session's tasks are, and how their scores are spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import compute_mean
from pytest_evoclaw.stored import StoredGroup
from pytest_evoclaw.stored import StoredSession
from pytest_evoclaw.studies import Study
from pytest_evoclaw.studies import format_table
from pytest_evoclaw.studies import show
from pytest_evoclaw.studies import to_points

LABELS = ("family", "category", "grading_type")
BINS = ("0", "0 to 25", "25 to 50", "50 to 75", "75 to 100", "100")


class Distribution:
    """Tasks by family, category and grading type, with their scores; scores by size."""

    title = "Distribution"

    def compute(self, session: StoredSession) -> dict[str, Any]:
        """Compute the tables of each runtime and model."""
        return {"groups": [_describe_group(group) for group in session.groups]}

    def describe(self, data: dict[str, Any]) -> str:
        """Return four tables for each runtime and model."""
        return "".join(f"## {group['label']}\n\n{_show_group(group)}" for group in data["groups"])


def create() -> Study:
    """Return the study."""
    return Distribution()


def find_bin(score: float) -> str:
    """Return the bin of a score: 0 and 1 have their own, others the quarter they are in."""
    if score in (0.0, 1.0):
        return BINS[-1] if score else BINS[0]
    return BINS[1 + int(4 * score)]


def _describe_group(group: StoredGroup) -> dict[str, Any]:
    modes = list(group.modes)
    return {
        "runtime": group.runtime,
        "model": group.model,
        "label": group.label,
        "modes": modes,
        **{f"by_{label}": _group_tasks(group.arms, label, modes) for label in LABELS},
        "scores": {mode: _count_scores(group.select(mode)) for mode in modes},
    }


def _group_tasks(arms: Iterable[Arm], label: str, modes: Sequence[str]) -> list[dict[str, Any]]:
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(getattr(arm.results[0].trial, label), []).append(arm)
    return [
        {
            "name": name,
            "tasks": len({arm.task_id for arm in found}),
            "sub_problems": _count_sub_problems(found),
            "trials": sum(len(arm.results) for arm in found),
            "scored": sum(len(arm.scored) for arm in found),
            "mean_scores": {
                mode: compute_mean([arm.mean_score or 0.0 for arm in found if _is_of(arm, mode)])
                for mode in modes
            },
        }
        for name, found in sorted(groups.items())
    ]


def _is_of(arm: Arm, mode: str) -> bool:
    return arm.mode == mode and bool(arm.scored)


def _count_sub_problems(arms: Sequence[Arm]) -> int | None:
    """Count the sub-problems of the tasks; None if a task has no grade to tell them from."""
    numbers: dict[str, set[int]] = {}
    for arm in arms:
        for result in arm.scored:
            for phase in result.graded_phases:
                scores = phase.grade.sub_problem_scores if phase.grade else {}
                numbers.setdefault(arm.task_id, set()).update(scores)
    known = len(numbers) == len({arm.task_id for arm in arms})
    return sum(map(len, numbers.values())) if known else None


def _count_scores(arms: Sequence[Arm]) -> dict[str, int]:
    counts = Counter(find_bin(arm.mean_score) for arm in arms if arm.mean_score is not None)
    return {name: counts[name] for name in BINS} | {
        "not scored": sum(not arm.scored for arm in arms)
    }


def _show_group(group: dict[str, Any]) -> str:
    modes = group["modes"]
    parts = []
    for label in LABELS:
        head = (label.replace("_", " "), "tasks", "sub-problems", "trials", "scored")
        rows = [_show_row(row, modes) for row in group[f"by_{label}"]]
        parts.append(format_table((*head, *(f"{mode} %" for mode in modes)), rows))
    bins = (*BINS, "not scored")
    rows = [[mode, *(str(group["scores"][mode][name]) for name in bins)] for mode in modes]
    parts.append(format_table(("tasks by score in %", *bins), rows))
    return "".join(parts)


def _show_row(row: dict[str, Any], modes: Sequence[str]) -> list[str]:
    return [
        row["name"] or "none",
        str(row["tasks"]),
        show(row["sub_problems"], "d"),
        str(row["trials"]),
        str(row["scored"]),
        *(show(to_points(row["mean_scores"][mode]), ".2f") for mode in modes),
    ]
