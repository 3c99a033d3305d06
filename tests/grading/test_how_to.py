"""The grader in docs/how-to/write-a-grader.md does what the page says."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

from pytest_evoclaw.grading.checklist import Checklist
from pytest_evoclaw.grading.workspace import GradedWorkspace

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "write-a-grader.md"


@pytest.fixture
def grader() -> types.ModuleType:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    module = types.ModuleType("grader")
    exec(compile(code, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - our own page
    return module


@pytest.fixture
def workspace(tmp_path: Path) -> GradedWorkspace:
    (tmp_path / "outputs").mkdir()
    name = "assets/parcels/parcels.csv"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("to,kg\nOslo,31\nBergen,4\n", encoding="utf-8")
    return GradedWorkspace(tmp_path, fixtures={name: tmp_path / name})


def test_the_solution_of_the_page_passes_its_checks(grader, workspace):
    grader.solve(workspace)
    check = Checklist()
    grader.grade(workspace, check)
    assert [(each.key, each.score) for each in check.checks] == [
        ("sub_1_parcels", 1.0),
        ("sub_1_heaviest_kg", 1.0),
    ]


def test_the_message_of_the_page_is_what_a_person_sees(grader, workspace):
    text = '{"parcels": 2, "heaviest_kg": "31"}'
    (workspace / "outputs/parcels.json").write_text(text, encoding="utf-8")
    check = Checklist()
    grader.grade(workspace, check)
    assert check.checks[1].message in PAGE.read_text(encoding="utf-8")
