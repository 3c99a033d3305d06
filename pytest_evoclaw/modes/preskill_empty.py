"""The execution of PreSkill with a skill that says nothing: what the scaffold alone does.

Nobody writes a skill first, since it would not be used (paper, section 5.3 and Table 7).
"""

from __future__ import annotations

from pytest_evoclaw import preambles
from pytest_evoclaw.control_skills import EMPTY_SKILL
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


class PreskillEmpty:
    """One graded phase with an empty skill."""

    name = "preskill-empty"

    def run(self, stage: Stage) -> None:
        """Execute with the empty skill."""
        stage.run(
            Phase(
                name="execution",
                preamble=preambles.REUSE,
                skills=EMPTY_SKILL,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return PreskillEmpty()
