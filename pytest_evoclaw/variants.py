"""Fresh fixtures of generated tasks: the same task, other inputs, for any seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_evoclaw.task import Task
from pytest_evoclaw.task import WorkspaceFile

FIRST_SEED = 1  # of the mode transfer, where none is asked for


def has_generator(task: Task) -> bool:
    """Whether fresh fixtures can be made for a task: its inputs are those of a generated one."""
    from pytest_evoclaw.evidence import list_generated_tasks
    from pytest_evoclaw.evidence.families import load_spec

    if task.id not in list_generated_tasks():
        return False
    return {file.dest for file in task.workspace_files} == set(load_spec(task.id).fixtures)


def make_variant(task: Task, seed: int, folder: Path) -> Task:
    """Build fresh fixtures below ``folder``; return the task with them as its inputs.

    Workspaces are filled from them, and graders get them as the pristine ones.
    """
    from pytest_evoclaw.evidence import build_fixtures

    files = build_fixtures(task.id, seed, folder)
    inputs = tuple(WorkspaceFile(dest=name, source=(folder / name).resolve()) for name in files)
    return replace(task, workspace_files=inputs)
