"""Act as the agent ``oracle`` or ``garbage``: ``solve.py ROLE GRADER SUITE_ROOT TASK_ID``.

Works in the current directory, as any agent does. ``oracle`` calls the reference solution,
``solve(workspace)`` of the task's grader module. ``garbage`` lets the solution work in a scratch
copy, to learn which files are expected, and writes junk into each of them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

# Started by its path, since an isolated interpreter need not know where this package is.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from pytest_evoclaw.grading.workspace import GradedWorkspace
from pytest_evoclaw.suite_imports import import_below

# Junk that no reader may take for an answer; by turns, so that each kind meets some file.
JUNK = (b"\x00\xff\xfejunk\x1b[0m", b"null\n", b"[]\n", b"{}\n", b"lorem ipsum, dolor sit amet\n")


def solve(grader: Path, root: Path, task_id: str, folder: Path) -> None:
    """Run the reference solution of a task in ``folder``."""
    module = import_below(root, grader)
    if not hasattr(module, "solve"):
        raise SystemExit(f"{grader}: no solve(workspace), so there is no reference solution")
    module.solve(GradedWorkspace(folder, task_id=task_id))


def write_garbage(grader: Path, root: Path, task_id: str, folder: Path) -> None:
    """Write junk into every file that the reference solution would write."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "workspace"
        shutil.copytree(folder, copy, symlinks=True)
        solve(grader, root, task_id, copy)
        expected = sorted(path for path in (copy / "outputs").rglob("*") if path.is_file())
        for number, path in enumerate(expected):
            target = folder / path.relative_to(copy)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(JUNK[number % len(JUNK)])


def main() -> None:
    """Play the role."""
    role, grader, root, task_id = sys.argv[1:]
    act = {"oracle": solve, "garbage": write_garbage}[role]
    act(Path(grader), Path(root), task_id, Path.cwd())


if __name__ == "__main__":
    main()
