"""What a grade costs besides the grader: a trivial one against a bare ``python -c pass``.

Run it from the project's folder: ``python -m benchmarks.grading_overhead``. The two series
alternate, so that a busy machine hits both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pytest_evoclaw.grading import forkserver
from pytest_evoclaw.grading.orders import Order

ROUNDS = 40


def measure(act: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def start_python() -> None:
    """Start an interpreter that does nothing."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def make_order(folder: Path) -> Order:
    """Write a grader of one check and return an order for it."""
    source = folder / "graders/trivial.py"
    source.parent.mkdir()
    source.write_text("def grade(workspace, check):\n    check.score('it', 1)\n", encoding="utf-8")
    return Order(
        form="module",
        source=str(source),
        root=str(folder),
        workspace=str(folder),
        task_id="trivial",
        sub_problems=0,
        fixtures={},
        contents={},
        transcript=[],
        seconds=60,
        memory_bytes=2**31,
        output_bytes=100_000,
    )


def main() -> None:
    """Print the cost of the first grade, the medians and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        order = make_order(Path(name))
        first = measure(lambda: forkserver.ask(order))
        grades, pythons = [], []
        for _ in range(ROUNDS):
            grades.append(measure(lambda: forkserver.ask(order)))
            pythons.append(measure(start_python))
        forkserver.close()
    grade, python = median(grades), median(pythons)
    sys.stdout.write(
        f"first grade, with the server's start: {first * 1e3:.0f} ms\n"
        f"grade {grade * 1e3:.1f} ms, python -c pass {python * 1e3:.1f} ms, "
        f"ratio {grade / python:.2f}\n"
    )


if __name__ == "__main__":
    main()
