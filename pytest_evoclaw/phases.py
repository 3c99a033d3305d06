"""One phase of a trial: one agent process in a fresh workspace, then its grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Protocol

from pytest_evoclaw.gateway import NO_LIMITS
from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.skills import EMPTY_BUNDLE
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import Transcript
from pytest_evoclaw.workspace import OutputPreview


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What a mode asks for.

    ``skills`` are put under ``skills/`` to be used; ``seeds`` too, but they are never counted as
    created. ``files`` are further files, as (path in the workspace, bytes). In a ``locked`` phase
    any change below ``skills/`` is a violation; in any other the agent writes skills. ``graded``
    phases are graded when they end. A ``fresh`` phase meets the trial's variant, fixtures that no
    other phase has seen, in modes that say so (:class:`pytest_evoclaw.modes.Mode`).
    """

    name: str
    preamble: str
    skills: SkillBundle = EMPTY_BUNDLE
    seeds: SkillBundle = EMPTY_BUNDLE
    files: tuple[tuple[str, bytes], ...] = ()
    graded: bool = False
    locked: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseOutcome:
    """A phase's result, and what a later phase of the same trial may build on."""

    result: PhaseResult
    task: Task
    prompt: str
    skills: SkillBundle
    transcript: Transcript
    previews: tuple[OutputPreview, ...] = ()


class Stage(Protocol):
    """Where a mode runs its phases. Raises NotScored when the harness or a provider fails."""

    def run(self, phase: Phase) -> PhaseOutcome:
        """Run one phase to its end, graded if it is to be."""

    def leave(self, outcome: PhaseOutcome, path: str, data: bytes) -> None:
        """Write a file into the kept workspace of a phase that is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSettings:
    """What holds for all phases of a session.

    ``session`` is the folder of results, ``workspaces`` where agents work; ``variables`` are
    passed through to the agents (``--evo-pass-env``), ``limits`` bound what they ask of a model,
    ``start_limit`` how many slow programs start at a time (default: one a core).
    """

    session: Path
    workspaces: Path
    keep_workspaces: bool = False
    timeout_factor: float = 1.0
    variables: Mapping[str, str] = field(default_factory=dict)
    limits: TrafficLimits = NO_LIMITS
    start_limit: int | None = None
