"""The execution of PreSkill with a skill about something else: what any text alone does.

Nobody writes a skill first, since it would not be used (paper, section 5.3 and Table 7).
"""

from __future__ import annotations

from pytest_evoclaw import preambles
from pytest_evoclaw.control_skills import IRRELEVANT_SKILL
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


class PreskillIrrelevant:
    """One graded phase with an irrelevant skill."""

    name = "preskill-irrelevant"

    def run(self, stage: Stage) -> None:
        """Execute with the irrelevant skill."""
        stage.run(
            Phase(
                name="execution",
                preamble=preambles.REUSE,
                skills=IRRELEVANT_SKILL,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return PreskillIrrelevant()
