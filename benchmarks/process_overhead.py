"""What it costs to end whole trees: ``run_tree(["true"])`` against a bare fork and exec.

Run it from the project's folder: ``python -m benchmarks.process_overhead``. The ratios compare two
series that alternate in one process, so that a busy machine hits both.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pytest_evoclaw.processes import TreeCommand
from pytest_evoclaw.processes import run_tree

ROUNDS = 40


def measure(act: Callable[[], object]) -> tuple[float, float]:
    """Return (wall, CPU) seconds of one call, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    own, wall = time.process_time(), time.perf_counter()
    act()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, own + children


def main() -> None:
    """Print medians and their ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = TreeCommand(
            argv=("true",),
            variables={"PATH": os.environ["PATH"]},
            cwd=folder,
            stdout=folder / "stdout.txt",
            stderr=folder / "stderr.txt",
            seconds=10,
        )
        run_tree(command)  # compiles the launcher once
        bare, tree = [], []
        for _ in range(ROUNDS):
            bare.append(measure(lambda: subprocess.run(["true"], check=True)))
            tree.append(measure(lambda: run_tree(command)))
    for what, index in (("wall", 0), ("CPU", 1)):
        slow, fast = (median(pair[index] for pair in series) for series in (tree, bare))
        sys.stdout.write(
            f"{what}: run_tree {slow * 1e3:.1f} ms, bare {fast * 1e3:.1f} ms, "
            f"ratio {slow / fast:.1f}\n"
        )


if __name__ == "__main__":
    main()
