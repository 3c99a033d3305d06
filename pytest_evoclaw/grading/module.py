"""Graders that are modules: ``grade(workspace, check)`` in ``graders/<task id>.py``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading.bounded import grade_bounded
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import write_order
from pytest_evoclaw.grading.workspace import GradedWorkspace
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Grade
from pytest_evoclaw.suite_imports import import_below


class Module:
    """Grades by the task's grader module, in a bounded process."""

    def grade(self, job: GradingJob) -> Grade:
        """Return the grade; NotScored if the module breaks its contract or its limits."""
        if job.task.grader is None:
            raise NotScored(Reason.GRADER, f"{job.task.path}: the task has no grader module")
        return grade_bounded(write_order(job, "module", job.task.grader))


def create() -> Module:
    """Return the grader."""
    return Module()


def perform(order: Order, folder: Path) -> tuple[Check, ...]:
    """Grade in this process, which is the grader's alone; ``folder`` is for fixtures.

    GraderFault for a module that breaks its contract; what it raises itself propagates.
    """
    grade = _load(order)
    workspace = GradedWorkspace(
        Path(order.workspace),
        fixtures=_place_fixtures(order, folder),
        task_id=order.task_id,
        transcript=order.transcript,
    )
    check = Checklist()
    try:
        value = grade(workspace, check)
    except AssertionError as error:
        raise GraderFault(
            "an assertion failed outside every check, so that the set of checks would depend on "
            f"the outputs: {error}"
        ) from error
    if inspect.iscoroutine(value):
        value.close()
    if value is not None:
        raise GraderFault(f"grade() returned {value!r:.200}, allowed None")
    if not check.checks:
        raise GraderFault("grade() made no check")
    for each in check.checks:
        require_sub_problem(order, each)
    return check.checks


def require_sub_problem(order: Order, check: Check) -> None:
    """Raise GraderFault for the number of a sub-problem that the task does not have."""
    if check.sub_problem is not None and not 1 <= check.sub_problem <= order.sub_problems:
        allowed = f"1..{order.sub_problems}" if order.sub_problems else "none: the task has none"
        raise GraderFault(
            f"check {check.name!r}: sub_problem: found {check.sub_problem}, allowed {allowed}"
        )


def require_function(namespace: Any, name: str) -> Callable[..., Any]:
    """Return the plain function ``name``; GraderFault if it is missing or of another kind."""
    missing = object()
    found = getattr(namespace, name, missing)
    if found is missing:
        raise GraderFault(f"has no {name}()")
    if not callable(found):
        raise GraderFault(f"{name}: found {found!r:.200}, allowed a function")
    for is_kind, kind in (
        (inspect.iscoroutinefunction, "a coroutine function"),
        (inspect.isasyncgenfunction, "an asynchronous generator"),
        (inspect.isgeneratorfunction, "a generator"),
    ):
        if is_kind(found):
            raise GraderFault(f"{name}() is {kind}, allowed a plain function")
    function: Callable[..., Any] = found
    return function


def _load(order: Order) -> Callable[..., Any]:
    module = import_below(Path(order.root), Path(order.source))
    if module.__file__ != order.source:
        name, file = module.__name__, module.__file__
        raise GraderFault(f"the name {name!r} is taken by {file}; rename the grader")
    return require_function(module, "grade")


def _place_fixtures(order: Order, folder: Path) -> dict[str, Path]:
    """Return a pristine file for each input."""
    fixtures = {dest: Path(source) for dest, source in order.fixtures.items()}
    for dest, content in order.contents.items():
        fixtures[dest] = folder / dest
        fixtures[dest].parent.mkdir(parents=True, exist_ok=True)
        fixtures[dest].write_text(content, encoding="utf-8", newline="")
    return fixtures
