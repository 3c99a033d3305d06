"""A stored session of hybrid trials, and the suite that it is of, without an agent."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evoclaw.judge_facts import JudgeFacts
from pytest_evoclaw.metrics import SessionFacts
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.stored_sessions import write_session
from tests.grading.made_judge import GRADER
from tests.grading.made_judge import TASK
from tests.grading.made_judge import WEIGHTS
from tests.made_results import make_phase
from tests.made_results import make_result
from tests.made_results import make_usage

PHASES: Mapping[str, Sequence[str]] = {
    "baseline": ("execution",),
    "preskill": ("skill_generation", "execution"),
    "postskill": ("first_execution", "skill_summary", "second_execution"),
}
LETTER = "We are sorry: it is three days late."


@dataclass(frozen=True)
class MadeSession:
    """``root`` is the suite's folder, ``folder`` the session's."""

    root: Path
    folder: Path


def make_facts(**changes: Any) -> SessionFacts:
    facts = SessionFacts(
        run_id="first",
        timestamp=1.0,
        version="0.1.0",
        environment="local",
        workers=1,
        runs_per_task=1,
        modes=tuple(PHASES),
        runtimes={"nanobot": "1.0"},
        models=("openai/gpt-x",),
        loaded_task_count=1,
        official_task_count=1,
        judge_model="judge-1",
        options={"judge": "on", "judge_samples": 1},
    )
    return replace(facts, **changes)


def make_grade(automated: float, judged: float, weight: float = 0.25, **facts: Any) -> Grade:
    """Return a hybrid grade of two automated checks and two criteria."""
    return Grade(
        checks=(
            Check(name="exists", sub_problem=1, score=automated),
            Check(name="days", sub_problem=1, score=automated),
            Check(name="tone", score=judged, part="judge"),
            Check(name="facts", score=judged, part="judge"),
        ),
        grading_type="hybrid",
        judge=JudgeFacts(
            model="judge-1",
            base_url="http://127.0.0.1:1/v1",
            weight=weight,
            usage=make_usage(),
            **{"samples": (judged,), **facts},
        ),
    )


def make_hybrid(task_id: str, mode: str, grade: Grade, **trial: Any) -> TrialResult:
    """Return a trial whose graded phases all have one grade."""
    phases = tuple(
        replace(phase, folder=f"trials/{task_id}/{mode}/{phase.name}", grade=grade)
        if phase.graded
        else replace(phase, folder=f"trials/{task_id}/{mode}/{phase.name}")
        for phase in map(make_phase, PHASES[mode])
    )
    made = Trial(
        task_id=task_id,
        task_path=f"tasks/{task_id}.md",
        mode=mode,
        runtime="nanobot",
        model="openai/gpt-x",
        grading_type="hybrid",
    )
    result = make_result(replace(made, **trial), *phases)
    return replace(result, nodeid=f"tasks/{task_id}.md::{mode}[nanobot]")


def store_session(
    root: Path, results: Sequence[TrialResult], name: str = "first", **facts: Any
) -> MadeSession:
    """Write the suite, the session's files, and a letter as the output of each phase."""
    folder = root / "evo-results" / name
    folder.mkdir(parents=True)
    for result in results:
        write_task(root, result.trial.task_id, result.trial.grading_type)
        for phase in result.phases:
            _store_phase(folder, result.trial, phase)
    write_session(folder, make_facts(run_id=name, **facts), results)
    return MadeSession(root=root, folder=folder)


def write_task(root: Path, task_id: str, grading_type: str) -> None:
    for each in ("tasks", "graders"):
        (root / each).mkdir(exist_ok=True)
    weights = WEIGHTS if grading_type == "hybrid" else ""
    text = TASK.format(grading_type=grading_type, weights=weights)
    text = text.replace("task_01_letter", task_id)
    text = text.replace("## Prompt\n", f"## Prompt\n\nThis is {task_id}.\n")
    (root / f"tasks/{task_id}.md").write_text(text, encoding="utf-8")
    (root / f"graders/{task_id}.py").write_text(GRADER, encoding="utf-8")


def _store_phase(folder: Path, trial: Trial, phase: PhaseResult) -> None:
    outputs = folder / phase.folder / "outputs"
    outputs.mkdir(parents=True)
    (outputs / "letter.txt").write_text(f"{LETTER} ({trial.mode})", encoding="utf-8")
    for name, text in (("transcript.jsonl", ""), ("grade.json", "{}"), ("judge.json", "{}")):
        (outputs.parent / name).write_text(text, encoding="utf-8")
