"""Build, solve and grade generated tasks in folders of the tests."""

from __future__ import annotations

import json
from pathlib import Path

from graders import evidence
from pytest_evoclaw.evidence import build_fixtures
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.workspace import GradedWorkspace
from pytest_evoclaw.results import Grade

ROOT = Path(__file__).resolve().parents[2]


def open_workspace(task_id: str, folder: Path, seed: int = 7) -> GradedWorkspace:
    """Return a workspace with fixtures of its own, and pristine ones beside it."""
    build_fixtures(task_id, seed, folder / "workspace")
    build_fixtures(task_id, seed, folder / "pristine")
    (folder / "workspace/outputs").mkdir()
    return _view(folder, task_id)


def _view(folder: Path, task_id: str) -> GradedWorkspace:
    names = load_spec(task_id).fixtures
    fixtures = {name: folder / "pristine" / name for name in names}
    return GradedWorkspace(folder / "workspace", fixtures=fixtures, task_id=task_id)


def grade_workspace(workspace: GradedWorkspace) -> Grade:
    check = Checklist()
    fresh = GradedWorkspace(workspace.path, fixtures=workspace._fixtures, task_id=workspace.task_id)
    evidence.grade(fresh, check)
    return Grade(checks=check.checks)


def write_reports(workspace: GradedWorkspace, reports: list[object]) -> None:
    for number, report in enumerate(reports, start=1):
        path = workspace / f"outputs/case_{number:02}_report.json"
        path.write_text(json.dumps(report), encoding="utf-8")
