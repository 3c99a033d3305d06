"""One task in one mode, in the shape of published EvoClawBench result files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pytest_evoclaw.errors import Reason
from pytest_evoclaw.judge_metrics import describe_judgement
from pytest_evoclaw.judge_metrics import describe_partial
from pytest_evoclaw.measures import Arm
from pytest_evoclaw.measures import UsageEntry
from pytest_evoclaw.measures import compute_consistency
from pytest_evoclaw.measures import compute_deviation
from pytest_evoclaw.measures import compute_mean
from pytest_evoclaw.measures import compute_ratio
from pytest_evoclaw.measures import find_final_phase
from pytest_evoclaw.measures import select_all
from pytest_evoclaw.measures import select_final
from pytest_evoclaw.measures import total_usage
from pytest_evoclaw.published_entries import ExecutionEntry
from pytest_evoclaw.published_entries import GradeEntry
from pytest_evoclaw.published_entries import SkillEntry
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PhaseResult
from pytest_evoclaw.results import SkillFacts
from pytest_evoclaw.results import Trial
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.skill_facts import compute_quality


def describe_arm(arm: Arm) -> dict[str, Any]:
    """Return the entry of a task in ``{mode}_results``, of ours beside the published names.

    Scores, usage and skills are those of scored repeats; executions are listed for all repeats.
    """
    usage = total_usage(select_final(result) for result in arm.scored)
    final = [(r, phase) for r in arm.results if (phase := find_final_phase(r)) is not None]
    sub_problems = _average_sub_problems(arm)
    skills = list_skills(arm)
    first = arm.results[0].trial
    return {
        "task_id": arm.task_id,
        "mode": arm.mode,
        "grades": [_describe_grade(r.trial, r.primary) for r in arm.scored if r.primary],
        "results": [_describe_execution(result, phase) for result, phase in final],
        "mean_score": arm.mean_score,
        "std_score": compute_deviation(arm.scores),
        "usage": usage,
        "execution_time": usage["total_execution_time_seconds"],
        "workspace": final[-1][1].folder if final else None,
        "sub_problem_scores": sub_problems,
        "created_skills": skills,
        "skill_quality_score": compute_mean([skill["quality"] for skill in skills]),
        "skill_mutation_violation": any(result.skills_changed for result in arm.scored),
        "phase_results": {name: _describe_phase(arm, name) for name in _name_phases(arm)},
        "phase_usage": {name: _total_phase(arm, name) for name in _name_phases(arm)},
        "end_to_end_usage": total_usage(select_all(result) for result in arm.scored),
        **_describe_workflow(arm),
        "category": first.category,
        "family": first.family,
        "grading_type": first.grading_type,
        "official": arm.official,
        "fixture_mutation_violation": any(result.fixtures_changed for result in arm.scored),
        "sub_problem_consistency": compute_consistency([*sub_problems.values()]),
        "repeats": len(arm.results),
        "scored_repeats": len(arm.scored),
        "not_scored": [
            {"repeat": result.trial.repeat, "reason": name_reason(result)}
            | _describe_variant(result.trial)
            | describe_partial(result)
            for result in arm.results
            if result.score is None
        ],
    }


def list_skills(arm: Arm) -> list[SkillEntry]:
    """Return the skills that the scored repeats created, in order."""
    return [
        _describe_skill(facts, result.trial.repeat)
        for result in arm.scored
        for phase in result.phases
        for facts in phase.created_skills
    ]


def average_phase(arm: Arm, name: str) -> float | None:
    """Return the mean score of the graded phase ``name`` over scored repeats; None without one."""
    phases = [phase for result in arm.scored for phase in result.phases if phase.name == name]
    return compute_mean([phase.grade.score for phase in phases if phase.grade])


def average_first_pass(arm: Arm) -> float | None:
    """Return the mean score of the attempts before the skills, over repeats that have two."""
    pairs = [result.graded_phases for result in arm.scored if len(result.graded_phases) > 1]
    return compute_mean([phases[0].grade.score for phases in pairs if phases[0].grade])


def name_reason(result: TrialResult) -> str:
    """Return why a trial has no score; one that names no failure is our fault."""
    return Reason.HARNESS.value if result.failure is None else str(result.failure.reason)


def name_slug(model: str | None) -> str:
    """Return the model's name for file names: ASCII letters, digits, dots and dashes."""
    kept = (c if c.isascii() and (c.isalnum() or c == ".") else " " for c in model or "default")
    return "-".join("".join(kept).split()).strip(".-")[:100] or "model"


def _describe_workflow(arm: Arm) -> dict[str, Any]:
    if arm.mode == "preskill":
        return {"skill_generation_results": _describe_phase(arm, "skill_generation")}
    if arm.mode == "transfer":
        return {
            "first_pass_mean_score": average_phase(arm, "first_execution"),
            "variant_baseline_mean_score": average_phase(arm, "variant_baseline"),
            "second_pass_mean_score": arm.mean_score,
        }
    if arm.mode != "postskill":
        return {}
    first, second = average_first_pass(arm), arm.mean_score
    ratio, flag = compute_ratio(second, first)
    before = [(r.trial, r.graded_phases[0]) for r in arm.scored if len(r.graded_phases) > 1]
    return {
        "first_pass_grades": [_describe_grade(trial, phase) for trial, phase in before],
        "first_pass_results": _describe_phase(arm, "first_execution"),
        "skill_summary_results": _describe_phase(arm, "skill_summary"),
        "first_pass_mean_score": first,
        "second_pass_mean_score": second,
        "second_vs_first_delta": None if first is None or second is None else second - first,
        "second_vs_first_ratio": ratio,
        "second_vs_first_ratio_flag": flag,
    }


def _describe_variant(trial: Trial) -> dict[str, Any]:
    return {} if trial.variant is None else {"variant": trial.variant}


def _describe_grade(trial: Trial, phase: PhaseResult) -> GradeEntry:
    if phase.grade is None:
        raise ValueError(f"{trial.task_id}: phase {phase.name} has no grade")
    scores = phase.grade.sub_problem_scores
    entry: GradeEntry = {
        "task_id": trial.task_id,
        "score": phase.grade.score,
        "max_score": 1.0,
        "grading_type": phase.grade.grading_type,
        "breakdown": _break_down(phase.grade),
        "notes": phase.grade.notes,
        "sub_problem_scores": {str(number): score for number, score in scores.items()},
        "repeat": trial.repeat,
        "phase": phase.name,
    }
    if trial.variant is not None:
        entry["variant"] = trial.variant
    if (judge := describe_judgement(phase.grade)) is not None:
        entry["judge"] = judge
    return entry


def _break_down(grade: Grade) -> dict[str, float]:
    breakdown: dict[str, float] = {}
    for check in grade.checks:
        key, number = check.key, 1
        while key in breakdown:  # two checks of one name both count in the score
            number += 1
            key = f"{check.key}_{number}"
        breakdown[key] = check.score
    return breakdown


def _describe_phase(arm: Arm, name: str) -> list[ExecutionEntry]:
    return [
        _describe_execution(result, phase)
        for result in arm.results
        for phase in result.phases
        if phase.name == name
    ]


def _total_phase(arm: Arm, name: str) -> UsageEntry:
    phases = [[p.execution for p in r.phases if p.name == name] for r in arm.scored]
    return total_usage(executions for executions in phases if executions)


def _describe_execution(result: TrialResult, phase: PhaseResult) -> ExecutionEntry:
    trial, execution = result.trial, phase.execution
    entry: ExecutionEntry = {
        "agent_id": f"{trial.runtime}-{name_slug(trial.model)}",
        "task_id": trial.task_id,
        "status": execution.status,
        "transcript": f"{phase.folder}/transcript.jsonl",
        "usage": total_usage([(execution,)]),
        "workspace": phase.folder,
        "exit_code": execution.exit_code,
        "timed_out": execution.status == "timeout",
        "execution_time": execution.seconds,
        "stdout": f"{phase.folder}/stdout.txt",
        "stderr": f"{phase.folder}/stderr.txt",
        "mode": trial.mode,
        "skill_hash_before": phase.skills_before,
        "skill_hash_after": phase.skills_after,
        "skill_mutation_violation": bool(phase.skill_changes),
        "fixture_mutation_violation": bool(phase.fixture_changes),
        "repeat": trial.repeat,
        "phase": phase.name,
        "scored": result.score is not None,
        "limit": execution.limit,
        "turns": execution.turns,
        "consulted_skills": [asdict(each) for each in phase.consulted_skills],
    }
    if trial.variant is not None:
        entry["variant"] = trial.variant
    return entry


def _describe_skill(facts: SkillFacts, repeat: int) -> SkillEntry:
    return {
        "name": facts.name,
        "path": facts.path,
        "content_length": facts.content_length,
        "frontmatter": facts.frontmatter,
        "has_scripts": facts.scripts_count > 0,
        "scripts_count": facts.scripts_count,
        "references_count": facts.references_count,
        "problems": list(facts.problems),
        "quality": compute_quality(facts),
        "repeat": repeat,
    }


def _average_sub_problems(arm: Arm) -> dict[str, float]:
    grades = [result.primary.grade for result in arm.scored if result.primary]
    scores = [grade.sub_problem_scores for grade in grades if grade is not None]
    numbers = sorted({number for each in scores for number in each})
    means = {n: compute_mean([each[n] for each in scores if n in each]) for n in numbers}
    return {str(number): mean for number, mean in means.items() if mean is not None}


def _name_phases(arm: Arm) -> list[str]:
    # The longest trial first: another one may have ended before its later phases.
    longest = sorted(arm.results, key=lambda result: -len(result.phases))
    return list(dict.fromkeys(phase.name for result in longest for phase in result.phases))
