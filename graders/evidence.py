"""Grader of all generated tasks (task_22 to task_100), and their reference solution.

The grader derives the truth from pristine fixtures with the package's reader. The solution shares
no code with it: it reads the files by itself and works on plain rows.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from pytest_evoclaw.evidence import derive_report
from pytest_evoclaw.evidence import read_case
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import describe
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

Row = dict[str, Any]
Sections = tuple[Row, dict[str, str], list[Row], list[Row]]


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    spec = load_spec(workspace.task_id)
    for number, fixture in enumerate(spec.fixtures, start=1):
        expected = derive_report(read_case(workspace.fixture(fixture)))
        for field in spec.fields.values():
            with check(field, sub_problem=number):
                report = workspace.json(f"outputs/case_{number:02}_report.json")
                require_answer(pick(report, field, where="report"), expected[field], field)


def require_answer(actual: Any, expected: Any, field: str) -> None:
    """Compare by value and type; a whole amount may be written without its decimals."""
    if isinstance(expected, float) and type(actual) in (int, float):
        assert actual == expected, f"{field}: found {describe(actual)}, expected {expected}"
    else:
        require_same(actual, expected, field)


def solve(workspace: GradedWorkspace) -> None:
    folder = workspace.path / "assets" / workspace.task_id
    for path in sorted(folder.glob("case_*.*")):
        report = solve_case(load_sections(path))
        target = workspace.path / "outputs" / f"{path.stem}_report.json"
        target.parent.mkdir(exist_ok=True)
        text = json.dumps(report, ensure_ascii=False, indent=2)
        target.write_text(text + "\n", encoding="utf-8")


def load_sections(path: Path) -> Sections:
    """Return (facts, channel map, packet rows, record rows) with all cells as text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return split_rows(tag_csv_rows(text))
    if path.suffix == ".txt":
        return split_rows([json.loads(line) for line in text.splitlines()])
    if path.suffix == ".html":
        blocks = re.findall(r'data-section="(\w+)">(.*?)</script>', text, re.DOTALL)
        pages = {name: json.loads(block) for name, block in blocks}
        return pages["case"], pages["channels"], pages["manifest"], pages["records"]
    data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    return data, data["channels"], data["manifest"], data["records"]


def tag_csv_rows(text: str) -> list[Row]:
    headers: dict[str, list[str]] = {}
    rows = []
    for cells in csv.reader(text.splitlines()):
        if cells[0] == "columns":
            headers[cells[1]] = cells[2:]
        else:
            named = zip(headers[cells[0]], cells[1:], strict=True)
            rows.append({"section": cells[0], **{key: cell for key, cell in named if cell}})
    return rows


def split_rows(rows: list[Row]) -> Sections:
    by_section: dict[str, list[Row]] = {}
    for row in rows:
        by_section.setdefault(row["section"], []).append(row)
    channels = {row["channel"]: row["field"] for row in by_section["channel"]}
    return by_section["case"][0], channels, by_section["packet"], by_section["record"]


def solve_case(sections: Sections) -> Row:
    facts, channels, packets, records = sections
    packet_id = find_authority(facts, packets)
    kept = [r for r in records if (r["packet_id"], r["state"]) == (packet_id, "final")]
    solvers: dict[str, Callable[[list[Row]], Any]]
    solvers = {"N": add_up, "L": replay, "D": tally, "B": sign_off, "T": elect}
    report = {}
    for channel, field in channels.items():
        rows = [row for row in kept if row["channel"] == channel]
        answer = solvers[channel[0]](rows)
        report[field] = int(answer) if field.endswith("_count") else answer
    return report


def find_authority(facts: Row, packets: list[Row]) -> str:
    best = (-1, -1), ""
    for packet in sorted(packets, key=lambda row: row["packet_id"]):
        parts = [
            "evoclawbench-difficulty-hardening-20260524-v4",
            facts["task_id"],
            facts["case_id"],
            packet["packet_id"],
            packet["nonce"],
        ]
        digest = hashlib.sha256("|".join(parts).encode()).hexdigest()
        if packet["status"] != "approved" or packet.get("superseded_by"):
            continue
        if packet["checksum"] != digest[:16]:
            continue
        rank = int(packet["revision"]), int(packet["source_weight"])
        if rank > best[0]:
            best = rank, str(packet["packet_id"])
    return best[1]


def signed(row: Row) -> int:
    return int(row["amount"]) * (1 if row["op"] == "add" else -1)


def add_up(rows: list[Row]) -> float:
    exact = sum((Fraction(signed(row), int(row["scale"])) for row in rows), Fraction(0))
    mills = exact * 1000
    assert mills.denominator == 1
    cents = (Decimal(mills.numerator) / 10).quantize(Decimal(1), ROUND_HALF_UP)
    return int(cents) / 100


def replay(rows: list[Row]) -> list[str]:
    entries = []
    for row in sorted(rows, key=lambda r: r["record_id"]):
        entries.append((int(row["revision"]), row))
    present: list[str] = []
    for _, row in sorted(entries, key=lambda entry: entry[0]):
        if row["op"] == "include" and row["value"] not in present:
            present.append(row["value"])
        elif row["op"] != "include" and row["value"] in present:
            present.remove(row["value"])
            if row["op"] == "alias" and row["target"] not in present:
                present.append(row["target"])
    return sorted(present)


def tally(rows: list[Row]) -> dict[str, int]:
    buckets = sorted({row["bucket"] for row in rows})
    sums = {b: sum(signed(row) for row in rows if row["bucket"] == b) for b in buckets}
    return {bucket: total for bucket, total in sums.items() if total != 0}


def sign_off(rows: list[Row]) -> bool:
    failures = [row for row in rows if row["passed"] in (False, "false")]
    return not failures


def elect(rows: list[Row]) -> str:
    nets: dict[int, list[str]] = {}
    for row in rows:
        net = int(row["score"]) - int(row["penalty"])
        nets.setdefault(net, []).append(row["candidate"])
    return sorted(nets[max(nets)])[0]
