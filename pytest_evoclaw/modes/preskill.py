"""Write skills first, then solve the task in a fresh workspace with them (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evoclaw import preambles
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage
from pytest_evoclaw.skills import SkillBundle


@dataclass(frozen=True, slots=True)
class Preskill:
    """An authoring phase and a graded phase."""

    skill_creator: SkillBundle
    name = "preskill"

    def run(self, stage: Stage) -> None:
        """Author, then execute with what was authored."""
        author = stage.run(
            Phase(name="skill_generation", preamble=preambles.AUTHOR, seeds=self.skill_creator)
        )
        stage.run(
            Phase(
                name="execution",
                preamble=preambles.REUSE,
                skills=author.skills,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return Preskill(settings.skill_creator)
