"""Grade what a session has stored once more: no agent is started, the old session stays as it is.

With another judge the automated scores are held fixed and the judge's part is replaced (paper,
section 5.3).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from pathlib import Path

from pytest_evoclaw import __version__
from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.grading import Grader
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading import JudgeFailed
from pytest_evoclaw.grading import choose_automated
from pytest_evoclaw.grading.hybrid import Hybrid
from pytest_evoclaw.grading.judge import ARTIFACT
from pytest_evoclaw.grading.judge import Judge
from pytest_evoclaw.judge_settings import WARN_OFF
from pytest_evoclaw.judge_settings import warn_own_model
from pytest_evoclaw.measures import FINAL_PHASES
from pytest_evoclaw.measures import SANITY_TASK
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import StoredSession
from pytest_evoclaw.task import Task
from pytest_evoclaw.task import read_task
from pytest_evoclaw.transcript import EMPTY
from pytest_evoclaw.transcript import Transcript
from pytest_evoclaw.variants import make_variant
from pytest_evoclaw.workspace import create_folders
from pytest_evoclaw.workspace import fill_workspace

GRADE = "grade.json"
# What grading again can mend; nothing else that went wrong was a matter of grading.
_MENDABLE = (Reason.GRADER.value, Reason.JUDGE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptGrade:
    """A grader that returns the automated part that there is already."""

    kept: Grade

    def grade(self, job: GradingJob) -> Grade:
        """Return the part, whatever the outputs are."""
        return self.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrading:
    """One regrading. ``target`` is the folder of the new session.

    ``judge`` is None where judges are off. ``hold_automated`` keeps the automated scores.
    """

    old: StoredSession
    target: Path
    root: Path
    judge: Judge | None
    hold_automated: bool
    workers: int = 4

    def grade_all(self, results: Sequence[TrialResult]) -> list[TrialResult]:
        """Return the trials, graded again, in their order; raises SettingsError for a lost task."""
        tasks = {result.trial.task_path: self._read_task(result) for result in results}
        finals = find_final_phases(self.old.results)
        self.target.mkdir(parents=True)
        with ThreadPoolExecutor(self.workers) as pool:
            graded = pool.map(
                lambda result: self._grade_trial(result, tasks[result.trial.task_path], finals),
                results,
            )
            return list(graded)

    def _read_task(self, result: TrialResult) -> Task:
        path = self.root / result.trial.task_path
        if not path.is_file():
            raise SettingsError(f"--root: found no {result.trial.task_path} below {self.root}")
        return read_task(path, self.root)

    def _grade_trial(
        self, result: TrialResult, task: Task, finals: Mapping[str, str]
    ) -> TrialResult:
        for phase in result.phases:
            self._copy_artifacts(phase)
        if result.failure is not None and result.failure.reason not in _MENDABLE:
            return result
        phases: list[PhaseResult] = []
        failure: Failure | None = None
        for phase in result.phases:
            if phase.graded:
                phase, failure = self._grade_phase(result, phase, task)
            phases.append(phase)
        final = finals.get(result.trial.mode)
        if failure is None and (not phases or phases[-1].name != final):
            detail = f"the trial ended before its phase {final}, which only an agent can make good"
            failure = replace(result.failure, detail=detail) if result.failure else None
        return replace(result, phases=tuple(phases), failure=failure)

    def _grade_phase(
        self, result: TrialResult, phase: PhaseResult, task: Task
    ) -> tuple[PhaseResult, Failure | None]:
        with tempfile.TemporaryDirectory(prefix="evoclaw-regrade-") as folder:
            try:
                grade = self._grade_outputs(result, phase, task, Path(folder))
            except NotScored as error:
                partial = error.partial if isinstance(error, JudgeFailed) else None
                failure = Failure(reason=error.reason.value, detail=error.detail)
                return replace(phase, grade=None, partial=partial), failure
        text = json.dumps({"score": grade.score, **asdict(grade)}, ensure_ascii=False, indent=2)
        (self.target / phase.folder / GRADE).write_text(text, encoding="utf-8", newline="\n")
        return replace(phase, grade=grade, partial=None), None

    def _grade_outputs(
        self, result: TrialResult, phase: PhaseResult, task: Task, folder: Path
    ) -> Grade:
        artifacts = self.target / phase.folder
        outputs = artifacts / "outputs"
        if not outputs.is_dir():
            raise NotScored(Reason.HARNESS, f"{self.old.folder / phase.folder}: no stored outputs")
        for name in (GRADE, ARTIFACT):  # they are links to the old session's
            (artifacts / name).unlink(missing_ok=True)
        seed = result.trial.variant
        # A trial with fresh fixtures in its last phases has met the official ones in the first.
        if seed is not None and not (result.trial.mode == "transfer" and _is_first(result, phase)):
            task = make_variant(task, seed, folder / "fixtures")
        folders = create_folders(folder / "phase")
        fill_workspace(task, folders)
        shutil.copytree(outputs, folders.workspace / "outputs", dirs_exist_ok=True)
        job = GradingJob(
            task=task,
            workspace=folders.workspace,
            transcript=_read_transcript(artifacts / "transcript.jsonl"),
            artifacts=artifacts,
        )
        return self._choose_grader(task, phase).grade(job)

    def _choose_grader(self, task: Task, phase: PhaseResult) -> Grader:
        if task.grading_type == "llm_judge":
            if self.judge is None:
                raise NotScored(Reason.JUDGE, f"{task.id} has no part that needs no judge")
            return self.judge
        automated = self._choose_automated(task, phase)
        if task.grading_type == "hybrid":
            return Hybrid(automated=automated, judge=self.judge)
        return automated

    def _choose_automated(self, task: Task, phase: PhaseResult) -> Grader:
        kept = find_automated(phase)
        # Outputs that were too large to be stored cannot be graded again.
        incomplete = any(note.startswith("not stored: ") for note in phase.notes)
        if kept is not None and (self.hold_automated or incomplete):
            return KeptGrade(kept=kept)
        grader: Grader = make_part("grading", choose_automated(task))
        return grader

    def _copy_artifacts(self, phase: PhaseResult) -> None:
        source = self.old.folder / phase.folder
        if source.is_dir():
            shutil.copytree(
                source, self.target / phase.folder, symlinks=True, copy_function=_link_or_copy
            )


def name_beside(old: StoredSession) -> Path:
    """Return the folder for a new session beside an old one."""
    folder = old.folder.absolute()
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    return folder.parent / f"{stamp}-regraded"


def describe_regrading(regrading: Regrading, results: Sequence[TrialResult]) -> SessionFacts:
    """Return the facts of the new session: those of the old one, and who graded it again."""
    old, judge = regrading.old.facts, regrading.judge
    tasks = {result.trial.task_id for result in results}
    judged = any(result.trial.grading_type != "automated" for result in results)
    return replace(
        old,
        run_id=regrading.target.name,
        timestamp=time.time(),
        version=__version__,
        judge_model=None if judge is None else judge.model,
        loaded_task_count=len(tasks),
        official_task_count=len(tasks - {SANITY_TASK}),
        options={
            **old.options,
            "regraded_from": old.run_id,
            "automated": "held fixed" if regrading.hold_automated else "graded again",
            **({"judge": "on" if judge else "off"} if judged else {}),
            "judge_samples": judge.samples if judge else 1,
        },
        warnings=_list_warnings(judge, old, judged=judged),
    )


def _list_warnings(judge: Judge | None, old: SessionFacts, *, judged: bool) -> tuple[str, ...]:
    if judge is None:
        return (WARN_OFF,) if judged else ()
    return (warn_own_model(judge.model),) if judge.model in old.models else ()


def find_automated(phase: PhaseResult) -> Grade | None:
    """Return the automated part of a phase's grade, or of what there is of one."""
    grade = phase.grade or (phase.partial.automated if phase.partial else None)
    checks = [] if grade is None else [c for c in grade.checks if c.part == "automated"]
    if grade is None or not checks:
        return None
    return Grade(checks=tuple(checks), notes=grade.notes if grade.judge else "")


def find_final_phases(results: Sequence[TrialResult]) -> dict[str, str]:
    """Return the name of the phase whose grade is the trial's, by mode."""
    seen = {r.trial.mode: r.primary.name for r in results if r.primary is not None}
    return {**seen, **FINAL_PHASES}


def find_root(session: Path, results: Sequence[TrialResult], start: Path) -> Path:
    """Return the suite's root: ``start``, or a folder above the session that holds its tasks."""
    for folder in (start, *session.absolute().parents):
        if all((folder / result.trial.task_path).is_file() for result in results):
            return folder
    missing = next((r.trial.task_path for r in results), "tasks")
    raise SettingsError(f"--root: found no {missing} here or above {session}; name the suite")


def _is_first(result: TrialResult, phase: PhaseResult) -> bool:
    return next(each for each in result.phases if each.graded) is phase


def _read_transcript(path: Path) -> Transcript:
    if not path.is_file():
        return EMPTY
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return Transcript.from_events(json.loads(line) for line in lines if line)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target, follow_symlinks=False)
