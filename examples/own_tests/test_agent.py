"""Tests of your own, about an agent and its skills."""

from __future__ import annotations

import pytest

from pytest_evoclaw.phases import Phase

pytestmark = pytest.mark.evo_task("tasks/task_01_words.md")


def test_the_agent_solves_the_task_in_time(evo_run_phase):
    outcome = evo_run_phase(Phase(name="mine", preamble="Hurry.\n", graded=True, locked=True))
    assert outcome.result.grade.score == 1.0
    assert outcome.result.execution.seconds < 20


def test_a_seeded_skill_is_guarded(evo_workspace, evo_skills, evo_skill_guard):
    evo_skills()
    assert evo_skill_guard() == ()
    (evo_workspace / "skills/skill-creator/SKILL.md").write_text("changed", encoding="utf-8")
    (change,) = evo_skill_guard()
    assert "skill-creator/SKILL.md" in change


def test_the_workspace_holds_the_inputs(evo_workspace, evo_task):
    names = [file.dest for file in evo_task.workspace_files]
    assert names == ["inputs/words.txt"]
    assert (evo_workspace / "inputs/words.txt").read_text(encoding="utf-8") == "one two three\n"
    assert (evo_workspace / "outputs").is_dir()
