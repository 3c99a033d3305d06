"""PostSkill whose second execution meets fresh fixtures, which its skills have never seen.

The baseline on the same fresh fixtures stands beside it, in one trial: what the skills are worth
there is the difference of the two scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evoclaw import preambles
from pytest_evoclaw.learning import learn_from_attempt
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


@dataclass(frozen=True, slots=True)
class Transfer:
    """The first two phases of PostSkill, then the variant without and with the skills."""

    settings: ModeSettings
    name = "transfer"
    transfers = True

    def run(self, stage: Stage) -> None:
        """Learn on the official fixtures, execute twice on fresh ones."""
        skills = learn_from_attempt(stage, self.settings)
        stage.run(
            Phase(
                name="variant_baseline",
                preamble=preambles.BASELINE,
                graded=True,
                locked=True,
                fresh=True,
            )
        )
        stage.run(
            Phase(
                name="second_execution",
                preamble=preambles.REUSE,
                skills=skills,
                graded=True,
                locked=True,
                fresh=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return Transfer(settings)
