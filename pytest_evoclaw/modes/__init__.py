"""Recipes of phases: the file name is the value of ``--evo-mode``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from typing import Protocol

from pytest_evoclaw.phases import Stage
from pytest_evoclaw.skills import SkillBundle

Feedback = Literal["score", "checks", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSettings:
    """What recipes share.

    Authoring phases are seeded with ``skill_creator``; ``feedback`` says how much of the first
    grade the summary phase may see.
    """

    skill_creator: SkillBundle
    feedback: Feedback = "checks"


class Mode(Protocol):
    """One recipe; it sees no path, process or runtime.

    Its file has ``create(settings: ModeSettings) -> Mode``. One with ``transfers = True`` has
    phases that are ``fresh``; in others all phases meet the fixtures of ``--evo-variant``.
    """

    name: str

    def run(self, stage: Stage) -> None:
        """Run the phases in order; the grade of the last graded one is the trial's."""
