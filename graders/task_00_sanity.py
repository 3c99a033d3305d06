"""Truth and reference solution of ``task_00_sanity``."""

from __future__ import annotations

import csv
import json

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

INPUT = "assets/sanity/visitors.csv"
OUTPUT = "outputs/summary.json"


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    lines = workspace.fixture(INPUT).read_text(encoding="utf-8").split()[1:]
    cells = [line.split(",") for line in lines]
    counts = {gate: sum(int(c[2]) for c in cells if c[1] == gate) for _, gate, _ in cells}
    expected = {
        "rows": len(cells),
        "total_visitors": sum(counts.values()),
        "visitors_by_gate": counts,
    }
    for key, value in expected.items():
        with check(key, sub_problem=1):
            found = pick(workspace.json(OUTPUT), key, where=OUTPUT)
            require_same(found, value, f"{OUTPUT}.{key}")
    with check("document", sub_problem=1):
        require_same(workspace.json(OUTPUT), expected, OUTPUT)


def solve(workspace: GradedWorkspace) -> None:
    summary = {"rows": 0, "total_visitors": 0}
    by_gate: dict[str, int] = {}
    with (workspace / INPUT).open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            visitors = int(row["visitors"])
            summary["rows"] += 1
            summary["total_visitors"] += visitors
            by_gate[row["gate"]] = by_gate.get(row["gate"], 0) + visitors
    text = json.dumps({**summary, "visitors_by_gate": by_gate}, indent=2)
    (workspace / OUTPUT).write_text(text + "\n", encoding="utf-8")
