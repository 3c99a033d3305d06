"""Solve the task directly, without skills (paper, section 4.1)."""

from __future__ import annotations

from pytest_evoclaw import preambles
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.modes import ModeSettings
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import Stage


class Baseline:
    """One graded phase."""

    name = "baseline"

    def run(self, stage: Stage) -> None:
        """Execute."""
        stage.run(Phase(name="execution", preamble=preambles.BASELINE, graded=True, locked=True))


def create(settings: ModeSettings) -> Mode:
    """Return the mode."""
    return Baseline()
