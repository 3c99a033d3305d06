"""One trial from end to end: its mode's phases, what each left behind, and its result."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.modes import Mode
from pytest_evoclaw.phase_runner import PhasePlace
from pytest_evoclaw.phase_runner import PhaseRunner
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import PhaseOutcome
from pytest_evoclaw.phases import PhaseSettings
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.safe_files import write_regular
from pytest_evoclaw.task import Task
from pytest_evoclaw.workspace import remove_tree

if TYPE_CHECKING:
    from pytest_evoclaw.gateway.service import Gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a trial is made of, besides its task."""

    mode: Mode
    runtime: Runtime
    environment: Environment
    grader: Grader
    endpoint: Endpoint | None = None
    gateway: Gateway | None = None


@dataclass(slots=True, kw_only=True)
class TrialRunner:
    """Runs one trial; a :class:`pytest_evoclaw.phases.Stage`.

    ``phases`` grows as phases end, so that what was paid for is on record whatever happens next.
    ``variant`` is the task of fresh phases, ``fixtures`` the folder made for inputs of this trial.
    """

    trial: Trial
    task: Task
    parts: Parts
    settings: PhaseSettings
    variant: Task | None = None
    fixtures: Path | None = None
    nodeid: str = ""
    phases: list[PhaseResult] = field(default_factory=list)
    _places: dict[str, PhasePlace] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    def run_trial(self) -> TrialResult:
        """Run all phases. A trial without a score is a result too: it has a ``failure``."""
        try:
            self.parts.mode.run(self)
        except NotScored as error:
            return self.result(Failure(reason=error.reason.value, detail=error.detail))
        finally:
            self.clean_up()
        if not any(phase.grade for phase in self.phases):
            detail = f"the mode {self.trial.mode!r} has no graded phase"
            return self.result(Failure(reason=Reason.HARNESS.value, detail=detail))
        return self.result()

    def run(self, phase: Phase) -> PhaseOutcome:
        """Run one phase to its end."""
        place = self._find_place(phase)
        self._places[phase.name] = place
        runner = PhaseRunner(
            task=self._choose_task(phase),
            trial=self.trial,
            runtime=self.parts.runtime,
            environment=self.parts.environment,
            endpoint=self.parts.endpoint,
            gateway=self.parts.gateway,
            grader=self.parts.grader,
            settings=self.settings,
        )
        return runner.run(phase, place, self.phases.append)

    def leave(self, outcome: PhaseOutcome, path: str, data: bytes) -> None:
        """Write a file into the workspace of a phase that is over, and beside its artifacts."""
        place = self._places[outcome.result.name]
        for folder in (place.root / "workspace", place.artifacts):
            write_regular(folder, path, data)

    def result(self, failure: Failure | None = None) -> TrialResult:
        """Return the result so far."""
        return TrialResult(
            trial=self.trial,
            nodeid=self.nodeid,
            phases=tuple(self.phases),
            failure=failure,
            seconds=time.monotonic() - self._started,
            settings={
                "environment": self.parts.environment.name,
                "timeout_seconds": self.task.timeout_seconds * self.settings.timeout_factor,
                **self._describe_models(),
            },
        )

    def _choose_task(self, phase: Phase) -> Task:
        if not phase.fresh:
            return self.task
        if self.variant is None:
            detail = f"phase {phase.name} wants fresh fixtures, but the mode does not transfer"
            raise NotScored(Reason.HARNESS, detail)
        return self.variant

    def _describe_models(self) -> dict[str, Any]:
        gateway = self.parts.gateway
        if self.parts.endpoint is None or gateway is None:
            return {}
        limits = self.settings.limits
        return {
            "max_turns": limits.max_turns,
            "max_tokens_per_phase": limits.max_tokens,
            "replayed": gateway.settings.replay is not None,
        }

    def _find_place(self, phase: Phase) -> PhasePlace:
        # The agent sees its workspace's path: neither the mode nor the phase may show in it, and
        # it has the same length everywhere, so that prompts are equally long.
        name = f"{self._session}/{self._folder}/{phase.name}"
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        return PhasePlace(
            root=self.settings.workspaces / digest,
            artifacts=self.settings.session / self._folder / phase.name,
            folder=f"{self._folder}/{phase.name}",
        )

    @property
    def _session(self) -> str:
        # Stored answers name files by the absolute paths that the agent had: they have to be the
        # same again in a session that has these answers.
        gateway = self.parts.gateway
        stored = gateway is not None and (gateway.settings.record or gateway.settings.replay)
        return "stored" if stored else self.settings.session.name

    @property
    def _folder(self) -> str:
        return f"trials/{name_folder(self.trial)}"

    def clean_up(self) -> None:
        """Remove the fixtures made for this trial; the workspaces too, unless they are kept."""
        if self.fixtures is not None:
            remove_tree(self.fixtures)
        if not self.settings.keep_workspaces:
            for place in self._places.values():
                remove_tree(place.root)


def name_folder(trial: Trial) -> str:
    """Return the trial's folder below ``trials/``: ``task_01_x/preskill-nanobot-1``."""
    variant = "" if trial.variant is None else f"v{trial.variant}"
    parts = [trial.mode, trial.runtime, trial.model or "", variant, str(trial.repeat)]
    name = "-".join(re.sub(r"[^\w.]+", "-", part) for part in parts if part)
    return f"{trial.task_id}/{name}"
