"""How outputs become a grade: checks, readers of outputs, and the ways to grade."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PartialGrade
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingJob:
    """What is graded: a finished workspace; and the limits of the process that grades it.

    ``seconds`` is wall clock time, ``memory_bytes`` the address space of each process, and
    ``output_bytes`` how much of what the grader prints is kept, its end. ``artifacts`` is the
    phase's folder of results, in which a judge leaves what it was asked and what it answered.
    """

    task: Task
    workspace: Path
    transcript: Transcript
    artifacts: Path | None = None
    seconds: float = 60.0
    memory_bytes: int = 2 * 2**30
    output_bytes: int = 1_000_000


class JudgeFailed(NotScored):
    """No usable answer from the judge; ``partial`` is what there is of the grade all the same."""

    def __init__(self, detail: str, partial: PartialGrade) -> None:
        super().__init__(Reason.JUDGE, detail)
        self.partial = partial


class Grader(Protocol):
    """One way to grade. Its file has ``create() -> Grader``."""

    def grade(self, job: GradingJob) -> Grade:
        """Return the grade; NotScored (Reason.GRADER) if the grader breaks or breaks its limits."""


def choose_grader(task: Task) -> str:
    """Return the name of the file in this package that grades ``task``."""
    if task.grading_type != "automated":
        return task.grading_type.removeprefix("llm_")
    return choose_automated(task)


def choose_automated(task: Task) -> str:
    """Return the name of the file that grades ``task`` without a judge.

    A task with a module is graded by it, and its fenced ``grade()`` is not used. SettingsError for
    a task that has neither.
    """
    if task.grader is not None:
        return "module"
    if task.inline_grader is not None:
        return "inline"
    raise SettingsError(
        f"{task.path}: no grader: found neither graders/{task.id}.py, nor a frontmatter field "
        "'grader', nor a Python fence in 'Automated Checks'"
    )
