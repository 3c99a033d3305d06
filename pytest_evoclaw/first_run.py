"""What the summary phase learns about the first run (paper, Appendix B)."""

from __future__ import annotations

import json
from typing import Any

from pytest_evoclaw.phases import PhaseOutcome
from pytest_evoclaw.results import Grade

FIRST_RUN_PATH = ".evoclawbench/first_run_context.json"
TRANSCRIPT_CHARACTERS = 12_000


def describe_first_run(outcome: PhaseOutcome, feedback: str) -> bytes:
    """Return the file's bytes: prompt, grade, output previews and transcript summary, bounded.

    Of the grade, ``feedback`` reveals nothing (``none``), the scores (``score``) or also the names
    and scores of the checks (``checks``). Messages, expected values, criteria and expected
    behaviour are never revealed: they would be the answer.
    """
    data = {
        "task_id": outcome.task.id,
        "task_name": outcome.task.name,
        "task_prompt": outcome.task.prompt,
        "status": outcome.result.execution.status,
        "execution_time_seconds": round(outcome.result.execution.seconds, 1),
        "feedback": feedback,
        "grading": _describe_grade(outcome.result.grade, feedback),
        "workspace_outputs": [
            {"path": each.path, "bytes": each.size, "preview": each.text}
            for each in outcome.previews
        ],
        "transcript_summary": outcome.transcript.summarise(TRANSCRIPT_CHARACTERS),
    }
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()


def _describe_grade(grade: Grade | None, feedback: str) -> dict[str, Any] | None:
    if grade is None or feedback == "none":
        return None
    scores: dict[str, Any] = {
        "score": round(grade.score, 4),
        "max_score": 1.0,
        "grading_type": grade.grading_type,
        "sub_problem_scores": {str(n): round(s, 4) for n, s in grade.sub_problem_scores.items()},
    }
    if feedback == "checks":
        scores["breakdown"] = {check.key: round(check.score, 4) for check in grade.checks}
    return scores
