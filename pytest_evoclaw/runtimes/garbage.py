"""The agent that writes junk into every expected output: every task must score it 0.0."""

from __future__ import annotations

import sys

from pytest_evoclaw.environments import Ended
from pytest_evoclaw.reference import launch_solution
from pytest_evoclaw.reference import read_solution
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings


class Garbage:
    """Writes junk in graded phases and nothing in authoring phases."""

    name = "garbage"
    uses_model = False
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def check(self) -> str:
        """Return the version."""
        return "built in"

    def prepare(self, assignment: Assignment) -> Launch:
        """Return the process that writes junk."""
        if assignment.authoring:
            return Launch(argv=(sys.executable, "-I", "-S", "-c", ""))
        return launch_solution(assignment, "garbage")

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Return an account without a transcript."""
        return read_solution(assignment, ended)


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Garbage()
