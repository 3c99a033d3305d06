"""A task for a judge, the workspace that an agent left, and judges on loopback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading.judge import Judge
from pytest_evoclaw.llm import Completer
from pytest_evoclaw.llm import CompletionLimits
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import read_task
from pytest_evoclaw.transcript import EMPTY
from tests.model_server import Brain
from tests.model_server import ModelServer

TASK = """\
---
id: task_01_letter
name: A letter
category: writing
grading_type: {grading_type}
timeout_seconds: 20
sub_problems: 1
skill_category: letters
{weights}workspace_files:
  - path: inputs/facts.txt
    content: "The delivery is three days late."
---

## Prompt

Write a letter to `outputs/letter.txt` that says how late the delivery is.

## Expected Behavior

Reads the facts and writes kindly.

## Sub-Problems

### Sub-Problem 1: letter

Write it.

## Grading Criteria

- [ ] The numbers are right.
- [ ] The letter is kind.

## LLM Judge Rubric

### Tone

Kind, and to the point.

### Facts

No fact is invented.
"""
WEIGHTS = "grading_weights:\n  automated: 3\n  llm_judge: 1\n"
GRADER = """\
from __future__ import annotations


def grade(workspace, check):
    with check("exists", sub_problem=1):
        text = workspace.text("outputs/letter.txt")
    with check("days", sub_problem=1):
        assert "three days" in workspace.text("outputs/letter.txt")
"""
# A busy machine may take seconds for what takes milliseconds.
PATIENT = CompletionLimits(call_seconds=20.0, total_seconds=40.0, retries=2)
HASTY = CompletionLimits(call_seconds=1.0, total_seconds=2.0, retries=2)


def make_task(folder: Path, grading_type: str = "llm_judge", weights: str = "") -> Task:
    """Write the task's file and grader, and read them."""
    for name in ("tasks", "graders"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    path = folder / "tasks/task_01_letter.md"
    path.write_text(TASK.format(grading_type=grading_type, weights=weights), encoding="utf-8")
    (folder / "graders/task_01_letter.py").write_text(GRADER, encoding="utf-8")
    return read_task(path, folder)


def make_job(folder: Path, **options: Any) -> GradingJob:
    """Return a job for a workspace that holds a letter."""
    workspace = folder / "agent/workspace"
    (workspace / "outputs").mkdir(parents=True)
    letter = "We are sorry: it is three days late."
    (workspace / "outputs/letter.txt").write_text(letter, encoding="utf-8")
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    return GradingJob(
        task=make_task(folder, **options),
        workspace=workspace,
        transcript=EMPTY,
        artifacts=artifacts,
    )


@contextmanager
def open_judge(
    brain: Brain, samples: int = 1, limits: CompletionLimits = PATIENT
) -> Iterator[tuple[Judge, ModelServer]]:
    with ModelServer(brain) as server:
        endpoint = Endpoint(model="judge-1", base_url=server.base_url, api_key="none")
        completer = Completer(endpoint=endpoint, limits=limits, randomness=random.Random(1))
        yield Judge(model="judge-1", completer=completer, samples=samples), server
