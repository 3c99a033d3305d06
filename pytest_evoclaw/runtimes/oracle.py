"""The agent that knows the answer: it runs the task's reference solution, and costs nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_evoclaw import drivers
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.reference import launch_solution
from pytest_evoclaw.reference import read_solution
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.runtimes import RuntimeSettings
from pytest_evoclaw.task import Task

_SKILL = """\
---
name: {name}
description: Works through the task "{title}". Use when a task asks for its kind of outputs.
---

# {title}

1. Read the whole prompt and list the files that it asks for under `outputs/`, with their fields,
   types, order and rounding.
2. Open one input, write down its quirks (encodings, blank values, duplicates, units), and decide
   for each by the prompt's rules, not by what looks usual.
3. Solve one sub-problem by hand, then put the procedure into one script and apply it to all.
4. Read every output back with a strict parser and compare it with the list from step 1.

Inputs are never edited, and nothing is left out because a value looks odd.
"""


class Oracle:
    """Solves in graded phases and writes one skill in authoring phases."""

    name = "oracle"
    uses_model = False
    own_files: tuple[str, ...] = ()
    skill_folders: tuple[str, ...] = ()

    def check(self) -> str:
        """Return the version."""
        return "built in"

    def prepare(self, assignment: Assignment) -> Launch:
        """Return the solution's process, or one that copies a skill into the workspace."""
        if not assignment.authoring:
            return launch_solution(assignment, "oracle")
        skill = assignment.folders.state / "SKILL.md"
        name = name_skill(assignment.task)
        text = _SKILL.format(name=name, title=assignment.task.name)
        skill.write_text(text, encoding="utf-8", newline="\n")
        driver = Path(drivers.__file__).with_name("copy_file.py")
        words = (str(driver), assignment.seen(skill), f"skills/{name}/SKILL.md")
        return Launch(argv=(sys.executable, "-I", "-S", *words), read_only=(driver,))

    def read(self, assignment: Assignment, ended: Ended) -> Account:
        """Return an account without a transcript; a failed solution is a problem."""
        return read_solution(assignment, ended)


def name_skill(task: Task) -> str:
    """Return a valid skill name for the task."""
    return (task.skill_category or task.id).replace("_", "-")


def create(settings: RuntimeSettings) -> Runtime:
    """Return the runtime."""
    return Oracle()
