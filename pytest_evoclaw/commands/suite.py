"""Write the generated tasks of a suite, or count what is in it.

``evoclaw suite build`` writes the generated tasks and their official fixtures below ``--root``: the
same bytes each time. ``evoclaw suite stats`` prints the distributions of the tasks that are there
(the paper's tables 11 and 15 to 17): families, grading types, sub-problems, formats of inputs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_evoclaw.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=["build", "stats"], help="What to do")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="Folder that holds tasks/ (default: this one)"
    )
    parser.add_argument("--json", action="store_true", help="Print the numbers as JSON")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="Draw the distributions (.svg or .png)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Build or count."""
    if arguments.action == "build":
        from pytest_evoclaw.evidence import build_suite

        written = build_suite(arguments.root)
        tasks = sum(path.startswith("tasks/") for path in written)
        sys.stdout.write(f"{tasks} tasks and {len(written) - tasks} fixtures: {arguments.root}\n")
        return 0
    _show_stats(arguments)
    return 0


def _show_stats(arguments: argparse.Namespace) -> None:
    from pytest_evoclaw.suite_stats import count_suite
    from pytest_evoclaw.suite_stats import format_stats
    from pytest_evoclaw.suite_stats import read_suite

    tasks = read_suite(arguments.root)
    if not tasks:
        raise SettingsError(f"--root: found no tasks/task_*.md below {arguments.root.absolute()}")
    stats = count_suite(tasks)
    if arguments.json:
        sys.stdout.write(json.dumps(stats.to_dict(), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(format_stats(stats)) + "\n")
    if arguments.figure is not None:
        from pytest_evoclaw.suite_figure import draw_stats

        draw_stats(stats, arguments.figure)
