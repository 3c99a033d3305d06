"""``gate[oracle]``: the reference solution scores 1.0, each time, with the same checks."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.results import Grade
from pytest_evoclaw.workbench import Solution
from pytest_evoclaw.workbench import Workbench

TIMES = 3


class Oracle:
    """Carries out the reference solution three times, each in a fresh workspace."""

    name = "oracle"

    def inspect(self, bench: Workbench) -> Finding:
        """Find checks that fail, change or are missing, and inputs that the solution edits."""
        solutions = [bench.solution, *(bench.solve() for _ in range(TIMES - 1))]
        grades = [bench.grade(solution.outputs) for solution in solutions]
        faults = [*_compare(grades), *_look_at(solutions), *_count(bench, grades[0])]
        return Finding(
            faults=tuple(dict.fromkeys(faults)),
            remarks=(f"{len(grades[0].checks)} checks, {len(bench.solution.outputs)} outputs",),
        )


def create() -> Gate:
    """Return the gate."""
    return Oracle()


def _compare(grades: list[Grade]) -> Iterator[str]:
    first = [check.key for check in grades[0].checks]
    for number, grade in enumerate(grades, start=1):
        for check in grade.checks:
            if check.score < 1:
                yield f"solution {number} fails {check.key} ({check.score:.2f}): {check.message}"
        keys = [check.key for check in grade.checks]
        if keys != first:
            differing = sorted(set(keys) ^ set(first)) or ["their order"]
            yield f"solution {number} meets other checks than the first: {', '.join(differing)}"


def _look_at(solutions: list[Solution]) -> Iterator[str]:
    for solution in solutions:
        yield from (f"the solution changes an input: {change}" for change in solution.changes)
        if not solution.outputs:
            yield "the solution writes nothing below outputs/"


def _count(bench: Workbench, grade: Grade) -> Iterator[str]:
    graded = {check.sub_problem for check in grade.checks}
    for sub_problem in bench.task.sub_problems:
        if sub_problem.number not in graded:
            place = f"{bench.task.path}:{sub_problem.line}"
            yield f"{place}: sub-problem {sub_problem.number} has no check"
