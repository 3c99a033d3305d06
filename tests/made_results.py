"""Results as a session would leave them, for tests of what is made of them."""

from __future__ import annotations

from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Execution
from pytest_evoclaw.results import Failure
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import SkillFacts
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage

GRADED = {"execution", "first_execution", "second_execution"}


def make_usage(
    fresh: int | None = 100, out: int = 20, cached: int | None = None, cost: float | None = None
) -> Usage:
    return Usage(
        input_tokens=fresh,
        output_tokens=out,
        cache_read_tokens=cached,
        cost_usd=cost,
        request_count=1,
        source="unknown" if fresh is None else "provider",
    )


def make_phase(
    name: str, scores: tuple[float, ...] = (), usage: Usage | None = None, seconds: float = 1.0
) -> PhaseResult:
    checks = tuple(
        Check(name="total", sub_problem=number, score=score, message="/tmp/abc/x is wrong")
        for number, score in enumerate(scores, start=1)
    )
    return PhaseResult(
        name=name,
        execution=Execution(
            status="success", exit_code=0, seconds=seconds, usage=usage or make_usage()
        ),
        graded=name in GRADED,
        locked=name in GRADED,
        folder=f"trials/t/{name}",
        grade=Grade(checks=checks) if checks else None,
        skills_before="aa",
        skills_after="aa",
    )


def make_trial(task_id: str = "task_01_x", mode: str = "baseline", repeat: int = 1) -> Trial:
    return Trial(
        task_id=task_id,
        task_path=f"tasks/{task_id}.md",
        mode=mode,
        runtime="nanobot",
        model="openai/gpt-x",
        repeat=repeat,
        category="data",
        family="Seed",
    )


def make_result(trial: Trial, *phases: PhaseResult) -> TrialResult:
    return TrialResult(trial=trial, nodeid=f"{trial.task_path}::{trial.mode}", phases=phases)


def make_scored(task_id: str, mode: str, score: float, repeat: int = 1) -> TrialResult:
    """A trial with the phases of its mode; a first pass scores 0.5."""
    before = {
        "preskill": [make_phase("skill_generation")],
        "postskill": [make_phase("first_execution", (0.5,)), make_phase("skill_summary")],
    }
    last = "second_execution" if mode == "postskill" else "execution"
    return make_result(
        make_trial(task_id, mode, repeat), *before.get(mode, []), make_phase(last, (score,))
    )


def make_unscored(
    task_id: str, mode: str, reason: str = "worker_died", repeat: int = 1
) -> TrialResult:
    """A trial whose process died: no phases."""
    return TrialResult(
        trial=make_trial(task_id, mode, repeat),
        nodeid="n",
        failure=Failure(reason=reason, detail="/tmp/secret-path broke"),
    )


def make_skill(name: str = "parse-data") -> SkillFacts:
    return SkillFacts(
        name=name,
        path=f"skills/{name}",
        description="Parses data",
        content_length=600,
        scripts_count=1,
        references_count=0,
        frontmatter="name: parse-data",
        problems=("description is short",),
    )
