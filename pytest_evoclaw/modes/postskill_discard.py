"""PostSkill whose skills are thrown away before the second execution (paper, Table 7)."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evoclaw import preambles
from pytest_evoclaw.learning import learn_from_attempt
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


@dataclass(frozen=True, slots=True)
class PostskillDiscard:
    """The phases of PostSkill, the last one without skills but with the same preamble."""

    settings: ModeSettings
    name = "postskill-discard"

    def run(self, stage: Stage) -> None:
        """Execute, summarise, execute again without what was written."""
        learn_from_attempt(stage, self.settings)
        stage.run(
            Phase(
                name="second_execution",
                preamble=preambles.REUSE,
                graded=True,
                locked=True,
            )
        )


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return PostskillDiscard(settings)
