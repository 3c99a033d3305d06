"""Gates: what must hold of a task before any agent meets it, one file a gate.

The file's name is the gate's: ``gates/leak.py`` is the item ``gate[leak]`` of ``--evo-mode=gate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_evoclaw.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a gate has found: faults (empty if the task passes), and remarks for the report.

    ``caught`` and ``tried`` count mutants, in the gate that has them.
    """

    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    caught: int | None = None
    tried: int | None = None


class Gate(Protocol):
    """One thing that must hold of a task. Its file has ``create() -> Gate``."""

    name: str

    def inspect(self, bench: Workbench) -> Finding:
        """Return what was found; NotScored if the reference solution or the grader breaks."""
