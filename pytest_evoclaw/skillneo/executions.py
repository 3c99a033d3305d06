"""What one execution of a task with a bundle told: an outcome, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_evoclaw.usage import UNKNOWN_USAGE
from pytest_evoclaw.usage import Usage


class Kind(StrEnum):
    """How an execution ended; all but ``infrastructure`` are the agent's own outcome."""

    COMPLETE = "complete"
    TIMEOUT = "timeout"  # the task's official limit of time
    MEMORY_LIMIT = "memory_limit"  # the task's official limit of memory
    VERIFIER_FAILURE = "verifier_failure"  # the verifier ended without a verdict of its own
    INFRASTRUCTURE = "infrastructure"  # nothing was measured: never a score


SCORED = (Kind.COMPLETE, Kind.TIMEOUT, Kind.MEMORY_LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Digests or names of what must be equal before two executions may be compared."""

    task: str = ""
    model: str = ""
    environment: str = ""
    verifier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """One execution; ``official`` is the verifier's reward within 0..1, None if there is none.

    ``identity`` names the execution: two records with the same one are the same execution.
    ``passed`` of the checks named in ``coverage`` were passed. ``artifacts`` says where trajectory,
    outputs and findings are. ValueError if kind and numbers contradict each other.
    """

    identity: str
    kind: Kind
    official: float | None = None
    passed: int | None = None
    coverage: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    usage: Usage = UNKNOWN_USAGE
    seconds: float = 0.0
    artifacts: str = ""

    def __post_init__(self) -> None:
        found = f"execution {self.identity}: {self.kind.value}: official: found {self.official}"
        if self.kind is Kind.INFRASTRUCTURE and self.official is not None:
            raise ValueError(f"{found}, allowed none: infrastructure is never a score")
        if self.kind in SCORED and self.official is None:
            raise ValueError(f"{found}, allowed 0..1")
        if self.official is not None and not 0 <= self.official <= 1:
            raise ValueError(f"{found}, allowed 0..1")
        if self.passed is not None and not 0 <= self.passed <= len(self.coverage):
            raise ValueError(
                f"execution {self.identity}: passed: found {self.passed}, allowed 0..n"
            )

    @property
    def measured(self) -> bool:
        """Whether there is an official reward."""
        return self.official is not None

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        # ``asdict`` copies each value, which takes most of the time of a simulation.
        data = {name: getattr(self, name) for name in self.__slots__}
        return {
            **data,
            "kind": self.kind.value,
            "coverage": list(self.coverage),
            "conditions": {name: getattr(self.conditions, name) for name in Conditions.__slots__},
            "usage": {name: getattr(self.usage, name) for name in Usage.__slots__},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ExecutionRecord:
        """Rebuild from :meth:`to_dict`."""
        return cls(
            **{
                **data,
                "kind": Kind(data["kind"]),
                "coverage": tuple(data["coverage"]),
                "conditions": Conditions(**data["conditions"]),
                "usage": Usage(**data["usage"]),
            }
        )


Records = Sequence[ExecutionRecord]
