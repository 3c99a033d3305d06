"""Solve, turn the graded attempt into skills, solve again with them (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evoclaw import preambles
from pytest_evoclaw.first_run import FIRST_RUN_PATH
from pytest_evoclaw.first_run import describe_first_run
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


@dataclass(frozen=True, slots=True)
class Postskill:
    """A graded phase without skills, an authoring phase about it, a graded phase with skills."""

    settings: ModeSettings
    name = "postskill"

    def run(self, stage: Stage) -> None:
        """Execute, summarise, execute again."""
        first = stage.run(
            Phase(name="first_execution", preamble=preambles.BASELINE, graded=True, locked=True)
        )
        evidence = describe_first_run(first, self.settings.feedback)
        stage.leave(first, FIRST_RUN_PATH, evidence)
        summary = stage.run(
            Phase(
                name="skill_summary",
                preamble=preambles.SUMMARY,
                seeds=self.settings.skill_creator,
                files=((FIRST_RUN_PATH, evidence),),
            )
        )
        stage.run(
            Phase(
                name="second_execution",
                preamble=preambles.REUSE,
                skills=summary.skills,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return Postskill(settings)
