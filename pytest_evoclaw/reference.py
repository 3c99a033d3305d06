"""Start a task's reference solution as an agent; shared by ``oracle`` and ``garbage``."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_evoclaw import drivers
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.transcript import EMPTY

PACKAGE = Path(__file__).resolve().parent


def launch_solution(assignment: Assignment, role: str) -> Launch:
    """Return how to start ``drivers/solve.py`` in the role ``oracle`` or ``garbage``."""
    task = assignment.task
    if task.grader is None:
        detail = f"{task.path}: no grader module, so there is no reference solution to start"
        raise NotScored(Reason.RUNTIME, detail)
    driver = Path(drivers.__file__).with_name("solve.py")
    words = (str(driver), role, str(task.grader), str(task.root), task.id)
    return Launch(
        argv=(sys.executable, "-I", *words),
        read_only=(PACKAGE, task.root, Path(sys.prefix)),
    )


def read_solution(assignment: Assignment, ended: Ended) -> Account:
    """Return the account of a reference solution; one that failed voids the execution."""
    problem = None
    if ended.exit_code != 0:
        words = _read_tail(assignment.folders)
        problem = Problem(
            reason=Reason.RUNTIME.value,
            detail=f"the reference solution ended with {ended.limit or ended.exit_code}\n{words}",
        )
    return Account(transcript=EMPTY, problem=problem)


def _read_tail(folders: Folders, lines: int = 20) -> str:
    text = (folders.logs / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.splitlines()[-lines:])
