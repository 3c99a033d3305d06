"""``gate[nop]``: no output at all scores 0.0, with the same checks as the solution's."""

from __future__ import annotations

from pytest_evoclaw.gates import Finding
from pytest_evoclaw.gates import Gate
from pytest_evoclaw.workbench import Workbench
from pytest_evoclaw.workbench import list_undeserved


class Nop:
    """Grades an untouched workspace."""

    name = "nop"

    def inspect(self, bench: Workbench) -> Finding:
        """Find checks that nothing passes."""
        return Finding(faults=list_undeserved(bench, {}, "no output at all"))


def create() -> Gate:
    """Return the gate."""
    return Nop()
