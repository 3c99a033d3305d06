"""A task on the bench: its reference solution carried out, its outputs spoilt and graded at will.

Where agents have trials, a task itself is tried here: nothing of it is a score.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.inventory import take_inventory
from pytest_evoclaw.reference import launch_solution
from pytest_evoclaw.reference import read_solution
from pytest_evoclaw.results import Grade
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.safe_files import Skipped
from pytest_evoclaw.safe_files import walk_regular
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import EMPTY
from pytest_evoclaw.workspace import OUTPUTS
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace

OUTPUT_FILES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What the reference solution wrote: bytes by path, such as ``outputs/report.json``.

    ``changes`` says what it did to the task's inputs, which should be nothing.
    """

    outputs: Mapping[str, bytes]
    changes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Workbench:
    """One task. ``grader`` grades without a judge; ``folder`` is empty, outside the project."""

    task: Task
    grader: Grader
    environment: Environment
    folder: Path
    _made: int = 0
    _desk: Path | None = None
    _solutions: list[Solution] = field(default_factory=list)
    _grades: list[Grade] = field(default_factory=list)

    @property
    def solution(self) -> Solution:
        """The outputs of the reference solution, carried out once."""
        if not self._solutions:
            self._solutions.append(self.solve())
        return self._solutions[0]

    @property
    def right(self) -> Grade:
        """The grade of the solution."""
        if not self._grades:
            self._grades.append(self.grade(self.solution.outputs))
        return self._grades[0]

    def solve(self) -> Solution:
        """Carry out the reference solution in a fresh workspace; NotScored if it breaks."""
        folders = create_folders(self._name_folder())
        fill_workspace(self.task, folders)
        inputs = tuple(file.dest for file in self.task.workspace_files)
        before = take_inventory(folders.workspace, only=inputs)
        assignment = Assignment(
            prompt=self.task.prompt,
            folders=folders,
            environment=self.environment,
            seconds=self.task.timeout_seconds,
            endpoint=None,
            task=self.task,
            mode="gate",
            phase="solution",
            authoring=False,
        )
        launch = launch_solution(assignment, "oracle")
        ended = self.environment.run(
            Command(
                argv=launch.argv,
                variables=launch.variables,
                folders=folders,
                seconds=assignment.seconds,
                read_only=launch.read_only,
            )
        )
        if (problem := read_solution(assignment, ended).problem) is not None:
            raise NotScored(Reason(problem.reason), problem.detail)
        after = take_inventory(folders.workspace, only=inputs)
        return Solution(outputs=_read(folders.workspace), changes=before.changes_to(after))

    def grade(self, outputs: Mapping[str, bytes]) -> Grade:
        """Grade these outputs in an otherwise fresh workspace; NotScored if the grader breaks."""
        desk = self._open_desk()
        shutil.rmtree(desk / OUTPUTS, ignore_errors=True)
        for name, data in outputs.items():
            (desk / name).parent.mkdir(parents=True, exist_ok=True)
            (desk / name).write_bytes(data)
        return self.grader.grade(GradingJob(task=self.task, workspace=desk, transcript=EMPTY))

    def grade_with(self, name: str, data: bytes | None) -> Grade:
        """Grade the solution with one output replaced, or without it."""
        outputs = {**self.solution.outputs}
        if data is None:
            del outputs[name]
        else:
            outputs[name] = data
        return self.grade(outputs)

    def _open_desk(self) -> Path:
        if self._desk is None:
            folders = create_folders(self._name_folder())
            fill_workspace(self.task, folders)
            self._desk = folders.workspace
        return self._desk

    def _name_folder(self) -> Path:
        self._made += 1
        return self.folder / str(self._made)


def _read(workspace: Path) -> dict[str, bytes]:
    names = walk_regular(workspace / OUTPUTS, OUTPUT_FILES)
    return {
        f"{OUTPUTS}/{name}": (workspace / OUTPUTS / name).read_bytes()
        for name in names
        if not isinstance(name, Skipped)
    }


def list_undeserved(bench: Workbench, outputs: Mapping[str, bytes], words: str) -> tuple[str, ...]:
    """Return what is wrong if these worthless outputs, called ``words``, earn anything."""
    due = [check.key for check in bench.right.checks]
    grade = bench.grade(outputs)
    faults = [
        f"{words}: check {check.key} is vacuous, it scores {check.score:.2f}"
        for check in grade.checks
        if check.score > 0
    ]
    if other := sorted({check.key for check in grade.checks} ^ set(due)):
        faults.append(f"{words}: other checks than the solution's: {', '.join(other)}")
    return tuple(faults)
