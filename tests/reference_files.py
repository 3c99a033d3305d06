"""What the reference solutions of this repository's tasks write, for scripted models to say."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pytest_evoclaw import drivers
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import read_task
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace

ROOT = Path(__file__).parent.parent


def read_tasks(names: Iterable[str]) -> list[Task]:
    """Read tasks of this repository by the beginnings of their file names."""
    return [read_task(next((ROOT / "tasks").glob(f"{name}*.md")), ROOT) for name in names]


def solve_tasks(tasks: Iterable[Task]) -> dict[str, dict[str, bytes]]:
    """Return the files of each solution by its task's whole prompt."""
    return {task.prompt: _solve(task) for task in tasks}


def _solve(task: Task) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        folders = create_folders(Path(folder) / "phase")
        fill_workspace(task, folders)
        driver = Path(drivers.__file__).with_name("solve.py")
        words = (driver, "oracle", task.grader, task.root, task.id)
        subprocess.run([sys.executable, *map(str, words)], cwd=folders.workspace, check=True)
        outputs = folders.workspace / "outputs"
        paths = sorted(path for path in outputs.rglob("*") if path.is_file())
        return {path.relative_to(folders.workspace).as_posix(): path.read_bytes() for path in paths}
