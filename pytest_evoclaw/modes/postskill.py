"""Solve, turn the graded attempt into skills, solve again with them (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evoclaw import preambles
from pytest_evoclaw.learning import learn_from_attempt
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
        skills = learn_from_attempt(stage, self.settings)
        stage.run(
            Phase(
                name="second_execution",
                preamble=preambles.REUSE,
                skills=skills,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return Postskill(settings)
