"""The files of a new task: small, complete, and right by every gate, to be changed from there."""

from __future__ import annotations

import re
from string import Template

from pytest_evoclaw.errors import SettingsError

_ID = re.compile(r"task_\d+_[a-z0-9]+(_[a-z0-9]+)*")

_TASK = Template("""\
---
id: $id
name: $name
category: data_analysis
grading_type: automated
timeout_seconds: 600
sub_problems: 2
skill_category: $skill
task_family: $family
workspace_files:
  - assets/$id/parcels.csv
---

## Prompt

`assets/$id/parcels.csv` lists parcels, one a row, with the columns `parcel`, `kg` and `state`.
Leave out the rows whose `state` is `void`. Write two JSON objects with exactly these keys:

- `outputs/weight.json`: `parcels`, the number of parcels (a JSON integer), and `total_kg`, the sum
  of their weights (a number, rounded to two decimals);
- `outputs/heaviest.json`: `parcel`, the name of the heaviest parcel; of several equally heavy ones,
  the first in the file.

## Expected Behavior

The agent reads the file with a CSV parser, leaves out void rows once for both outputs, and adds
exactly.

## Sub-Problems

### Sub-Problem 1: Weight

Count the parcels and add their weights.

### Sub-Problem 2: Heaviest

Find the heaviest parcel.

## Grading Criteria

- [ ] Number and total are right in value and type.
- [ ] The heaviest parcel is right.
- [ ] Neither document has other keys.
""")

_INPUT = """\
parcel,kg,state
P-17,2.40,sent
P-03,11.05,void
P-44,8.15,sent
P-28,0.60,open
P-31,8.15,sent
"""

_GRADER = Template('''\
"""Truth and reference solution of ``$id``."""

from __future__ import annotations

import csv
import json
from decimal import Decimal

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_same
from pytest_evoclaw.grading.workspace import GradedWorkspace

INPUT = "assets/$id/parcels.csv"


def grade(workspace: GradedWorkspace, check: Checklist) -> None:
    with workspace.fixture(INPUT).open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["state"] != "void"]
    weights = [Decimal(row["kg"]) for row in rows]
    expected = {
        "weight": {"parcels": len(rows), "total_kg": float(sum(weights))},
        "heaviest": {"parcel": rows[weights.index(max(weights))]["parcel"]},
    }
    for number, (name, document) in enumerate(expected.items(), start=1):
        output = f"outputs/{name}.json"
        for key, value in document.items():
            with check(key, sub_problem=number):
                require_same(pick(workspace.json(output), key, where=output), value, output)
        with check("document", sub_problem=number):
            require_same(workspace.json(output), document, output)


def solve(workspace: GradedWorkspace) -> None:
    """Solve the task another way: cents instead of decimals, lines instead of the csv module."""
    grams, count, best = 0, 0, (-1, "")
    for line in (workspace / INPUT).read_text(encoding="utf-8").splitlines()[1:]:
        name, kilos, state = line.split(",")
        if state == "void":
            continue
        weight = round(float(kilos) * 1000)
        grams, count = grams + weight, count + 1
        if weight > best[0]:
            best = weight, name
    documents = {
        "weight": {"parcels": count, "total_kg": round(grams / 1000, 2)},
        "heaviest": {"parcel": best[1]},
    }
    for name, document in documents.items():
        text = json.dumps(document, indent=2)
        (workspace / f"outputs/{name}.json").write_text(text + "\\n", encoding="utf-8")
''')


def scaffold_task(task_id: str, name: str | None, family: str) -> dict[str, str]:
    """Return the new files' texts by their paths; SettingsError for a malformed id."""
    if not _ID.fullmatch(task_id):
        raise SettingsError(f"id: found {task_id!r}, allowed task_NUMBER_words_in_lower_case")
    words = task_id.split("_")[2:]
    facts = {
        "id": task_id,
        "name": _quote(name or " ".join(words).title()),
        "skill": "_".join(words),
        "family": _quote(family),
    }
    return {
        f"tasks/{task_id}.md": _TASK.substitute(facts),
        f"assets/{task_id}/parcels.csv": _INPUT,
        f"graders/{task_id}.py": _GRADER.substitute(facts),
    }


def _quote(text: str) -> str:
    """Return a YAML scalar: as it is where that is plain."""
    plain = re.fullmatch(r"[A-Za-z][\w ()/&-]*", text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if plain else f'"{escaped}"'
