"""The parts of a task's entry in published result files: grades, executions and skills."""

from __future__ import annotations

from typing import Any
from typing import NotRequired
from typing import TypedDict

from pytest_evoclaw.measures import UsageEntry


class GradeEntry(TypedDict):
    """The grade of one phase; ``breakdown`` has each check's score by its published name."""

    task_id: str
    score: float
    max_score: float
    grading_type: str
    breakdown: dict[str, float]
    notes: str
    sub_problem_scores: dict[str, float]
    repeat: int
    phase: str
    variant: NotRequired[int]  # of trials on other fixtures than the official ones
    judge: NotRequired[dict[str, Any]]  # only where one judged


class ExecutionEntry(TypedDict):
    """One agent process; ``transcript``, ``workspace`` and the logs are links to artifacts."""

    agent_id: str
    task_id: str
    status: str
    transcript: str
    usage: UsageEntry
    workspace: str
    exit_code: int | None
    timed_out: bool
    execution_time: float
    stdout: str
    stderr: str
    mode: str
    skill_hash_before: str
    skill_hash_after: str
    skill_mutation_violation: bool
    fixture_mutation_violation: bool
    repeat: int
    phase: str
    scored: bool
    limit: str | None
    turns: int | None
    consulted_skills: list[dict[str, str | int]]
    variant: NotRequired[int]


class SkillEntry(TypedDict):
    """One created skill; ``content_length`` counts characters of its body."""

    name: str
    path: str
    content_length: int
    frontmatter: str
    has_scripts: bool
    scripts_count: int
    references_count: int
    problems: list[str]
    quality: float
    repeat: int
