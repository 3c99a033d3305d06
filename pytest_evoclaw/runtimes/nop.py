"""The agent that does nothing: every task must score it 0.0."""

from __future__ import annotations

import sys

from pytest_evoclaw.environments import Ended
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.transcript import EMPTY


class Nop:
    """Starts a process that ends at once."""

    name = "nop"
    uses_model = False
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def check(self) -> str:
        """Return the version."""
        return "built in"

    def prepare(self, assignment: Assignment) -> Launch:
        """Return a Python that has nothing to do."""
        return Launch(argv=(sys.executable, "-I", "-S", "-c", ""))

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Return an empty account."""
        return Account(transcript=EMPTY)


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Nop()
