"""Run one phase: prepare a workspace, start the agent, see what it did, grade it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evoclaw.consulting import find_consulted
from pytest_evoclaw.endpoints import Endpoint
from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments import Environment
from pytest_evoclaw.environments import Folders
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.gateway import PhaseTraffic
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading import JudgeFailed
from pytest_evoclaw.inventory import Inventory
from pytest_evoclaw.inventory import take_inventory
from pytest_evoclaw.model_traffic import ModelWay
from pytest_evoclaw.model_traffic import apply_report
from pytest_evoclaw.phases import Phase
from pytest_evoclaw.phases import PhaseOutcome
from pytest_evoclaw.phases import PhaseSettings
from pytest_evoclaw.preambles import assemble_prompt
from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import Status
from pytest_evoclaw.results import Trial
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Assignment
from pytest_evoclaw.runtimes import Problem
from pytest_evoclaw.runtimes import Runtime
from pytest_evoclaw.skill_facts import describe_skills
from pytest_evoclaw.skill_facts import find_strays
from pytest_evoclaw.skill_places import SKILLS
from pytest_evoclaw.skill_places import collect_skills
from pytest_evoclaw.skill_places import inspect_copies
from pytest_evoclaw.skill_places import place_skills
from pytest_evoclaw.skills import BundleReading
from pytest_evoclaw.skills import SkillBundle
from pytest_evoclaw.skills import write_bundle
from pytest_evoclaw.starts import Start
from pytest_evoclaw.starts import find_places
from pytest_evoclaw.stops import Stop
from pytest_evoclaw.task import Task
from pytest_evoclaw.transcript import EMPTY
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace
from pytest_evoclaw.workspace import preview_outputs
from pytest_evoclaw.workspace import store_outputs

if TYPE_CHECKING:
    from pytest_evoclaw.gateway.service import Gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlace:
    """Where a phase works (``root``) and where its artifacts are kept.

    ``folder`` is ``artifacts`` relative to the session's folder.
    """

    root: Path
    artifacts: Path
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRunner:
    """The parts of a trial that its phases share."""

    task: Task
    trial: Trial
    runtime: Runtime
    environment: Environment
    endpoint: Endpoint | None
    grader: Grader
    settings: PhaseSettings
    gateway: Gateway | None = None

    def run(
        self, phase: Phase, place: PhasePlace, record: Callable[[PhaseResult], None]
    ) -> PhaseOutcome:
        """Run the phase; ``record`` gets its result, also when NotScored is raised."""
        folders = self._prepare(phase, place)
        before = self._look(folders.workspace)
        stop = Stop()
        start = Start(stop)
        traffic = self._describe_traffic(folders, place, start)
        with ModelWay.open(self.gateway, traffic, stop) as way:
            assignment = self._assign(phase, folders, way.endpoint)
            _write_text(place.artifacts / "prompt.md", assignment.prompt)
            ended, account = self._execute(assignment, stop, start)
        ended, account, measured = apply_report(ended, account, way.report)
        after = self._look(folders.workspace)
        reading = self._collect(phase, folders.workspace)
        kept = _keep(folders.workspace, place.artifacts, reading.bundle, account)
        result = PhaseResult(
            name=phase.name,
            execution=_describe_execution(ended, account, start),
            graded=phase.graded,
            locked=phase.locked,
            folder=place.folder,
            skills_before=before.skills.digest,
            skills_after=after.skills.digest,
            skill_changes=before.list_skill_changes(after) if phase.locked else (),
            fixture_changes=before.fixtures.changes_to(after.fixtures),
            created_skills=() if phase.locked else describe_skills(reading.bundle),
            consulted_skills=find_consulted(account.transcript, phase.seeds, phase.skills),
            notes=(*reading.skipped, *find_strays(reading.bundle), *kept, *measured),
        )
        try:
            _raise_void(self.runtime, account)
            if phase.graded:
                result = replace(result, grade=self._grade(folders, account, place))
        except JudgeFailed as error:
            result = replace(result, partial=error.partial)
            raise
        finally:
            record(result)
        return PhaseOutcome(
            result=result,
            task=self.task,
            prompt=assignment.prompt,
            skills=reading.bundle,
            transcript=account.transcript,
            previews=tuple(preview_outputs(folders.workspace)),
        )

    def _prepare(self, phase: Phase, place: PhasePlace) -> Folders:
        place.artifacts.mkdir(parents=True)
        folders = replace(create_folders(place.root), logs=place.artifacts)
        fill_workspace(self.task, folders)
        place_skills((phase.seeds, phase.skills), folders.workspace, self.runtime.skill_folders)
        for path, data in phase.files:
            (folders.workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (folders.workspace / path).write_bytes(data)
        return folders

    def _look(self, workspace: Path) -> _Contents:
        inputs = tuple(file.dest for file in self.task.workspace_files)
        return _Contents(
            skills=take_inventory(workspace / SKILLS),
            copies=inspect_copies(workspace, self.runtime.skill_folders),
            fixtures=take_inventory(workspace, only=inputs),
        )

    def _collect(self, phase: Phase, workspace: Path) -> BundleReading:
        seeded = frozenset(file.path.split("/")[0] for file in phase.seeds.files)
        # In a locked phase a copy can only hold violations.
        copies = () if phase.locked else self.runtime.skill_folders
        return collect_skills(workspace, copies, phase.skills, seeded)

    def _describe_traffic(
        self, folders: Folders, place: PhasePlace, start: Start
    ) -> PhaseTraffic | None:
        if self.endpoint is None:
            return None
        return PhaseTraffic(
            endpoint=self.endpoint,
            log=place.artifacts / "requests.jsonl",
            limits=self.settings.limits,
            key=place.folder,
            root=folders.workspace.parent,
            asking=start.finish,
        )

    def _assign(self, phase: Phase, folders: Folders, endpoint: Endpoint | None) -> Assignment:
        return Assignment(
            prompt=assemble_prompt(phase.preamble, self.task.prompt),
            folders=folders,
            environment=self.environment,
            seconds=self.task.timeout_seconds * self.settings.timeout_factor,
            endpoint=endpoint,
            task=self.task,
            mode=self.trial.mode,
            phase=phase.name,
            authoring=not phase.locked,
        )

    def _execute(self, assignment: Assignment, stop: Stop, start: Start) -> tuple[Ended, Account]:
        launch = self.runtime.prepare(assignment)
        command = Command(
            argv=launch.argv,
            variables={**self.settings.variables, **launch.variables},
            folders=assignment.folders,
            seconds=assignment.seconds,
            read_only=launch.read_only,
            stop=stop,
        )
        # Without a gateway nobody could tell that the start is over.
        staggered = launch.slow_start and self.gateway is not None
        places = find_places(self.settings.start_limit) if staggered else None
        started = time.monotonic()
        try:
            ended = start.run(self.environment, command, places)
        except NotScored as error:
            # What the agent has used until then was paid for, and is put on record.
            problem = Problem(reason=error.reason.value, detail=error.detail)
            ended = Ended(exit_code=None, seconds=time.monotonic() - started)
            return ended, Account(transcript=EMPTY, problem=problem)
        return ended, self.runtime.read(assignment, ended)

    def _grade(self, folders: Folders, account: Account, place: PhasePlace) -> Grade:
        grade = self.grader.grade(
            GradingJob(
                task=self.task,
                workspace=folders.workspace,
                transcript=account.transcript,
                artifacts=place.artifacts,
            )
        )
        _write_text(
            place.artifacts / "grade.json",
            json.dumps({"score": grade.score, **asdict(grade)}, ensure_ascii=False, indent=2),
        )
        return grade


@dataclass(frozen=True, slots=True)
class _Contents:
    """What must not change while an agent works: skills, their copies, and inputs."""

    skills: Inventory
    copies: Inventory
    fixtures: Inventory

    def list_skill_changes(self, after: _Contents) -> tuple[str, ...]:
        """Return what happened to skills, wherever they lie."""
        changes = self.skills.changes_to(after.skills)
        return (*changes, *self.copies.changes_to(after.copies))


def _raise_void(runtime: Runtime, account: Account) -> None:
    if account.problem is not None:
        raise NotScored(Reason(account.problem.reason), account.problem.detail)
    if runtime.uses_model and account.turns == 0:
        raise NotScored(Reason.NO_TURNS, f"{runtime.name} ended without one answer of the model")


def _describe_execution(ended: Ended, account: Account, start: Start) -> Execution:
    status: Status = "success"
    if ended.limit == "timeout":
        status = "timeout"
    elif ended.limit is not None or ended.exit_code != 0 or account.problem is not None:
        status = "error"
    return Execution(
        status=status,
        exit_code=ended.exit_code,
        seconds=ended.seconds,
        limit=ended.limit,
        survivors=ended.survivors,
        turns=account.turns,
        startup_seconds=start.seconds,
        usage=replace(account.usage, partial=account.usage.partial or ended.limit is not None),
    )


def _keep(
    workspace: Path, artifacts: Path, created: SkillBundle, account: Account
) -> tuple[str, ...]:
    account.transcript.write_jsonl(artifacts / "transcript.jsonl")
    write_bundle(created, artifacts / "skills")
    return store_outputs(workspace, artifacts / "outputs")


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
