"""What a trial and its phases produced: values that add up, and cross xdist as builtins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any
from typing import Literal

from pytest_evoclaw.judge_facts import JudgeFacts as JudgeFacts
from pytest_evoclaw.skill_records import ConsultedSkill as ConsultedSkill
from pytest_evoclaw.skill_records import SkillFacts as SkillFacts
from pytest_evoclaw.usage import UNKNOWN_USAGE as UNKNOWN_USAGE
from pytest_evoclaw.usage import Usage as Usage
from pytest_evoclaw.usage import UsageSource as UsageSource

Part = Literal["automated", "judge"]
Status = Literal["success", "timeout", "error"]


def _to_builtins(value: Any) -> Any:
    # execnet refuses enums, paths and lone surrogates (file names that are not UTF-8), and the
    # worker dies without a word.
    if isinstance(value, dict):
        return {_to_builtins(key): _to_builtins(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_builtins(each) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)  # numpy has subclasses
    raise TypeError(f"a result holds {type(value).__name__} {value!r}, allowed JSON's types")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One statement about the outputs: ``score`` within 0..1, ``message`` says why it is not 1.

    A check whose ``part`` is ``judge`` is a criterion, and its message the judge's reason.
    """

    name: str
    score: float
    sub_problem: int | None = None
    message: str = ""
    part: Part = "automated"

    @property
    def key(self) -> str:
        """The name in published breakdowns, such as ``sub_2_total`` or ``judge_tone``."""
        if self.part == "judge":
            return f"judge_{self.name}"
        return self.name if self.sub_problem is None else f"sub_{self.sub_problem}_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """All checks of one phase; never empty. ``judge`` says who judged those of part ``judge``."""

    checks: tuple[Check, ...]
    grading_type: str = "automated"
    notes: str = ""
    judge: JudgeFacts | None = None

    @property
    def score(self) -> float:
        """Mean of the checks, within 0..1; of both parts the means, by the judge's weight."""
        automated, judged = self.automated_score, self.judge_score
        if automated is None or judged is None or self.judge is None:
            return _average(self.checks)
        # Two equal means give exactly their value, whatever the weights are.
        return automated + self.judge.weight * (judged - automated)

    @property
    def automated_score(self) -> float | None:
        """Mean of the automated checks, None without any."""
        return self._average_part("automated")

    @property
    def judge_score(self) -> float | None:
        """Mean of the judge's criteria, None without any."""
        return self._average_part("judge")

    def _average_part(self, part: Part) -> float | None:
        checks = [check for check in self.checks if check.part == part]
        return _average(checks) if checks else None

    @property
    def sub_problem_scores(self) -> dict[int, float]:
        """Mean of the checks of each sub-problem, by its number."""
        numbers = sorted({c.sub_problem for c in self.checks if c.sub_problem is not None})
        groups = {n: [c.score for c in self.checks if c.sub_problem == n] for n in numbers}
        return {n: math.fsum(scores) / len(scores) for n, scores in groups.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Grade:
        """Rebuild a grade from the builtins of ``dataclasses.asdict``."""
        checks = tuple(Check(**check) for check in data["checks"])
        return cls(**{**data, "checks": checks, "judge": _read_facts(data.get("judge"))})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialGrade:
    """What there is of a grade that could not be completed: no score comes from it."""

    automated: Grade | None = None
    judge: JudgeFacts | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PartialGrade:
        """Rebuild from builtins."""
        automated = None if data["automated"] is None else Grade.from_dict(data["automated"])
        return cls(automated=automated, judge=_read_facts(data["judge"]))


def _read_facts(data: dict[str, Any] | None) -> JudgeFacts | None:
    return None if data is None else JudgeFacts.from_dict(data)


def _average(checks: Sequence[Check]) -> float:
    return math.fsum(check.score for check in checks) / len(checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One agent process: how it ended, how long it took, what it used.

    ``limit`` names the limit that ended it (``timeout``, ``output`` …), ``survivors`` counts the
    processes that it left behind and that were ended with it, ``turns`` the answers of the model.
    ``startup_seconds`` of the ``seconds`` went by until it first asked the model, if it did.
    """

    status: Status
    exit_code: int | None
    seconds: float
    limit: str | None = None
    survivors: int = 0
    turns: int | None = None
    usage: Usage = UNKNOWN_USAGE
    startup_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseResult:
    """One phase of a trial. Folder and file names are relative to the session's folder."""

    name: str
    execution: Execution
    graded: bool
    locked: bool
    folder: str
    grade: Grade | None = None
    partial: PartialGrade | None = None
    skills_before: str = ""
    skills_after: str = ""
    skill_changes: tuple[str, ...] = ()
    fixture_changes: tuple[str, ...] = ()
    created_skills: tuple[SkillFacts, ...] = ()
    consulted_skills: tuple[ConsultedSkill, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PhaseResult:
        """Rebuild a phase from builtins."""
        execution = {**data["execution"], "usage": Usage(**data["execution"]["usage"])}
        partial = data.get("partial")
        skills = ({**s, "problems": tuple(s["problems"])} for s in data["created_skills"])
        return cls(
            **{
                **data,
                "execution": Execution(**execution),
                "grade": None if data["grade"] is None else Grade.from_dict(data["grade"]),
                "partial": None if partial is None else PartialGrade.from_dict(partial),
                "skill_changes": tuple(data["skill_changes"]),
                "fixture_changes": tuple(data["fixture_changes"]),
                "created_skills": tuple(SkillFacts(**s) for s in skills),
                "consulted_skills": tuple(
                    ConsultedSkill(**each) for each in data.get("consulted_skills", ())
                ),
                "notes": tuple(data["notes"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One cell of the benchmark: task, mode, runtime, model and repeat (from 1).

    ``variant`` is the seed of the fixtures that the graded result belongs to, None for the official
    ones.
    """

    task_id: str
    task_path: str
    mode: str
    runtime: str
    model: str | None = None
    repeat: int = 1
    category: str = ""
    family: str = ""
    grading_type: str = "automated"
    variant: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a trial is not scored: a value of :class:`pytest_evoclaw.errors.Reason`, and words."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The outcome of one trial: its phases in order, and a failure if it is not scored."""

    trial: Trial
    nodeid: str
    phases: tuple[PhaseResult, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0
    settings: dict[str, Any] | None = None

    @property
    def graded_phases(self) -> tuple[PhaseResult, ...]:
        """The phases with a grade, in order."""
        return tuple(phase for phase in self.phases if phase.grade is not None)

    @property
    def primary(self) -> PhaseResult | None:
        """The last graded phase, whose score is the trial's; None if it is not scored."""
        return self.graded_phases[-1] if self.failure is None and self.graded_phases else None

    @property
    def score(self) -> float | None:
        """Within 0..1, or None if the trial is not scored."""
        primary = self.primary
        return None if primary is None or primary.grade is None else primary.grade.score

    @property
    def skills_changed(self) -> bool:
        """Whether the agent changed skills in a locked phase."""
        return any(phase.skill_changes for phase in self.phases)

    @property
    def fixtures_changed(self) -> bool:
        """Whether the agent changed the task's inputs."""
        return any(phase.fixture_changes for phase in self.phases)

    @property
    def usage(self) -> Usage:
        """End-to-end: all phases (paper, section 4.2), without what judges used."""
        return Usage.total(phase.execution.usage for phase in self.phases)

    @property
    def judgements(self) -> tuple[JudgeFacts, ...]:
        """What judges said and used, also in vain, in order."""
        grades = [phase.grade or phase.partial for phase in self.phases]
        return tuple(grade.judge for grade in grades if grade is not None and grade.judge)

    def to_dict(self) -> dict[str, Any]:
        """Return builtins only, as the journal and xdist require.

        What is no Unicode text is escaped. Raises TypeError for a value of another type.
        """
        data: dict[str, Any] = _to_builtins(asdict(self))
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrialResult:
        """Rebuild a result from :meth:`to_dict`, as is or read back from JSON."""
        return cls(
            **{
                **data,
                "trial": Trial(**data["trial"]),
                "phases": tuple(PhaseResult.from_dict(phase) for phase in data["phases"]),
                "failure": None if data["failure"] is None else Failure(**data["failure"]),
            }
        )
