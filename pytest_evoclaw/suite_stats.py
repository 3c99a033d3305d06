"""What a suite consists of: the paper's tables 11 and 15 to 17, for the tasks that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from pytest_evoclaw.measures import SANITY_TASK
from pytest_evoclaw.measures import order_naturally
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import read_task


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyStats:
    """One family: ``numbers`` are those of its tasks, as in ``task_22_…``."""

    tasks: int
    sub_problems: int
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteStats:
    """Counts of official tasks; ``unofficial`` counts the sanity task, which is in none of them.

    ``grading_types``: tasks by type. ``sub_problem_counts``: tasks by their number of sub-problems.
    ``fixture_tasks`` and ``fixture_files``: tasks and files by extension; a task with inputs of two
    formats counts for both.
    """

    tasks: int
    sub_problems: int
    unofficial: int
    families: Mapping[str, FamilyStats]
    grading_types: Mapping[str, int]
    sub_problem_counts: Mapping[int, int]
    fixture_tasks: Mapping[str, int]
    fixture_files: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return builtins."""
        return asdict(self)


def read_suite(root: Path) -> list[Task]:
    """Read ``tasks/task_*.md`` in the order of their numbers; TaskFormatError if malformed."""
    paths = sorted((root / "tasks").glob("task_*.md"), key=lambda path: order_naturally(path.stem))
    return [read_task(path, root) for path in paths]


def count_suite(tasks: Sequence[Task]) -> SuiteStats:
    """Count what the tables of the paper count."""
    official = [task for task in tasks if task.id != SANITY_TASK]
    by_family: dict[str, list[Task]] = {}
    for task in official:
        by_family.setdefault(task.family or "none", []).append(task)
    extensions = [_list_extensions(task) for task in official]
    return SuiteStats(
        tasks=len(official),
        sub_problems=sum(len(task.sub_problems) for task in official),
        unofficial=len(tasks) - len(official),
        families={name: _count_family(by_family[name]) for name in sorted(by_family)},
        grading_types=_sort(Counter(task.grading_type for task in official)),
        sub_problem_counts=dict(sorted(Counter(len(t.sub_problems) for t in official).items())),
        fixture_tasks=_sort(Counter(each for found in extensions for each in set(found))),
        fixture_files=_sort(Counter(each for found in extensions for each in found)),
    )


def format_stats(stats: SuiteStats) -> list[str]:
    """Return the lines of all tables."""
    from tabulate import tabulate

    rows = [
        (name, family.tasks, family.sub_problems, ", ".join(family.numbers))
        for name, family in stats.families.items()
    ]
    formats = [
        (name, count, stats.fixture_files[name]) for name, count in stats.fixture_tasks.items()
    ]
    tables = (
        (("family", "tasks", "sub-problems", "numbers"), rows),
        (("grading type", "tasks"), list(stats.grading_types.items())),
        (("sub-problems", "tasks"), list(stats.sub_problem_counts.items())),
        (("fixture format", "tasks", "files"), formats),
    )
    lines = [f"{stats.tasks} tasks, {stats.sub_problems} sub-problems"]
    if stats.unofficial:
        lines[0] += f" (and {stats.unofficial} task that does not count: {SANITY_TASK})"
    for head, body in tables:
        lines += ["", *tabulate(body, headers=head, disable_numparse=True).splitlines()]
    return lines


def _count_family(tasks: Sequence[Task]) -> FamilyStats:
    return FamilyStats(
        tasks=len(tasks),
        sub_problems=sum(len(task.sub_problems) for task in tasks),
        numbers=tuple(task.id.split("_")[1] if "_" in task.id else task.id for task in tasks),
    )


def _list_extensions(task: Task) -> list[str]:
    """Return the extension of each input, or the name of one that has none (Dockerfile)."""
    paths = [PurePosixPath(file.dest) for file in task.workspace_files]
    return [path.suffix.lstrip(".").lower() or path.name for path in paths]


def _sort(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
