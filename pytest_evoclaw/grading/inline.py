"""Graders inside task files: a fenced ``grade(transcript, workspace_path) -> dict``."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading.bounded import grade_bounded
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.grading.module import require_function
from pytest_evoclaw.grading.module import require_sub_problem
from pytest_evoclaw.grading.orders import Order
from pytest_evoclaw.grading.orders import write_order
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Grade

KEY_CHARACTERS = 200
_SUB_PROBLEM = re.compile(r"sub_(\d+)_(.+)", re.DOTALL)


class Inline:
    """Grades by the function in the task's own file, in a bounded process."""

    def grade(self, job: GradingJob) -> Grade:
        """Return the grade; NotScored if the function breaks its contract or its limits."""
        fence = job.task.inline_grader
        if fence is None:
            raise NotScored(Reason.GRADER, f"{job.task.path}: the task has no fenced grade()")
        return grade_bounded(write_order(job, "inline", job.task.path, fence.source, fence.line))


def create() -> Inline:
    """Return the grader."""
    return Inline()


def perform(order: Order, folder: Path) -> tuple[Check, ...]:
    """Grade in this process, which is the grader's alone.

    GraderFault for a function that breaks its contract; what it raises itself propagates.
    """
    grade = _load(order)
    scores = grade(list(order.transcript), order.workspace)
    if inspect.iscoroutine(scores):
        scores.close()
    if type(scores) is not dict or not scores:
        raise GraderFault(f"grade() returned {scores!r:.200}, allowed a dict of at least one score")
    checks = tuple(_make_check(key, value) for key, value in scores.items())
    known: set[str] = set()
    for check in checks:
        require_sub_problem(order, check)
        if check.key in known:
            raise GraderFault(f"check {check.key!r} was made twice")
        known.add(check.key)
    return checks


def _load(order: Order) -> Callable[..., Any]:
    # Tracebacks shall point at the lines of the task's file.
    padded = "\n" * (order.line - 1) + order.code
    code = compile(padded, order.source, "exec", dont_inherit=True)
    module = sys.modules["inline_grader"] = ModuleType("inline_grader")
    exec(code, vars(module))  # noqa: S102 - the format's way to grade, in a process of its own
    return require_function(module, "grade")


def _make_check(key: Any, value: Any) -> Check:
    if type(key) is not str or not key.isprintable() or not 0 < len(key) <= KEY_CHARACTERS:
        raise GraderFault(
            f"grade() returned the key {key!r:.200}, allowed 1 to {KEY_CHARACTERS} printable "
            "characters"
        )
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise GraderFault(
            f"grade() returned {key!r}: {value!r:.200}, allowed a bool or a finite number in 0..1"
        )
    if match := _SUB_PROBLEM.fullmatch(key):
        return Check(name=match[2], score=float(value), sub_problem=int(match[1]))
    return Check(name=key, score=float(value))
