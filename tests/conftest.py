from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# A pytester session drops the modules that it was first to import, and numpy loads only once.
import pytest_evoclaw.resampling  # noqa: F401

TASK = """\
---
id: {id}
name: Two numbers
category: arithmetic
grading_type: automated
timeout_seconds: 20
sub_problems: 2
skill_category: adding
task_family: Small
workspace_files:
  - path: inputs/numbers.json
    content: "[1, 2, 3]"
---

## Prompt

Read `inputs/numbers.json`. Write the sum to `outputs/sum.json` and the largest to
`outputs/max.json`, each as {{"value": N}}.

## Expected Behavior

Adds and compares.

## Sub-Problems

### Sub-Problem 1: sum

Add.

### Sub-Problem 2: max

Compare.

## Grading Criteria

- [ ] The sum is right.
- [ ] The maximum is right.
"""

GRADER = """\
from __future__ import annotations

import json

from pytest_evoclaw.grading.compare import pick
from pytest_evoclaw.grading.compare import require_object


def grade(workspace, check):
    numbers = json.loads(workspace.fixture("inputs/numbers.json").read_text(encoding="utf-8"))
    for number, (name, value) in enumerate((("sum", sum(numbers)), ("max", max(numbers))), 1):
        with check("value", sub_problem=number):
            assert pick(workspace.json(f"outputs/{name}.json"), "value") == value
        with check("nothing else", sub_problem=number):
            assert set(require_object(workspace.json(f"outputs/{name}.json"))) == {"value"}


def solve(workspace):
    numbers = json.loads((workspace / "inputs/numbers.json").read_text(encoding="utf-8"))
    for name, value in (("sum", sum(numbers)), ("max", max(numbers))):
        text = json.dumps({"value": value})
        (workspace / f"outputs/{name}.json").write_text(text, encoding="utf-8")
"""


class Suite:
    """A small benchmark in pytester's folder."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        for name in ("tasks", "graders"):
            (self.path / name).mkdir()
        pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def add_task(self, name: str = "task_01_numbers", grader: str = GRADER) -> None:
        self.write(f"tasks/{name}.md", TASK.format(id=name))
        self.write(f"graders/{name}.py", grader)

    def add_script(self, text: str) -> None:
        self.write("script.yaml", text)

    def run(self, *args: str, mode: str = "baseline") -> pytest.RunResult:
        return self.pytester.runpytest("tasks", f"--evo-mode={mode}", *args)

    def run_apart(self, *args: str, mode: str = "baseline") -> pytest.RunResult:
        """Run pytest in a process of its own, as a user does."""
        return self.pytester.runpytest_subprocess("tasks", f"--evo-mode={mode}", *args)

    @property
    def session(self) -> Path:
        """The folder of the newest session's results."""
        return max((self.path / "evo-results").iterdir(), key=lambda path: path.stat().st_mtime_ns)

    @property
    def metrics(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.session / "metrics.json").read_text("utf-8"))
        return data

    @property
    def journal(self) -> list[dict[str, Any]]:
        lines = (self.session / "trials.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    """A benchmark of one task."""
    made = Suite(pytester)
    made.add_task()
    return made
