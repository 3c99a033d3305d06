"""Scaffold a task: its file, an input, and a grader with a reference solution.

``evoclaw new-task task_101_parcel_weights --name "Parcel Weights"`` writes a small task that works:
it passes every gate. Change one thing after the other, and keep asking the gates:
``pytest tasks/task_101_parcel_weights.md --evo-mode=gate``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.scaffold import scaffold_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("id", help="Such as task_101_parcel_weights; also the names of the files")
    parser.add_argument("--name", help="Title (default: from the id)")
    parser.add_argument("--family", default="Own", help="Family (default: Own)")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="Folder that holds tasks/ (default: this one)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say which; refuse to overwrite."""
    files = scaffold_task(arguments.id, arguments.name, arguments.family)
    taken = [name for name in files if (arguments.root / name).exists()]
    if taken:
        raise SettingsError(f"id: found {arguments.id!r}, but {taken[0]} is there already")
    for name, text in files.items():
        path = arguments.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"{path}\n")
    sys.stdout.write(
        f"next: pytest {arguments.root / f'tasks/{arguments.id}.md'} --evo-mode=gate\n"
    )
    return 0
