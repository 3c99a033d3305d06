"""How outputs become a grade: checks, readers of outputs, and the ways to grade."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.results import Grade
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingJob:
    """What is graded: a finished workspace; and the limits of the process that grades it.

    ``seconds`` is wall clock time, ``memory_bytes`` the address space of each process, and
    ``output_bytes`` how much of what the grader prints is kept, its end.
    """

    task: Task
    workspace: Path
    transcript: Transcript
    seconds: float = 60.0
    memory_bytes: int = 2 * 2**30
    output_bytes: int = 1_000_000


class Grader(Protocol):
    """One way to grade. Its file has ``create() -> Grader``."""

    def grade(self, job: GradingJob) -> Grade:
        """Return the grade; NotScored (Reason.GRADER) if the grader breaks or breaks its limits."""


def choose_grader(task: Task) -> str:
    """Return the name of the file in this package that grades ``task``.

    A task with a module is graded by it, and its fenced ``grade()`` is not used. SettingsError for
    a task that has neither, though it asks for one.
    """
    if task.grading_type != "automated":
        return task.grading_type.removeprefix("llm_")
    if task.grader is not None:
        return "module"
    if task.inline_grader is not None:
        return "inline"
    raise SettingsError(
        f"{task.path}: no grader: found neither graders/{task.id}.py, nor a frontmatter field "
        "'grader', nor a Python fence in 'Automated Checks'"
    )
