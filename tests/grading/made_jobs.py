"""Tasks of one grader, and jobs for them, in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.task import read_task
from pytest_evoclaw.transcript import EMPTY

TASK = """\
---
id: task_01_words
name: Words
category: text
grading_type: automated
timeout_seconds: 20
sub_problems: 2
skill_category: words
task_family: Small
workspace_files:
  - assets/words.txt
  - path: inputs/numbers.json
    content: "[1, 2, 3]"
---

## Prompt

Count.

## Expected Behavior

Counts.

## Sub-Problems

### Sub-Problem 1: words

Count words.

### Sub-Problem 2: numbers

Count numbers.

## Grading Criteria

- [ ] The counts are right.
"""
FENCE = "\n## Automated Checks\n\n```python\n{code}\n```\n"


class Desk:
    """A suite with one task, and the workspace that an agent left."""

    def __init__(self, folder: Path) -> None:
        self.suite = folder / "suite"
        self.workspace = folder / "agent" / "workspace"
        self.marks = folder / "marks"
        for each in ("tasks", "graders", "assets"):
            (self.suite / each).mkdir(parents=True)
        (self.workspace / "outputs").mkdir(parents=True)
        self.marks.mkdir()
        (self.suite / "assets/words.txt").write_text("one two\n", encoding="utf-8")

    @property
    def task_path(self) -> Path:
        return self.suite / "tasks/task_01_words.md"

    @property
    def grader_path(self) -> Path:
        return self.suite / "graders/task_01_words.py"

    def module_job(self, code: str, **limits: Any) -> GradingJob:
        """Return a job for a grader module; ``MARKS`` in its code is a folder to leave marks in."""
        text = dedent(code).replace("MARKS", repr(str(self.marks)))
        self.grader_path.write_text(text, encoding="utf-8")
        return self._job(TASK, limits)

    def inline_job(self, code: str, **limits: Any) -> GradingJob:
        """Return a job for a fenced function."""
        text = dedent(code).strip().replace("MARKS", repr(str(self.marks)))
        return self._job(TASK + FENCE.format(code=text), limits)

    def _job(self, text: str, limits: dict[str, Any]) -> GradingJob:
        self.task_path.write_text(text, encoding="utf-8")
        task = read_task(self.task_path, self.suite)
        options: dict[str, Any] = {"transcript": EMPTY, "seconds": 20, **limits}
        return GradingJob(task=task, workspace=self.workspace, **options)


def fault_of(grader: Grader, job: GradingJob) -> str:
    """Grade in vain, and return the words."""
    with pytest.raises(NotScored) as caught:
        grader.grade(job)
    assert caught.value.reason is Reason.GRADER
    return caught.value.detail
