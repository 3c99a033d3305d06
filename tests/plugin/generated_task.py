"""The small suite with a generated task beside: for tests of fresh fixtures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Suite

ROOT = Path(__file__).parent.parent.parent
TASK = "task_27_contract_clause_extraction"
OFFICIAL = ROOT / "assets" / TASK


@pytest.fixture
def generated(suite: Suite) -> Suite:
    """A suite of two tasks: one of its own, and one that has a generator."""
    for name in (f"tasks/{TASK}.md", "graders/evidence.py"):
        shutil.copy(ROOT / name, suite.path / name)
    shutil.copytree(OFFICIAL, suite.path / "assets" / TASK)
    return suite


def write_steps(session: Path) -> list[dict[str, Any]]:
    """Return the steps of a scripted agent that writes what the agent of a session wrote."""
    outputs = next((session / "trials").rglob("outputs"))
    return [
        {"write": f"outputs/{path.name}", "text": path.read_text(encoding="utf-8")}
        for path in sorted(outputs.iterdir())
    ]
