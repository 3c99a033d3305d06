"""Solve a task, then turn the graded attempt into skills: how postskill and transfer begin."""

from __future__ import annotations

from pytest_evoclaw import preambles
from pytest_evoclaw.first_run import FIRST_RUN_PATH
from pytest_evoclaw.first_run import describe_first_run
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage
from pytest_evoclaw.skills import SkillBundle


def learn_from_attempt(stage: Stage, settings: ModeSettings) -> SkillBundle:
    """Run the phases ``first_execution`` and ``skill_summary``; return the skills written."""
    first = stage.run(
        Phase(name="first_execution", preamble=preambles.BASELINE, graded=True, locked=True)
    )
    evidence = describe_first_run(first, settings.feedback)
    stage.leave(first, FIRST_RUN_PATH, evidence)
    summary = stage.run(
        Phase(
            name="skill_summary",
            preamble=preambles.SUMMARY,
            seeds=settings.skill_creator,
            files=((FIRST_RUN_PATH, evidence),),
        )
    )
    return summary.skills
